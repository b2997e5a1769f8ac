package ndbapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// writes are writes to the row 1, which exists but for create.
var writes = map[string]func(ctx context.Context, t *testing.T, s *ndbapi.Store) error{
	"create": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error { return s.Create(ctx, full(t, 2)) },
	"save": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.Save(ctx, full(t, 1), store.Precondition{})
		return err
	},
	"save if": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.Save(ctx, full(t, 1), holds)
		return err
	},
	"patch": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.Patch(ctx, 1, patchOf(t, models.Employee{}, "first"), store.PatchOptions{})
		return err
	},
	"patch a date, with row": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.Patch(ctx, 1, patchOf(t, full(t, 1), "ended"), store.PatchOptions{ReturnRow: true})
		return err
	},
	"patch if": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.Patch(ctx, 1, patchOf(t, models.Employee{}, "first"), store.PatchOptions{Precondition: holds})
		return err
	},
	"delete": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		return s.Delete(ctx, 1, store.Precondition{})
	},
	"delete if": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error { return s.Delete(ctx, 1, holds) },
}

var reads = map[string]func(ctx context.Context, t *testing.T, s *ndbapi.Store) error{
	"get": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.Get(ctx, 1)
		return err
	},
	"list": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.List(ctx, models.EmployeeQuery{Limit: 5})
		return err
	},
	"list by city": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.List(ctx, models.EmployeeQuery{Filter: models.Compare(property(t, "city"), models.OpEqual, "London"), Limit: 5})
		return err
	},
	"list by ID": func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
		_, err := s.List(ctx, models.EmployeeQuery{Filter: models.Compare(property(t, "id"), models.OpEqual, int64(1)), Limit: 5})
		return err
	},
}

var holds = store.Precondition{Matches: func(*models.Employee) bool { return true }}

const (
	codeNodeShutdown = 280 // temporary
	codeLockTimeout  = 266 // temporary
	codeNoSpace      = 827 // permanent
	codeNoRecord     = 219 // temporary
	codeInternal     = 901 // permanent
)

func calls() map[string]func(ctx context.Context, t *testing.T, s *ndbapi.Store) error {
	all := maps.Clone(reads)
	maps.Copy(all, writes)
	return all
}

func TestRetry_SurelyNotDone_DoneAgain(t *testing.T) {
	for name, run := range calls() {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			s := openOn(t, c, quiet)
			must(t, s.Create(t.Context(), full(t, 1)))
			before := s.Counters()
			c.Refuse(ndbtest.Match{Table: "employee", Times: 2}, codeNodeShutdown)
			must(t, run(t.Context(), t, s))
			if got := s.Counters(); got.Retries == before.Retries || got.UnknownOutcomes > 0 {
				t.Errorf("got %+v, want retries", got)
			}
		})
	}
}

// What stays refused ends with an error, soon.
func TestRetry_IsBounded(t *testing.T) {
	for name, run := range calls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			s := openOn(t, c, quiet)
			must(t, s.Create(t.Context(), full(t, 1)))
			c.Refuse(ndbtest.Match{Table: "employee"}, codeNodeShutdown)
			began := time.Now()
			wantKind(t, run(t.Context(), t, s), store.ErrUnavailable)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if got := s.Counters().Retries; got == 0 || got > 10 {
				t.Errorf("got %d retries, want some", got)
			}
		})
	}
}

func TestRetry_EndsWithTheContext(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c, quiet)
	c.Refuse(ndbtest.Match{Table: "employee"}, codeNodeShutdown)
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	began := time.Now()
	wantKind(t, s.Create(ctx, full(t, 1)), store.ErrUnavailable)
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %v with a context of 400ms", took)
	}
}

func TestErrors_RefusedForGood_NotDoneAgain(t *testing.T) {
	for code, kind := range map[int]error{codeNoSpace: store.ErrUnavailable, codeInternal: nil} {
		for name, run := range writes {
			t.Run(fmt.Sprint(name, " ", code), func(t *testing.T) {
				c := startCluster(t)
				s := openOn(t, c, quiet)
				must(t, s.Create(t.Context(), full(t, 1)))
				c.Refuse(ndbtest.Match{Table: "employee"}, code)
				err := run(t.Context(), t, s)
				if err == nil || s.Counters().Retries > 0 {
					t.Fatalf("got error %v after %d retries", err, s.Counters().Retries)
				}
				for _, other := range []error{store.ErrUnavailable, store.ErrNotFound, store.ErrConflict, store.ErrUnknownOutcome} {
					if errors.Is(err, other) != (other == kind) {
						t.Errorf("got error %v, is it %q: %v", err, other, other != kind)
					}
				}
			})
		}
	}
}

// A lock that another one holds has the write refused for sure. Another try would
// be cut off by the deadline while it waits, and nobody could tell.
func TestRetry_LockedRow_IsNotTriedAgainShortOfTheDeadline(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c, quiet)
	must(t, s.Create(t.Context(), full(t, 1)))
	for name, run := range writes {
		t.Run(name, func(t *testing.T) {
			c.Refuse(ndbtest.Match{Table: "employee", Times: 1}, codeLockTimeout)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			before := s.Counters()
			wantKind(t, run(ctx, t, s), store.ErrUnavailable)
			if got := s.Counters(); got != before {
				t.Errorf("got %+v, want no retry: %+v", got, before)
			}
		})
	}
}
