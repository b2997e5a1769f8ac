package storetest

import (
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// wantItems fails where the results do not have the kinds at the given places,
// and no error elsewhere.
func wantItems(t *testing.T, got []store.ItemResult, n int, failed map[int]error) {
	t.Helper()
	wantEqual(t, len(got), n)
	for i, item := range got {
		wantKind(t, item.Err, failed[i])
		if item.Err != nil {
			wantEqual(t, item.Employee, models.Employee{})
		}
	}
}

func (s *batchSuite) testCreateEach(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees", n), func(t *testing.T) {
			employees := someOf(s.newIDs(t, n))
			wantItems(t, s.store.CreateEach(testContext(t), employees), n, nil)
			s.wantRows(t, idsOf(employees), employees)
		})
	}
	t.Run("those that fail keep no other one from it", func(t *testing.T) {
		employees := someOf(s.newIDs(t, batchRows))
		failed := map[int]error{}
		stored := make([]models.Employee, len(employees))
		copy(stored, employees)
		for _, i := range []int{0, 7, 8, 500, 600, batchRows - 1} {
			failed[i] = store.ErrConflict
			stored[i] = bare(employees[i].ID)
			stored[i].Department = 77
			s.create(t, stored[i])
		}
		for _, i := range []int{3, 9, 660} {
			failed[i] = store.ErrInvalid
			employees[i].Last = ptr("😀")
		}
		got := s.store.CreateEach(testContext(t), employees)
		wantItems(t, got, len(employees), failed)
		wantInvalid(t, got[9].Err, "last", "charset")
		s.wantRows(t, idsOf(employees), without(stored, []int{3, 9, 660}))
	})
	t.Run("all fail", func(t *testing.T) {
		employees := s.stored(t, 100)
		failed := map[int]error{}
		for i := range employees {
			failed[i] = store.ErrConflict
		}
		wantItems(t, s.store.CreateEach(testContext(t), employees), len(employees), failed)
		s.wantRows(t, idsOf(employees), employees)
	})
}

func (s *batchSuite) testPatchEach(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees", n), func(t *testing.T) {
			returningOrNot(t, func(t *testing.T, returnRows bool) {
				employees := s.stored(t, n)
				updates, want := changes(t, employees)
				got := s.store.PatchEach(testContext(t), updates, returnRows)
				s.wantPatchedEach(t, got, want, returnRows, nil)
				s.wantRows(t, idsOf(employees), want)
			})
		})
	}
	t.Run("those that fail keep no other one from it", func(t *testing.T) {
		returningOrNot(t, func(t *testing.T, returnRows bool) {
			ids := s.newIDs(t, batchRows)
			employees := make([]models.Employee, len(ids))
			for i, id := range ids {
				employees[i] = full(id)
			}
			updates, want := changes(t, employees)
			absent := []int{0, 5, 512, batchRows - 1}
			wantKind(t, s.store.CreateAll(testContext(t), without(employees, absent)), nil)
			failed := map[int]error{}
			for _, i := range absent {
				failed[i] = store.ErrNotFound
			}
			for i, patch := range map[int]models.EmployeePatch{
				4:   patchOf(models.Employee{Ended: date("2001-02-02")}, "ended"),
				660: patchOf(models.Employee{Started: date("2011-12-14"), First: ptr("x")}, "started", "first"),
				661: patchOf(models.Employee{City: ptr("😀")}, "city"),
			} {
				failed[i], updates[i].Patch, want[i] = store.ErrInvalid, patch, employees[i]
			}
			got := s.store.PatchEach(testContext(t), updates, returnRows)
			s.wantPatchedEach(t, got, want, returnRows, failed)
			wantInvalid(t, got[4].Err, "ended", "not_before_started")
			wantInvalid(t, got[661].Err, "city", "charset")
			s.wantRows(t, ids, without(want, absent))
		})
	})
}

func (s *batchSuite) wantPatchedEach(t *testing.T, got []store.ItemResult, want []models.Employee, returnRows bool, failed map[int]error) {
	t.Helper()
	wantItems(t, got, len(want), failed)
	for i, item := range got {
		switch {
		case failed[i] != nil:
		case returnRows:
			wantEqual(t, item.Employee, want[i])
		default:
			wantEqual(t, item.Employee, models.Employee{})
		}
	}
}

func (s *batchSuite) testDeleteEach(t *testing.T) {
	for _, n := range []int{1, 2, batchRows} {
		t.Run(fmt.Sprintf("%d employees", n), func(t *testing.T) {
			ids := idsOf(s.stored(t, n))
			wantItems(t, s.store.DeleteEach(testContext(t), ids), n, nil)
			s.wantRows(t, ids, nil)
		})
	}
	t.Run("those that are absent keep no other one from it", func(t *testing.T) {
		ids := s.newIDs(t, batchRows)
		absent := []int{0, 3, 511, 512, 600, batchRows - 1}
		wantKind(t, s.store.CreateAll(testContext(t), without(someOf(ids), absent)), nil)
		failed := map[int]error{}
		for _, i := range absent {
			failed[i] = store.ErrNotFound
		}
		wantItems(t, s.store.DeleteEach(testContext(t), ids), len(ids), failed)
		s.wantRows(t, ids, nil)
	})
}
