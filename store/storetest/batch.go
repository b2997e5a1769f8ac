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
