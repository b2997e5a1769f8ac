package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// BatchStore is a road with batches.
type BatchStore interface {
	store.Employees
	store.Batches
}

// RunBatches tests the store that open returns against the contract of
// store.Batches; see Run for what it does to the table.
func RunBatches(t *testing.T, open func(t *testing.T) BatchStore) {
	road := open(t)
	s := &batchSuite{
		suite: suite{store: road, nextID: 1<<62 + rand.Int64N(1<<40)*batchIDsPerRun},
		store: road,
	}
	t.Run("Get", s.testGet)
	t.Run("CreateAll", s.testCreateAll)
	t.Run("PatchAll", s.testPatchAll)
	t.Run("PatchAllDates", s.testPatchAllDates)
	t.Run("DeleteAll", s.testDeleteAll)
	t.Run("CreateEach", s.testCreateEach)
	t.Run("PatchEach", s.testPatchEach)
	t.Run("DeleteEach", s.testDeleteEach)
	t.Run("Concurrency", s.testConcurrency)
	t.Run("EndedContext", s.testEndedContext)
	t.Run("RandomBatches", s.testRandom)
}

const (
	batchIDsPerRun = 100_000
	// batchRows is more than roads do in one step.
	batchRows = 700
)

type batchSuite struct {
	suite
	store BatchStore
}

// newIDs returns IDs that no row has, and deletes their rows after the test.
func (s *batchSuite) newIDs(t *testing.T, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		s.nextID++
		ids[i] = s.nextID
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		left := ids
		for range cleanUpTries {
			left = s.deleteRows(ctx, t, left)
		}
		if len(left) > 0 {
			t.Errorf("clean up: %d rows are left", len(left))
		}
	})
	return ids
}

// deleteRows returns those that were locked.
func (s *batchSuite) deleteRows(ctx context.Context, t *testing.T, ids []int64) (left []int64) {
	if len(ids) == 0 {
		return nil
	}
	for i, item := range s.store.DeleteEach(ctx, ids) {
		switch {
		case errors.Is(item.Err, store.ErrUnavailable):
			left = append(left, ids[i])
		case item.Err != nil && !errors.Is(item.Err, store.ErrNotFound):
			t.Errorf("clean up: %v", item.Err)
		}
	}
	return left
}

// someOf makes employees that differ.
func someOf(ids []int64) []models.Employee {
	employees := make([]models.Employee, len(ids))
	for i, id := range ids {
		employees[i] = full(id)
		employees[i].First = ptr(fmt.Sprintf("Ada %d", i))
		employees[i].Department = int32(i + 1)
		if i%3 == 0 {
			employees[i] = bare(id)
		}
	}
	return employees
}

// stored creates n employees.
func (s *batchSuite) stored(t *testing.T, n int) []models.Employee {
	t.Helper()
	employees := someOf(s.newIDs(t, n))
	wantKind(t, s.store.CreateAll(testContext(t), employees), nil)
	return employees
}

func idsOf(employees []models.Employee) []int64 {
	ids := make([]int64, len(employees))
	for i := range employees {
		ids[i] = employees[i].ID
	}
	return ids
}

// wantRows fails where the stored rows are not want, and nothing else.
func (s *batchSuite) wantRows(t *testing.T, ids []int64, want []models.Employee) {
	t.Helper()
	byID := map[int64]models.Employee{}
	for _, e := range want {
		byID[e.ID] = e
	}
	for i, item := range s.store.GetMany(testContext(t), ids) {
		e, ok := byID[ids[i]]
		if !ok {
			wantKind(t, item.Err, store.ErrNotFound)
			continue
		}
		wantKind(t, item.Err, nil)
		wantEqual(t, item.Employee, e)
	}
}

// wantBlamed fails where err does not say that just this item is to blame, and
// for what.
func wantBlamed(t *testing.T, err error, index int, kind error) {
	t.Helper()
	wantKind(t, err, kind)
	var blamed *store.BatchError
	if !errors.As(err, &blamed) || blamed.Index != index {
		t.Fatalf("got error %q, want one that blames item %d", text(err), index)
	}
}

func (s *batchSuite) testGet(t *testing.T) {
	t.Run("in the order of the IDs, which may repeat", func(t *testing.T) {
		employees := s.stored(t, 3)
		ids := []int64{employees[2].ID, employees[0].ID, employees[2].ID}
		got := s.store.GetMany(testContext(t), ids)
		wantEqual(t, got, []store.ItemResult{{Employee: employees[2]}, {Employee: employees[0]}, {Employee: employees[2]}})
	})
	t.Run("IDs that nobody has", func(t *testing.T) {
		e := s.stored(t, 1)[0]
		absent := s.newIDs(t, 1)[0]
		ids := []int64{absent, e.ID, 0, -1, absent}
		got := s.store.GetMany(testContext(t), ids)
		for i, item := range got {
			if i == 1 {
				wantEqual(t, item, store.ItemResult{Employee: e})
				continue
			}
			wantKind(t, item.Err, store.ErrNotFound)
			wantEqual(t, item.Employee, models.Employee{})
		}
	})
	t.Run("many", func(t *testing.T) {
		employees := s.stored(t, batchRows)
		s.wantRows(t, idsOf(employees), employees)
	})
}

func (s *batchSuite) testCreateAll(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees", n), func(t *testing.T) {
			employees := someOf(s.newIDs(t, n))
			wantKind(t, s.store.CreateAll(testContext(t), employees), nil)
			s.wantRows(t, idsOf(employees), employees)
		})
	}
	t.Run("every value", func(t *testing.T) {
		employees := []models.Employee{full(0), bare(0), full(0)}
		employees[0].City, employees[0].Last = ptr("'\"`\\%_;--\x00\n\t"), ptr("")
		employees[2].First, employees[2].Last = ptr("東éÅ  "), ptr(" ")
		for i, id := range s.newIDs(t, len(employees)) {
			employees[i].ID = id
		}
		wantKind(t, s.store.CreateAll(testContext(t), employees), nil)
		s.wantRows(t, idsOf(employees), employees)
	})
	for name, taken := range map[string][]int{
		"the only item": {0}, "the first": {0, 1, 7}, "one in the middle": {6}, "two in the middle": {9, 6}, "the last": {19},
		"one behind the first step": {batchRows - 3, batchRows - 1}, "some in both steps": {batchRows - 1, 5, 600},
	} {
		t.Run("an ID that exists leaves nothing behind, "+name, func(t *testing.T) {
			n := 20
			switch {
			case name == "the only item":
				n = 1
			case taken[0] > n:
				n = batchRows
			}
			ids := s.newIDs(t, n)
			var stored []models.Employee
			first := n
			for _, i := range taken {
				e := bare(ids[i])
				s.create(t, e)
				stored, first = append(stored, e), min(first, i)
			}
			wantBlamed(t, s.store.CreateAll(testContext(t), someOf(ids)), first, store.ErrConflict)
			s.wantRows(t, ids, stored)
		})
	}
	t.Run("a value that cannot be stored is found before an ID that exists", func(t *testing.T) {
		ids := s.newIDs(t, 10)
		e := full(ids[2])
		s.create(t, e)
		employees := someOf(ids)
		employees[5].City, employees[8].City = ptr("grin 😀"), ptr("😀")
		err := s.store.CreateAll(testContext(t), employees)
		wantBlamed(t, err, 5, store.ErrInvalid)
		wantInvalid(t, err, "city", "charset")
		s.wantRows(t, ids, []models.Employee{e})
	})
}

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

func without(employees []models.Employee, places []int) []models.Employee {
	left := []models.Employee{}
	for i, e := range employees {
		kept := true
		for _, place := range places {
			kept = kept && place != i
		}
		if kept {
			left = append(left, e)
		}
	}
	return left
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

func (s *batchSuite) testDeleteAll(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees", n), func(t *testing.T) {
			ids := idsOf(s.stored(t, n))
			wantKind(t, s.store.DeleteAll(testContext(t), ids), nil)
			s.wantRows(t, ids, nil)
		})
	}
	for name, missing := range map[string][]int{"in the middle": {7, 12, 9}, "the first": {0}, "the last": {19}, "behind the first step": {batchRows - 2, 650}} {
		t.Run("an absent row leaves all as it was, "+name, func(t *testing.T) {
			n, first := 20, missing[0]
			if missing[0] > n {
				n = batchRows
			}
			employees := s.stored(t, n)
			for _, i := range missing {
				wantKind(t, s.store.Delete(testContext(t), employees[i].ID, store.Precondition{}), nil)
				first = min(first, i)
			}
			wantBlamed(t, s.store.DeleteAll(testContext(t), idsOf(employees)), first, store.ErrNotFound)
			s.wantRows(t, idsOf(employees), without(employees, missing))
		})
	}
}
