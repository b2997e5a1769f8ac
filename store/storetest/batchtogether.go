package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

func (s *batchSuite) testConcurrency(t *testing.T) {
	t.Run("of creates that share an ID one wins, with all of its items", s.testCreatesTogether)
	t.Run("patches of the same rows do not mix", s.testPatchAllsTogether)
	t.Run("of deletes of each each row is one's", s.testDeleteEachTogether)
}

// batchWriters is few: those that wait for each other are ended by a timeout.
const batchWriters = 4

func (s *batchSuite) testCreatesTogether(t *testing.T) {
	ctx, shared := testContext(t), s.newIDs(t, 1)[0]
	batches := make([][]models.Employee, batchWriters)
	for i := range batches {
		batches[i] = someOf(s.newIDs(t, 50))
		batches[i][20] = full(shared)
		batches[i][20].Department = int32(i + 1)
	}
	errs := together(batchWriters, func(i int) error {
		return retry(ctx, func() error { return s.store.CreateAll(ctx, batches[i]) })
	})
	winners := 0
	for i, err := range errs {
		if err == nil {
			winners++
			s.wantRows(t, idsOf(batches[i]), batches[i])
			continue
		}
		wantBlamed(t, err, 20, store.ErrConflict)
		s.wantRows(t, idsOf(slices.Delete(slices.Clone(batches[i]), 20, 21)), nil)
	}
	wantEqual(t, winners, 1)
}

// testPatchAllsTogether: half of the batches go through the rows backwards.
func (s *batchSuite) testPatchAllsTogether(t *testing.T) {
	ctx := testContext(t)
	employees := s.stored(t, 60)
	errs := together(batchWriters, func(i int) error {
		var updates []models.EmployeeUpdate
		for _, e := range employees {
			patch := patchOf(models.Employee{First: ptr("x"), Department: int32(i + 1)}, "first", "department")
			updates = append(updates, models.EmployeeUpdate{ID: e.ID, Patch: patch})
		}
		if i%2 == 1 {
			slices.Reverse(updates)
		}
		return retry(ctx, func() error {
			rows, err := s.store.PatchAll(ctx, updates, true)
			for at, row := range rows {
				if row.Department != int32(i+1) || row.ID != updates[at].ID {
					return errors.New("a row that another one has changed")
				}
			}
			return err
		})
	})
	wantKind(t, errors.Join(errs...), nil)
	got := s.store.GetMany(ctx, idsOf(employees))
	for i, item := range got {
		wantKind(t, item.Err, nil)
		if item.Employee.Department != got[0].Employee.Department {
			t.Fatalf("row %d is of batch %d, row 0 of %d", i, item.Employee.Department, got[0].Employee.Department)
		}
	}
}

func (s *batchSuite) testDeleteEachTogether(t *testing.T) {
	ctx := testContext(t)
	ids := idsOf(s.stored(t, 300))
	deleted := make([]int, batchWriters)
	errs := together(batchWriters, func(i int) error {
		for left := ids; len(left) > 0; {
			var locked []int64
			for at, item := range s.store.DeleteEach(ctx, left) {
				switch {
				case item.Err == nil:
					deleted[i]++
				case errors.Is(item.Err, store.ErrUnavailable) && ctx.Err() == nil:
					locked = append(locked, left[at])
				case !errors.Is(item.Err, store.ErrNotFound):
					return item.Err
				}
			}
			left = locked
		}
		return nil
	})
	wantKind(t, errors.Join(errs...), nil)
	sum := 0
	for _, n := range deleted {
		sum += n
	}
	wantEqual(t, sum, len(ids))
	s.wantRows(t, ids, nil)
}

// testEndedContext: calls whose context has ended before them do nothing.
func (s *batchSuite) testEndedContext(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, ended := range map[string]context.Context{"cancelled": cancelled, "expired": expired} {
		t.Run(name, func(t *testing.T) { s.testWithEnded(t, ended) })
	}
}

func (s *batchSuite) testWithEnded(t *testing.T, ended context.Context) {
	stored := s.stored(t, 3)
	updates, _ := changes(t, stored)
	ids := idsOf(stored)
	absent := s.newIDs(t, 3)
	errsOf := func(items []store.ItemResult) []error {
		var errs []error
		for _, item := range items {
			errs = append(errs, item.Err)
		}
		return errs
	}
	for name, errs := range map[string][]error{
		"get":         errsOf(s.store.GetMany(ended, ids)),
		"create all":  {s.store.CreateAll(ended, someOf(absent))},
		"create each": errsOf(s.store.CreateEach(ended, someOf(absent))),
		"patch all": {func() error {
			_, err := s.store.PatchAll(ended, updates, true)
			return err
		}()},
		"patch each":  errsOf(s.store.PatchEach(ended, updates, false)),
		"delete all":  {s.store.DeleteAll(ended, ids)},
		"delete each": errsOf(s.store.DeleteEach(ended, ids)),
	} {
		for i, err := range errs {
			if !errors.Is(err, ended.Err()) && !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("%s: error %d is %q, want %q or %q", name, i, text(err), ended.Err(), store.ErrUnavailable)
			}
		}
	}
	s.wantRows(t, slices.Concat(ids, absent), stored)
}
