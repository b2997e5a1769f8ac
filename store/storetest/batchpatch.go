package storetest

import (
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// changes are patches of all kinds, and what they make of the employees.
func changes(t *testing.T, employees []models.Employee) (updates []models.EmployeeUpdate, want []models.Employee) {
	t.Helper()
	for i, e := range employees {
		to := patched(e.ID)
		to.First, to.Department = ptr(fmt.Sprintf("Grace %d", i)), int32(i+1000)
		patch := models.EmployeePatch{}
		switch i % 6 {
		case 0:
			patch = patchOf(to, "first", "last", "city", "started", "ended", "department")
		case 1:
			patch = patchOf(to, "department")
		case 2:
			patch = patchOf(models.Employee{}, "first", "city")
		case 3: // nothing to set
		case 4:
			patch = patchOf(to, "id", "first", "ended") // NeedsRow
			patch.Values.ID = 5
		case 5:
			patch = patchOf(e, "city", "started")
		}
		merged, err := patch.Merge(e)
		wantKind(t, err, nil)
		merged.ID = e.ID
		updates, want = append(updates, models.EmployeeUpdate{ID: e.ID, Patch: patch}), append(want, merged)
	}
	return updates, want
}

// returningOrNot runs the test both ways.
func returningOrNot(t *testing.T, test func(t *testing.T, returnRows bool)) {
	for name, returnRows := range map[string]bool{"returning rows": true, "returning nothing": false} {
		t.Run(name, func(t *testing.T) { test(t, returnRows) })
	}
}

func (s *batchSuite) testPatchAll(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees", n), func(t *testing.T) {
			returningOrNot(t, func(t *testing.T, returnRows bool) {
				employees := s.stored(t, n)
				updates, want := changes(t, employees)
				got, err := s.store.PatchAll(testContext(t), updates, returnRows)
				wantKind(t, err, nil)
				if returnRows {
					wantEqual(t, got, want)
				} else if got != nil {
					t.Fatalf("got %d employees, want none", len(got))
				}
				s.wantRows(t, idsOf(employees), want)
			})
		})
	}
	t.Run("the same for all, and as they are already", func(t *testing.T) {
		returningOrNot(t, func(t *testing.T, returnRows bool) {
			employees := s.stored(t, 20)
			want := make([]models.Employee, len(employees))
			updates := make([]models.EmployeeUpdate, len(employees))
			for i, e := range employees {
				updates[i] = models.EmployeeUpdate{ID: e.ID, Patch: patchOf(models.Employee{City: ptr("Oslo"), Department: 3}, "city", "department")}
				want[i] = e
				want[i].City, want[i].Department = ptr("Oslo"), 3
			}
			for range 2 {
				_, err := s.store.PatchAll(testContext(t), updates, returnRows)
				wantKind(t, err, nil)
				s.wantRows(t, idsOf(employees), want)
			}
		})
	})
	for name, missing := range map[string][]int{"in the middle": {7, 12, 9}, "the first": {0}, "behind the first step": {batchRows - 2, 650}} {
		t.Run("an absent row leaves all as it was, "+name, func(t *testing.T) {
			returningOrNot(t, func(t *testing.T, returnRows bool) {
				n, first := 20, missing[0]
				if missing[0] > n {
					n = batchRows
				}
				employees := s.stored(t, n)
				updates, _ := changes(t, employees)
				stored := employees
				for _, i := range missing {
					wantKind(t, s.store.Delete(testContext(t), employees[i].ID, store.Precondition{}), nil)
					first = min(first, i)
				}
				_, err := s.store.PatchAll(testContext(t), updates, returnRows)
				wantBlamed(t, err, first, store.ErrNotFound)
				s.wantRows(t, idsOf(employees), without(stored, missing))
			})
		})
	}
	t.Run("a value that cannot be stored is found before an absent row", func(t *testing.T) {
		ids := s.newIDs(t, 3)
		e := full(ids[0])
		s.create(t, e)
		_, err := s.store.PatchAll(testContext(t), []models.EmployeeUpdate{
			{ID: ids[0], Patch: patchOf(models.Employee{}, "first")},
			{ID: ids[1], Patch: patchOf(models.Employee{}, "first")},
			{ID: ids[2], Patch: patchOf(models.Employee{Last: ptr("😀")}, "last")},
		}, false)
		wantBlamed(t, err, 2, store.ErrInvalid)
		wantInvalid(t, err, "last", "charset")
		s.wantRows(t, ids, []models.Employee{e})
	})
}

// testPatchAllDates: a rule between a date of the patch and one that is stored.
func (s *batchSuite) testPatchAllDates(t *testing.T) {
	early, late := patchOf(models.Employee{Ended: date("2001-02-02")}, "ended"), patchOf(models.Employee{Started: date("2011-12-14")}, "started")
	for name, c := range map[string]struct {
		bad map[int]models.EmployeePatch
		// absent are deleted before.
		absent []int
		index  int
		kind   error
	}{
		"ended before the stored started": {map[int]models.EmployeePatch{4: early}, nil, 4, store.ErrInvalid},
		"started after the stored ended":  {map[int]models.EmployeePatch{7: late, 5: late}, nil, 5, store.ErrInvalid},
		"an absent row before it":         {map[int]models.EmployeePatch{7: late}, []int{2}, 2, store.ErrNotFound},
		"an absent row after it":          {map[int]models.EmployeePatch{1: early}, []int{2}, 1, store.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			returningOrNot(t, func(t *testing.T, returnRows bool) {
				ids := s.newIDs(t, 10)
				var employees []models.Employee
				var updates []models.EmployeeUpdate
				for i, id := range ids {
					employees = append(employees, full(id))
					patch, ok := c.bad[i]
					if !ok {
						patch = patchOf(models.Employee{Ended: date("2011-11-11"), First: ptr("x")}, "first", "ended")
					}
					updates = append(updates, models.EmployeeUpdate{ID: id, Patch: patch})
				}
				stored := without(employees, c.absent)
				wantKind(t, s.store.CreateAll(testContext(t), stored), nil)
				_, err := s.store.PatchAll(testContext(t), updates, returnRows)
				wantBlamed(t, err, c.index, c.kind)
				if c.kind == store.ErrInvalid {
					wantInvalid(t, err, "ended", "not_before_started")
				}
				s.wantRows(t, ids, stored)
			})
		})
	}
}
