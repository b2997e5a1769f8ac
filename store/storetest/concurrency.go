package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

const goroutines = 16

// together runs the function on goroutines that start at the same time and
// returns their errors.
func together(n int, run func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { // ends with run
			<-start
			errs[i] = run(i)
		})
	}
	close(start)
	running.Wait()
	return errs
}

// retry tries again where surely nothing was written.
func retry(ctx context.Context, write func() error) error {
	for {
		err := write()
		if err == nil || ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

func (s *suite) testConcurrency(t *testing.T) {
	t.Run("of many creates of an ID one wins", func(t *testing.T) {
		s.wantOneWinner(t, store.ErrConflict, func(ctx context.Context, e models.Employee) error {
			return s.store.Create(ctx, e)
		})
	})
	t.Run("of many saves of an absent ID one wins", func(t *testing.T) {
		s.wantOneWinner(t, store.ErrPreconditionFailed, func(ctx context.Context, e models.Employee) error {
			_, err := s.store.Save(ctx, e, absent)
			return err
		})
	})
	t.Run("of many saves of an ID one creates", s.testSavesTogether)
	t.Run("compare and swap loses no increment", s.testCompareAndSwap)
	t.Run("patches of different properties all stay", s.testPatchesTogether)
	t.Run("of many deletes one wins", s.testDeletesTogether)
	t.Run("every save and delete is counted", s.testSavesAndDeletes)
}

// wantOneWinner lets many goroutines write an employee of their own with one
// ID; all but one must get the kind of error.
func (s *suite) wantOneWinner(t *testing.T, loser error, write func(ctx context.Context, e models.Employee) error) {
	ctx, id := testContext(t), s.newID(t)
	errs := together(goroutines, func(i int) error {
		e := full(id)
		e.Department = int32(i + 1)
		return retry(ctx, func() error { return write(ctx, e) })
	})
	winner := -1
	for i, err := range errs {
		if err != nil {
			wantKind(t, err, loser)
			continue
		}
		if winner >= 0 {
			t.Fatalf("goroutines %d and %d both won", winner, i)
		}
		winner = i
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	want := full(id)
	want.Department = int32(winner + 1)
	s.wantStored(t, want)
}

func (s *suite) testSavesTogether(t *testing.T) {
	ctx, id := testContext(t), s.newID(t)
	created := make([]bool, goroutines)
	errs := together(goroutines, func(i int) error {
		return retry(ctx, func() (err error) {
			created[i], err = s.store.Save(ctx, full(id), store.Precondition{})
			return err
		})
	})
	creations := 0
	for i, err := range errs {
		wantKind(t, err, nil)
		if created[i] {
			creations++
		}
	}
	wantEqual(t, creations, 1)
	s.wantStored(t, full(id))
}

// testCompareAndSwap counts with the department, each step conditional on what
// was read.
func (s *suite) testCompareAndSwap(t *testing.T) {
	const counters, increments = 8, 10
	ctx := testContext(t)
	e := s.stored(t)
	e.Department = 1
	s.wantReplaced(t, e, store.Precondition{})
	increment := func() error {
		row, err := s.store.Get(ctx, e.ID)
		if err != nil {
			return err
		}
		read := row.Department
		row.Department++
		_, err = s.store.Save(ctx, row, store.Precondition{Matches: func(now *models.Employee) bool {
			return now.Department == read
		}})
		return err
	}
	errs := together(counters, func(int) error {
		for range increments {
			err := retry(ctx, increment)
			for errors.Is(err, store.ErrPreconditionFailed) {
				err = retry(ctx, increment)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	wantKind(t, errors.Join(errs...), nil)
	e.Department = 1 + counters*increments
	s.wantStored(t, e)
}

func (s *suite) testPatchesTogether(t *testing.T) {
	ctx := testContext(t)
	e := s.stored(t)
	want := patched(e.ID)
	names := []string{"first", "last", "city", "started", "ended", "department"}
	errs := together(2*len(names), func(i int) error {
		patch := patchOf(want, names[i/2])
		opts := store.PatchOptions{ReturnRow: i%2 == 0}
		return retry(ctx, func() error {
			_, err := s.store.Patch(ctx, e.ID, patch, opts)
			return err
		})
	})
	wantKind(t, errors.Join(errs...), nil)
	s.wantStored(t, want)
}

func (s *suite) testDeletesTogether(t *testing.T) {
	ctx := testContext(t)
	id := s.stored(t).ID
	errs := together(goroutines, func(i int) error {
		pre := store.Precondition{}
		if i%2 == 0 {
			pre = always
		}
		return retry(ctx, func() error { return s.store.Delete(ctx, id, pre) })
	})
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
		} else {
			wantKind(t, err, store.ErrNotFound)
		}
	}
	wantEqual(t, winners, 1)
	s.wantAbsent(t, id)
}

// testSavesAndDeletes: what saves say they created, less what deletes say they
// removed, is what is there in the end.
func (s *suite) testSavesAndDeletes(t *testing.T) {
	const rounds = 20
	ctx, id := testContext(t), s.newID(t)
	balance := make([]int, goroutines)
	errs := together(goroutines, func(i int) error {
		for range rounds {
			err := retry(ctx, func() error { return s.saveOrDelete(ctx, id, i, &balance[i]) })
			if err != nil {
				return fmt.Errorf("goroutine %d: %w", i, err)
			}
		}
		return nil
	})
	wantKind(t, errors.Join(errs...), nil)
	left := 0
	for _, b := range balance {
		left += b
	}
	rows, err := s.store.List(ctx, models.EmployeeQuery{Filter: match("id", id), Limit: 1})
	wantKind(t, err, nil)
	wantEqual(t, left, len(rows.Employees))
}

func (s *suite) saveOrDelete(ctx context.Context, id int64, i int, balance *int) error {
	if i%2 == 0 {
		created, err := s.store.Save(ctx, full(id), store.Precondition{})
		if created {
			*balance++
		}
		return err
	}
	err := s.store.Delete(ctx, id, store.Precondition{})
	if err == nil {
		*balance--
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
