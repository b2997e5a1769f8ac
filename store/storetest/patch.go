package storetest

import (
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// patched is what a full employee is changed into; it differs in every
// property.
func patched(id int64) models.Employee {
	return models.Employee{
		ID: id, First: ptr("Grace"), Last: ptr("Hopper"), City: ptr("New York"),
		Started: date("2002-02-02"), Ended: date("2010-10-10"), Department: 9,
	}
}

// everyWay runs the test with and without a returned row and a precondition
// that holds: roads may take another path for each.
func everyWay(t *testing.T, test func(t *testing.T, opts store.PatchOptions)) {
	for name, opts := range map[string]store.PatchOptions{
		"plain":                         {},
		"if present":                    {Precondition: present},
		"if it matches":                 {Precondition: always},
		"returning the row":             {ReturnRow: true},
		"if it matches, with row":       {Precondition: always, ReturnRow: true},
		"if present, returning the row": {Precondition: present, ReturnRow: true},
	} {
		t.Run(name, func(t *testing.T) { test(t, opts) })
	}
}

// wantPatched fails where the patch does not leave the row as want.
func (s *suite) wantPatched(t *testing.T, p models.EmployeePatch, opts store.PatchOptions, want models.Employee) {
	t.Helper()
	got, err := s.store.Patch(testContext(t), want.ID, p, opts)
	wantKind(t, err, nil)
	if opts.ReturnRow {
		wantEqual(t, got, want)
	} else {
		wantEqual(t, got, models.Employee{})
	}
	s.wantStored(t, want)
}

func (s *suite) testPatch(t *testing.T) {
	for _, p := range models.EmployeeProperties() {
		if p.Name == "id" {
			continue
		}
		t.Run("sets only "+p.Name, func(t *testing.T) {
			everyWay(t, func(t *testing.T, opts store.PatchOptions) {
				e := s.stored(t)
				patch := patchOf(patched(e.ID), p.Name)
				want, err := patch.Merge(e)
				wantKind(t, err, nil)
				s.wantPatched(t, patch, opts, want)
			})
		})
		if p.Nullable {
			t.Run("sets only "+p.Name+" to null", func(t *testing.T) {
				everyWay(t, func(t *testing.T, opts store.PatchOptions) {
					e := s.stored(t)
					patch := patchOf(models.Employee{}, p.Name)
					want, err := patch.Merge(e)
					wantKind(t, err, nil)
					s.wantPatched(t, patch, opts, want)
				})
			})
		}
	}
	t.Run("sets all properties", func(t *testing.T) {
		everyWay(t, func(t *testing.T, opts store.PatchOptions) {
			want := patched(s.stored(t).ID)
			s.wantPatched(t, patchOf(want, "first", "last", "city", "started", "ended", "department"), opts, want)
		})
	})
	t.Run("nothing to set", func(t *testing.T) {
		everyWay(t, func(t *testing.T, opts store.PatchOptions) {
			s.wantPatched(t, models.EmployeePatch{}, opts, s.stored(t))
		})
	})
	t.Run("values that are there already", func(t *testing.T) {
		everyWay(t, func(t *testing.T, opts store.PatchOptions) {
			e := s.stored(t)
			s.wantPatched(t, patchOf(e, "first", "department"), opts, e)
			s.wantPatched(t, patchOf(e, "first", "department"), opts, e)
		})
	})
	t.Run("the ID is ignored", func(t *testing.T) {
		everyWay(t, func(t *testing.T, opts store.PatchOptions) {
			e := s.stored(t)
			other := s.newID(t)
			s.wantPatched(t, patchOf(models.Employee{ID: other}, "id"), opts, e)
			want := e
			want.First = ptr("Grace")
			s.wantPatched(t, patchOf(models.Employee{ID: other, First: want.First}, "id", "first"), opts, want)
			s.wantAbsent(t, other)
		})
	})
	t.Run("the precondition is shown the stored row", func(t *testing.T) {
		e := s.stored(t)
		want := e
		want.First = nil
		s.wantPatched(t, patchOf(models.Employee{}, "first"), store.PatchOptions{Precondition: sees(t, e)}, want)
	})
	s.testPatchRefused(t)
}

func (s *suite) testPatchRefused(t *testing.T) {
	for name, pre := range map[string]store.Precondition{"if absent": absent, "if it matches": never} {
		for what, patch := range somePatches {
			t.Run(name+" leaves a row for which that does not hold, "+what, func(t *testing.T) {
				for _, returnRow := range []bool{false, true} {
					e := s.stored(t)
					got, err := s.store.Patch(testContext(t), e.ID, patch, store.PatchOptions{Precondition: pre, ReturnRow: returnRow})
					wantKind(t, err, store.ErrPreconditionFailed)
					wantEqual(t, got, models.Employee{})
					s.wantStored(t, e)
				}
			})
		}
	}
	for name, pre := range allPreconditions {
		for what, patch := range somePatches {
			t.Run("an absent row is not found, precondition "+name+", "+what, func(t *testing.T) {
				id := s.newID(t)
				for _, returnRow := range []bool{false, true} {
					_, err := s.store.Patch(testContext(t), id, patch, store.PatchOptions{Precondition: pre, ReturnRow: returnRow})
					wantKind(t, err, store.ErrNotFound)
				}
				s.wantAbsent(t, id)
			})
		}
	}
}

var somePatches = map[string]models.EmployeePatch{
	"one property":          patchOf(models.Employee{First: ptr("Grace")}, "first"),
	"a date":                patchOf(models.Employee{Ended: date("2010-10-10")}, "ended"),
	"nothing to set":        {},
	"nothing to set but ID": patchOf(models.Employee{ID: 5}, "id"),
}

// testPatchDates: ended may not be before started, whichever of them is stored.
func (s *suite) testPatchDates(t *testing.T) {
	refused := func(t *testing.T, e models.Employee, patch models.EmployeePatch) {
		everyWay(t, func(t *testing.T, opts store.PatchOptions) {
			e.ID = s.newID(t)
			s.create(t, e)
			_, err := s.store.Patch(testContext(t), e.ID, patch, opts)
			wantInvalid(t, err, "ended", "not_before_started")
			s.wantStored(t, e)
		})
	}
	accepted := func(t *testing.T, e models.Employee, patch models.EmployeePatch) {
		everyWay(t, func(t *testing.T, opts store.PatchOptions) {
			e.ID = s.newID(t)
			s.create(t, e)
			want, err := patch.Merge(e)
			wantKind(t, err, nil)
			s.wantPatched(t, patch, opts, want)
		})
	}
	e := full(0)
	t.Run("ended before the stored started is refused", func(t *testing.T) {
		refused(t, e, patchOf(models.Employee{Ended: date("2001-02-02"), First: ptr("x")}, "first", "ended"))
	})
	t.Run("started after the stored ended is refused", func(t *testing.T) {
		refused(t, e, patchOf(models.Employee{Started: date("2011-12-14")}, "started"))
	})
	t.Run("ended on the day of the stored started", func(t *testing.T) {
		accepted(t, e, patchOf(models.Employee{Ended: e.Started}, "ended"))
	})
	t.Run("both dates moved past the stored ones", func(t *testing.T) {
		accepted(t, e, patchOf(models.Employee{Started: date("2020-01-01"), Ended: date("2020-01-02")}, "started", "ended"))
	})
	t.Run("the other date is null", func(t *testing.T) {
		accepted(t, bare(0), patchOf(models.Employee{Ended: date("1999-01-01")}, "ended"))
		accepted(t, bare(0), patchOf(models.Employee{Started: date("1999-01-01")}, "started"))
	})
	t.Run("a date set to null", func(t *testing.T) {
		accepted(t, e, patchOf(models.Employee{}, "started"))
		accepted(t, e, patchOf(models.Employee{}, "ended"))
	})
}
