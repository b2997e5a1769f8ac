package loadtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

func TestRun_RowsThatAreNotAsWritten_EndWithAnError(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, f *fake){
		"one is gone": func(t *testing.T, f *fake) {
			f.remove(t, loadtest.DefaultFirstID+7)
		},
		"one has other names": func(t *testing.T, f *fake) {
			f.rename(t, loadtest.DefaultFirstID+1, "F1", "L2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(time.Millisecond)
				c := quick(road("ndb", f))
				c.Rows = 20
				c.Hooks = []loadtest.Hook{{Name: "spoil", Cell: -1, Run: func(context.Context) error { spoil(t, f); return nil }}}
				r, err := loadtest.Run(t.Context(), c)
				if !errors.Is(err, loadtest.ErrRows) || r == nil || len(r.Cells) != 1 {
					t.Errorf("got %v, want rows that are wrong", err)
				}
			})
		})
	}
}

func (f *fake) remove(t *testing.T, id int64) {
	if err := (&fakeSession{f}).direct().Delete(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func (f *fake) rename(t *testing.T, id int64, first, last string) {
	if err := (&fakeSession{f}).direct().Update(t.Context(), id, first, last); err != nil {
		t.Error(err)
	}
}

func TestRun_RowsOfAnEarlierRun_AreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		for _, id := range []int64{loadtest.DefaultFirstID, loadtest.DefaultFirstID + 3, loadtest.DefaultFirstID + 55, loadtest.DefaultFirstID + 5000} {
			f.put(t, id, fmt.Sprintf("F%d.z", id), fmt.Sprintf("L%d.z", id))
		}
		c := quick(road("ndb", f))
		c.Workloads = []loadtest.Workload{loadtest.Single(loadtest.Insert)}
		r, err := loadtest.Run(t.Context(), c)
		if err != nil || len(r.Cells[0].Errors) > 0 && r.Cells[0].Errors[0].Kind != target.Conflict {
			t.Errorf("got %v, %+v", err, r.Cells[0].Errors)
		}
	})
}

func (f *fake) put(t *testing.T, id int64, first, last string) {
	if err := (&fakeSession{f}).direct().Insert(t.Context(), &models.Employee{ID: id, First: &first, Last: &last, Department: 1}); err != nil {
		t.Fatal(err)
	}
}

// seeing is a fake whose sessions know which rows there are.
type seeing struct{ *fake }

func (s seeing) Open(context.Context) (target.Session, error) {
	session := &fakeSession{s.fake}
	return struct {
		target.Session
		target.Ranges
	}{session, session.direct().(target.Ranges)}, nil
}

func TestRun_RowsThatNoRunHasMade_StayAndEndIt(t *testing.T) {
	for name, open := range map[string]func(*fake) target.Target{
		"the target tells which rows there are": func(f *fake) target.Target { return seeing{f} },
		"it does not":                           func(f *fake) target.Target { return f },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(time.Millisecond)
				f.put(t, loadtest.DefaultFirstID+3, "Ada", "Byron")
				f.put(t, loadtest.DefaultFirstID+900_000, "Grace", "Hopper")
				c := quick(road("ndb", open(f)))
				c.Rows = 600
				r, err := loadtest.Run(t.Context(), c)
				if !errors.Is(err, loadtest.ErrRows) || !strings.Contains(err.Error(), "row 1000000003 is there, and loadtest did not make it; give the run ids of its own with --first-id") {
					t.Errorf("got %v, want the row and what to do", err)
				}
				left, listErr := f.rows.List(t.Context(), models.EmployeeQuery{Limit: 1000})
				if listErr != nil || len(left.Employees) != 2 || len(r.Cells) > 0 {
					t.Errorf("got %d rows, %d cells, %v; want those of others alone", len(left.Employees), len(r.Cells), listErr)
				}
			})
		})
	}
}

func TestRun_InterruptedWhileItDeletesRows_NoneIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFake(time.Millisecond)
		c := quick(road("ndb", f))
		c.Workloads, c.MaxRows, c.Repeats, c.Duration = []loadtest.Workload{loadtest.Single(loadtest.Insert)}, 1800, 2, 2*time.Second
		f.before = func(op loadtest.Op) error {
			if op == loadtest.Delete && f.count(loadtest.Delete) == 30 {
				cancel()
			}
			return nil
		}
		r, err := loadtest.Run(ctx, c)
		if err != nil || r.EndedBy != "interrupted" || len(r.Cells) != 1 {
			t.Fatalf("got %v, ended by %q, %d cells; want an interrupt between two cells", err, r.EndedBy, len(r.Cells))
		}
		if n, err := f.rows.Count(t.Context(), models.Filter{}); err != nil || n > 0 {
			t.Errorf("got %d rows left, %v", n, err)
		}
	})
}

func TestRun_RowsCannotBeDeleted_SaysHow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.before = func(op loadtest.Op) error {
			if op == loadtest.Delete {
				return errDown
			}
			return nil
		}
		r, err := loadtest.Run(t.Context(), quick(road("ndb", f)))
		want := "the next run with --first-id 1000000000 deletes them, and so does DELETE FROM employee WHERE id BETWEEN 1000000000 AND 1000000049"
		if err == nil || len(r.Cells) != 1 || !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("got %v, notes %q", err, r.Notes)
		}
	})
}

func TestRun_TargetThatDiedIsBack_RowsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		began := time.Now()
		f.before = func(op loadtest.Op) error {
			if op == loadtest.Select && time.Since(began) > time.Second {
				return errDown
			}
			return nil
		}
		c := quick(road("ndb", f))
		c.Duration, c.GiveUp = 10*time.Second, time.Second
		r, err := loadtest.Run(t.Context(), c)
		if !errors.Is(err, loadtest.ErrTargetDied) || len(r.Notes) > 0 {
			t.Errorf("got %v, notes %q", err, r.Notes)
		}
		if n, err := f.rows.Count(t.Context(), models.Filter{}); err != nil || n > 0 {
			t.Errorf("got %d rows left, %v", n, err)
		}
	})
}
