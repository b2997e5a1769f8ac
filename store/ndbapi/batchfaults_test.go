package ndbapi_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// employees are n of them with IDs from 1 on.
func employees(t testing.TB, n int) []models.Employee {
	all := make([]models.Employee, n)
	for i := range all {
		all[i] = full(t, int64(i+1))
	}
	return all
}

func idsFrom(first int64, n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = first + int64(i)
	}
	return ids
}

// countOf is how many of the employees from 1 on are there.
func countOf(t *testing.T, s *ndbapi.Store, n int) int {
	t.Helper()
	there := 0
	for _, item := range s.GetMany(context.WithoutCancel(t.Context()), idsFrom(1, n)) {
		if item.Err == nil {
			there++
		} else {
			wantKind(t, item.Err, store.ErrNotFound)
		}
	}
	return there
}

func renaming(t testing.TB, n int) []models.EmployeeUpdate {
	updates := make([]models.EmployeeUpdate, n)
	for i := range updates {
		updates[i] = models.EmployeeUpdate{ID: int64(i + 1), Patch: patchOf(t, models.Employee{First: ptr("Grace")}, "first")}
	}
	return updates
}

// countingSteps counts the round trips of transactions, and their operations.
func countingSteps(trips, operations *atomic.Int64) func(*ndbapi.Config) {
	return func(cfg *ndbapi.Config) {
		cfg.Trace = &ndb.Trace{Call: func(_ context.Context, call ndb.Call) {
			if call.Op == ndb.CallExecute || call.Op == ndb.CallCommit {
				trips.Add(int64(call.RoundTrips))
				operations.Add(int64(call.Operations))
			}
		}}
	}
}

// What batches cost: a train of 512 rows is one round trip, and one the commit.
func TestBatches_RoundTrips(t *testing.T) {
	var trips, operations atomic.Int64
	c := startCluster(t)
	s := openOn(t, c, quiet, countingSteps(&trips, &operations))
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) error
		want int64
	}{
		{"create", func(ctx context.Context) error { return s.CreateAll(ctx, employees(t, 1000)) }, 3},
		{"patch, with rows", func(ctx context.Context) error {
			_, err := s.PatchAll(ctx, renaming(t, 1000), true)
			return err
		}, 3},
		{"get", func(ctx context.Context) error { return firstError(s.GetMany(ctx, idsFrom(1, 1000))) }, 2},
		{"delete", func(ctx context.Context) error { return s.DeleteAll(ctx, idsFrom(1, 1000)) }, 3},
		{"create what fits one train", func(ctx context.Context) error { return s.CreateAll(ctx, employees(t, 512)) }, 2},
	} {
		trips.Store(0)
		must(t, step.run(t.Context()))
		if got := trips.Load(); got != step.want {
			t.Errorf("%s: got %d round trips, want %d", step.name, got, step.want)
		}
	}
}

func TestBatches_TooLarge_RefusedBeforeAnythingIsSent(t *testing.T) {
	var trips, operations atomic.Int64
	c := startCluster(t, ndbtest.MaxOperations(700))
	s := openOn(t, c, quiet, countingSteps(&trips, &operations))
	must(t, s.CreateAll(t.Context(), employees(t, 700)))
	operations.Store(0)
	_, err := s.PatchAll(t.Context(), renaming(t, 701), false)
	for _, err := range []error{s.CreateAll(t.Context(), employees(t, 701)), err, s.DeleteAll(t.Context(), idsFrom(1, 701))} {
		tooLarge, ok := errors.AsType[*store.BatchTooLargeError](err)
		if !ok || tooLarge.Limit != 700 || tooLarge.Setting != "MaxNoOfConcurrentOperations" || !errors.Is(err, store.ErrBatchTooLarge) {
			t.Errorf("got %v, want the limit of 700", err)
		}
	}
	if got := operations.Load(); got != 0 {
		t.Errorf("%d operations were sent", got)
	}
	must(t, firstError(s.DeleteEach(t.Context(), idsFrom(1, 700))))
	must(t, firstError(s.CreateEach(t.Context(), employees(t, 1000))))
}

// A limit that the client does not know: the data nodes refuse.
func TestBatches_TooLarge_SaidByTheDataNodes(t *testing.T) {
	for _, code := range []int{233, 234, 261, 1217} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			s := openOn(t, c, quiet)
			c.Refuse(ndbtest.Match{Table: "employee", Operation: "insert", Skip: 600}, code)
			err := s.CreateAll(t.Context(), employees(t, 1000))
			tooLarge, ok := errors.AsType[*store.BatchTooLargeError](err)
			if !ok || tooLarge.Limit != 0 || !errors.Is(err, store.ErrBatchTooLarge) || errors.Is(err, store.ErrUnavailable) {
				t.Errorf("got %v, want it to be too large", err)
			}
			if got := countOf(t, s, 1000); got != 0 {
				t.Errorf("%d rows are left behind", got)
			}
		})
	}
}

func TestBatches_Temporary_DoneAgain(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, s *ndbapi.Store) error{
		"create all": func(ctx context.Context, s *ndbapi.Store) error { return s.CreateAll(ctx, employees(t, 600)) },
		"create each": func(ctx context.Context, s *ndbapi.Store) error {
			return firstError(s.CreateEach(ctx, employees(t, 600)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			s := openOn(t, c, quiet)
			c.Refuse(ndbtest.Match{Table: "employee", Operation: "insert", Skip: 550, Times: 3}, codeNodeShutdown)
			must(t, run(t.Context(), s))
			if got := s.Counters(); got.Retries == 0 || got.UnknownOutcomes > 0 {
				t.Errorf("got %+v, want retries", got)
			}
			if got := countOf(t, s, 600); got != 600 {
				t.Errorf("got %d rows, want 600", got)
			}
		})
	}
}

func TestBatches_Each_OneThatStaysRefusedIsAlone(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c, quiet)
	c.Refuse(ndbtest.Match{Table: "employee", Operation: "insert", Skip: 300, Times: 1}, codeInternal)
	failed := 0
	for _, item := range s.CreateEach(t.Context(), employees(t, 600)) {
		if item.Err != nil {
			failed++
			if errors.Is(item.Err, store.ErrUnavailable) || errors.Is(item.Err, store.ErrUnknownOutcome) {
				t.Errorf("got %v, want an error without a kind", item.Err)
			}
		}
	}
	if got := countOf(t, s, 600); failed != 1 || got != 599 {
		t.Errorf("got %d failures and %d rows, want 1 and 599", failed, got)
	}
}

// The last data node is lost with the commit in flight.
func TestBatches_UnknownOutcome(t *testing.T) {
	for _, step := range []ndbtest.Step{ndbtest.BeforeCommit, ndbtest.AfterCommit} {
		t.Run(fmt.Sprint("all, at step ", step), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, ndbtest.DataNodes(1))
			s := openOn(t, c, quiet)
			c.KillNodeAt(c.Nodes()[0], step, 0)
			err := s.CreateAll(t.Context(), employees(t, 600))
			wantKind(t, err, store.ErrUnknownOutcome)
			if blamed, ok := errors.AsType[*store.BatchError](err); ok {
				t.Errorf("item %d is blamed", blamed.Index)
			}
			if got, want := s.Counters(), (store.Counters{UnknownOutcomes: 1}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
		t.Run(fmt.Sprint("each, at step ", step), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, ndbtest.DataNodes(1))
			s := openOn(t, c, quiet)
			c.KillNodeAt(c.Nodes()[0], step, 100)
			done, unknown, refused := 0, 0, 0
			for _, item := range s.CreateEach(t.Context(), employees(t, 600)) {
				switch {
				case item.Err == nil:
					done++
				case errors.Is(item.Err, store.ErrUnknownOutcome):
					unknown++
				case errors.Is(item.Err, store.ErrUnavailable):
					refused++
				default:
					t.Error(item.Err)
				}
			}
			if done == 0 || unknown == 0 || refused == 0 || s.Counters().UnknownOutcomes != uint64(unknown) {
				t.Errorf("%d done, %d unknown, %d refused; counted %+v", done, unknown, refused, s.Counters())
			}
		})
	}
}

func TestBatches_NodeKilled_NothingIsLost(t *testing.T) {
	for _, step := range []ndbtest.Step{ndbtest.BeforeCommit, ndbtest.AfterCommit} {
		for victim := range 2 {
			t.Run(fmt.Sprint("step ", step, " of node ", victim), func(t *testing.T) {
				t.Parallel()
				c := startCluster(t)
				s := openOn(t, c, quiet)
				c.KillNodeAt(c.Nodes()[victim], step, 100)
				there := 0
				for _, item := range s.CreateEach(t.Context(), employees(t, 600)) {
					must(t, item.Err)
					there++
				}
				if got := countOf(t, s, 600); got != there {
					t.Errorf("got %d rows, want %d", got, there)
				}
			})
		}
	}
}

func TestBatches_DeadlinePasses(t *testing.T) {
	c := startCluster(t, ndbtest.DataNodes(1))
	s := openOn(t, c, quiet)
	must(t, s.CreateAll(t.Context(), employees(t, 1)))
	node, api := c.Nodes()[0], s.Nodes()[0].APINode
	c.StallLink(api, node)
	defer c.ResumeLink(api, node)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.DeleteAll(ctx, idsFrom(1, 1))
	wantKind(t, err, context.DeadlineExceeded)
	wantKind(t, err, store.ErrUnavailable) // no commit was asked for
	for i, item := range s.CreateEach(ctx, employees(t, 600)) {
		if !errors.Is(item.Err, context.DeadlineExceeded) {
			t.Fatalf("item %d: got %v, want the deadline", i, item.Err)
		}
	}
}

// A durable batch waits for the checkpoints of its commits.
func TestBatches_AreWaitedForOnDisk(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c, quiet)
	must(t, s.CreateAll(t.Context(), employees(t, 10)))
	must(t, firstError(s.DeleteEach(t.Context(), idsFrom(1, 10))))
	waited := make(chan error, 1)
	go func() { waited <- s.WaitDurable(t.Context()) }() // ends with the checkpoint
	for {
		select {
		case err := <-waited:
			must(t, err)
			return
		default:
			c.Checkpoint()
		}
	}
}

func firstError(results []store.ItemResult) error {
	for _, item := range results {
		if item.Err != nil {
			return item.Err
		}
	}
	return nil
}
