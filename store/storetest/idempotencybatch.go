package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// batches are a suite of batches on the same rows.
func (s *onceSuite) batches() *batchSuite {
	s.nextID += batchIDsPerRun
	return &batchSuite{suite: suite{store: s.first, nextID: s.nextID}, store: s.again}
}

// onceBatch is a batch that keeps an answer, of employees that are there before or
// not.
type onceBatch struct {
	stored bool
	write  func(ctx context.Context, road IdempotentStore, employees []models.Employee, a models.KeptAnswer) error
	want   func(employees []models.Employee) []models.Employee // that are there afterwards
}

var onceBatches = map[string]onceBatch{
	"create": {
		false,
		func(ctx context.Context, road IdempotentStore, employees []models.Employee, a models.KeptAnswer) error {
			return road.CreateAllOnce(ctx, employees, a)
		},
		func(employees []models.Employee) []models.Employee { return employees },
	},
	"patch": {
		true,
		func(ctx context.Context, road IdempotentStore, employees []models.Employee, a models.KeptAnswer) error {
			updates := make([]models.EmployeeUpdate, len(employees))
			for i, e := range employees {
				updates[i] = models.EmployeeUpdate{ID: e.ID, Patch: patchOf(departmentUp(e), "department")}
			}
			return road.PatchAllOnce(ctx, updates, a)
		},
		func(employees []models.Employee) []models.Employee {
			up := make([]models.Employee, len(employees))
			for i, e := range employees {
				up[i] = departmentUp(e)
			}
			return up
		},
	},
	"delete": {
		true,
		func(ctx context.Context, road IdempotentStore, employees []models.Employee, a models.KeptAnswer) error {
			return road.DeleteAllOnce(ctx, idsOf(employees), a)
		},
		func([]models.Employee) []models.Employee { return nil },
	},
}

func departmentUp(e models.Employee) models.Employee {
	e.Department += 1000
	return e
}

// prepare returns employees that are as the batch needs them before.
func (o *onceBatch) prepare(t *testing.T, b *batchSuite, n int) []models.Employee {
	t.Helper()
	if o.stored {
		return b.stored(t, n)
	}
	return someOf(b.newIDs(t, n))
}

func (s *onceSuite) testBatchesOnce(t *testing.T) {
	for name, o := range onceBatches {
		for size, n := range map[string]int{"one": 1, "some": 5, "more than one step": batchRows} {
			t.Run(name+" "+size, func(t *testing.T) {
				b := s.batches()
				employees, a := o.prepare(t, b, n), s.answer()
				ids, want := idsOf(employees), o.want(employees)
				wantKind(t, o.write(testContext(t), s.first, employees, a), nil)
				b.wantRows(t, ids, want)
				s.wantKept(t, a)
				wantAnswered(t, o.write(testContext(t), s.again, employees, a), a)
				wantAnswered(t, o.write(testContext(t), s.first, employees[:1], a), a)
				b.wantRows(t, ids, want)
			})
		}
		t.Run(name+" after the answer has expired", func(t *testing.T) {
			b := s.batches()
			first, second := o.prepare(t, b, 3), o.prepare(t, b, 3)
			a := s.answer()
			wantKind(t, o.write(testContext(t), s.first, first, a), nil)
			late := a
			late.Made, late.Expires = a.Expires, a.Expires+1000
			wantKind(t, o.write(testContext(t), s.again, second, late), nil)
			b.wantRows(t, idsOf(second), o.want(second))
			s.wantKept(t, late)
		})
	}
	t.Run("a key of a batch and of a single create are one", func(t *testing.T) {
		b, a := s.batches(), s.answer()
		employees := someOf(b.newIDs(t, 3))
		wantKind(t, s.first.CreateAllOnce(testContext(t), employees[:2], a), nil)
		wantAnswered(t, s.again.CreateOnce(testContext(t), employees[2], a), a)
	})
}

// testBatchFailures: a batch of which one item fails leaves its key free.
func (s *onceSuite) testBatchFailures(t *testing.T) {
	for name, kind := range map[string]error{"create": store.ErrConflict, "patch": store.ErrNotFound, "delete": store.ErrNotFound} {
		o := onceBatches[name]
		t.Run(name, func(t *testing.T) {
			b := s.batches()
			employees, a := o.prepare(t, b, batchRows), s.answer()
			bad := batchRows - 3
			if o.stored {
				wantKind(t, b.store.Delete(testContext(t), employees[bad].ID, store.Precondition{}), nil)
			} else {
				s.create(t, employees[bad])
			}
			for range 2 {
				err := o.write(testContext(t), s.first, employees, a)
				wantKind(t, err, kind)
				if failed, ok := errors.AsType[*store.BatchError](err); !ok || failed.Index != bad {
					t.Fatalf("got error %v, want it at item %d", err, bad)
				}
				s.wantNothingKept(t, a)
			}
			rest := append(append([]models.Employee{}, employees[:bad]...), employees[bad+1:]...)
			wantKind(t, o.write(testContext(t), s.again, rest, a), nil)
			b.wantRows(t, idsOf(rest), o.want(rest))
		})
	}
	t.Run("a value that cannot be stored", func(t *testing.T) {
		b, a := s.batches(), s.answer()
		employees := someOf(b.newIDs(t, 3))
		employees[1].City = ptr("grin 😀")
		wantInvalid(t, s.first.CreateAllOnce(testContext(t), employees, a), "city", "charset")
		b.wantRows(t, idsOf(employees), nil)
		s.wantNothingKept(t, a)
	})
}

// testBatchTwins: of many batches with one key, one is done.
func (s *onceSuite) testBatchTwins(t *testing.T) {
	for name, o := range onceBatches {
		t.Run(name, func(t *testing.T) {
			const twins = 8
			ctx, b := testContext(t), s.batches()
			employees, a := o.prepare(t, b, batchRows), s.answer()
			errs := together(twins, func(i int) error {
				road := []IdempotentStore{s.first, s.again}[i%2]
				return retry(ctx, func() error { return o.write(ctx, road, employees, a) })
			})
			winners := 0
			for _, err := range errs {
				if err == nil {
					winners++
				} else {
					wantAnswered(t, err, a)
				}
			}
			wantEqual(t, winners, 1)
			b.wantRows(t, idsOf(employees), o.want(employees))
		})
	}
}
