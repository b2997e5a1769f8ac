package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// batchOf is n employees with IDs from first on.
func batchOf(first int64, n int) ([]models.Employee, []int64) {
	employees, ids := make([]models.Employee, n), make([]int64, n)
	for i := range employees {
		ids[i] = first + int64(i)
		employees[i] = employee(ids[i])
	}
	return employees, ids
}

// outcomes counts the results of each kind.
func outcomes(results []store.ItemResult) string {
	done, unknown, unavailable, other := 0, 0, 0, 0
	for _, item := range results {
		switch {
		case item.Err == nil:
			done++
		case errors.Is(item.Err, store.ErrUnknownOutcome):
			unknown++
		case errors.Is(item.Err, store.ErrUnavailable):
			unavailable++
		default:
			other++
		}
	}
	return fmt.Sprintf("%d done, %d unknown, %d unavailable, %d other", done, unknown, unavailable, other)
}

func TestBatches_OneTransactionOfFewStatements(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	employees, _ := batchOf(1, 600)
	if err := s.CreateAll(t.Context(), employees); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]int{"QUERY START": 1, "EXECUTE INSERT": 3, "QUERY COMMIT": 1, "QUERY ROLLBACK": 0} {
		if got := server.count(request); got != want {
			t.Errorf("%s: got %d, want %d", request, got, want)
		}
	}
	longest := 0
	for _, request := range server.requests() {
		longest = max(longest, strings.Count(request, "?"))
	}
	if longest > 65_535 || longest == 0 {
		t.Errorf("a statement has %d placeholders", longest)
	}
}

func TestBatches_DataNodesRefuseTheSize(t *testing.T) {
	for request, r := range map[string]reply{
		"EXECUTE INSERT":  fails(1297, "Got temporary error 233 'Out of operation records in transaction coordinator (increase MaxNoOfConcurrentOperations)' from NDBCLUSTER"),
		"EXECUTE INSERT ": fails(1296, "Got error 261 'DML count in transaction exceeds config parameter MaxDMLOperationsPerTransaction/MaxNoOfConcurrentOp' from NDBCLUSTER"),
		"QUERY COMMIT":    fails(1180, "Got error 1217 - 'Out of operation records in local data manager (increase MaxNoOfLocalOperations)' during COMMIT"),
	} {
		server := startServer(t)
		s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
		server.on(strings.TrimSpace(request), r)
		employees, _ := batchOf(1, 10)
		err := s.CreateAll(t.Context(), employees)
		tooLarge, ok := errors.AsType[*store.BatchTooLargeError](err)
		if !ok || tooLarge.Cause == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknownOutcome) {
			t.Errorf("%s: got %v, want it to be too large", r.message, err)
		}
		// A single write that meets the same is not too large.
		server.on("EXECUTE INSERT", r)
		if err := s.Create(t.Context(), employee(1)); errors.Is(err, store.ErrBatchTooLarge) {
			t.Errorf("a single write: got %v", err)
		}
	}
}

func TestBatches_Cut(t *testing.T) {
	employees, ids := batchOf(1, 10)
	for name, c := range map[string]struct {
		request   string
		all, each error // nil where no such request is made
	}{
		"at a statement of a transaction": {"EXECUTE INSERT", store.ErrUnavailable, store.ErrUnknownOutcome},
		"at the commit":                   {"QUERY COMMIT", store.ErrUnknownOutcome, nil},
		"at the start":                    {"QUERY START", store.ErrUnavailable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
			server.on(c.request, cut)
			err := s.CreateAll(t.Context(), employees)
			if blamed, ok := errors.AsType[*store.BatchError](err); !errors.Is(err, c.all) || ok {
				t.Errorf("all: got %v (%v), want %v and nobody to blame", err, blamed, c.all)
			}
			if c.each == nil {
				return
			}
			server.on(c.request, cut)
			for _, item := range s.CreateEach(t.Context(), employees) {
				if !errors.Is(item.Err, c.each) {
					t.Errorf("each: got %v, want %v", item.Err, c.each)
				}
			}
			if got := s.Counters().UnknownOutcomes; got != uint64(len(employees)) {
				t.Errorf("got %d unknown outcomes, want %d", got, len(employees))
			}
		})
	}
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	server.on("QUERY DELETE", cut)
	if err := s.DeleteAll(t.Context(), ids); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("delete: got %v", err)
	}
}

// A step that is refused as a whole is done item by item.
func TestBatches_Each_RefusedStep_OneByOne(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	employees, _ := batchOf(1, 10)
	locked := 0
	server.onRequest(func(request string) reply {
		if !strings.HasPrefix(request, "EXECUTE INSERT") {
			return reply{}
		}
		if rows := strings.Count(request, "(?"); rows == 1 {
			locked++
		} else {
			return fails(1205, "Lock wait timeout exceeded")
		}
		if locked == 4 {
			return fails(1205, "Lock wait timeout exceeded")
		}
		return reply{}
	})
	if got, want := outcomes(s.CreateEach(t.Context(), employees)), "9 done, 0 unknown, 1 unavailable, 0 other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Whoever waits for locks until the deadline would not know what became of the rest.
func TestBatches_Each_Late_BeginsNoMore(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	deadline, _ := ctx.Deadline()
	late, stop := context.WithDeadline(ctx, deadline.Add(-900*time.Millisecond))
	defer stop()
	server.onRequest(func(request string) reply {
		if !strings.HasPrefix(request, "EXECUTE INSERT") {
			return reply{}
		}
		if strings.Count(request, "(?") > 1 {
			return fails(1205, "Lock wait timeout exceeded; try restarting transaction")
		}
		<-late.Done()
		return reply{}
	})
	employees, _ := batchOf(1, 10)
	if got, want := outcomes(s.CreateEach(ctx, employees)), "1 done, 0 unknown, 9 unavailable, 0 other"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if ctx.Err() != nil {
		t.Error("it waited until the deadline")
	}
}

func TestBatches_NoNodeIsUp(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	server.stop()
	employees, ids := batchOf(1, 600)
	if err := s.CreateAll(t.Context(), employees); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	for _, results := range [][]store.ItemResult{s.CreateEach(t.Context(), employees), s.GetMany(t.Context(), ids), s.DeleteEach(t.Context(), ids)} {
		if got, want := outcomes(results), "0 done, 0 unknown, 600 unavailable, 0 other"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The connection is cut at a chosen message between the store and a real mysqld.
func TestMySQL_Batches_CutConnection(t *testing.T) {
	const rows = 600
	dsns := testDSNs(t)
	direct := open(t, sqlstore.Config{DSNs: dsns[:1]})
	for name, c := range map[string]struct {
		cut  cutPoint
		kind error
		done int
	}{
		"commit, answer lost":  {cutPoint{comQuery, "COMMIT", true}, store.ErrUnknownOutcome, rows},
		"commit, request lost": {cutPoint{comQuery, "COMMIT", false}, store.ErrUnknownOutcome, 0},
		"a statement":          {cutPoint{comExecute, "", true}, store.ErrUnavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			employees, ids := batchOf(1<<62+rand.Int64N(1<<61), rows)
			t.Cleanup(func() { direct.DeleteEach(context.WithoutCancel(t.Context()), ids) })
			p, dsn := startProxy(t, dsns[0])
			s := open(t, sqlstore.Config{DSNs: []string{dsn}})
			p.cutAt.Store(&c.cut)
			if err := s.CreateAll(t.Context(), employees); !errors.Is(err, c.kind) {
				t.Errorf("got error %v, want %v", err, c.kind)
			}
			p.cutAt.Store(nil)
			there := 0
			for _, item := range direct.GetMany(t.Context(), ids) {
				if item.Err == nil {
					there++
				}
			}
			if there != c.done {
				t.Errorf("got %d rows, want %d", there, c.done)
			}
		})
	}
}

func TestMySQL_Batches_TakeTheNodesInTurn(t *testing.T) {
	dsns := testDSNs(t)
	p, dsn := startProxy(t, dsns[0])
	s := open(t, sqlstore.Config{DSNs: []string{dsn, dsns[len(dsns)-1]}})
	p.cutAt.Store(&cutPoint{comExecute, "", false}) // the first one can do nothing
	for range 3 {
		employees, ids := batchOf(1<<62+rand.Int64N(1<<61), 300)
		if err := s.CreateAll(t.Context(), employees); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteAll(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
	}
}
