package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// batchStore is a diskStore whose batches of creates fail where fail says so.
type batchStore struct {
	diskStore
	fail  func(employees []models.Employee) error // of CreateAll, before anything is done
	items func(i int, e models.Employee) error    // of CreateEach
	calls [][]int64                               // IDs of the batches of creates
}

func (s *batchStore) CreateAll(ctx context.Context, employees []models.Employee) error {
	s.calls = append(s.calls, idsOfEmployees(employees))
	if s.fail != nil {
		if err := s.fail(employees); err != nil {
			return err
		}
	}
	return s.Store.CreateAll(ctx, employees)
}

func (s *batchStore) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	s.calls = append(s.calls, idsOfEmployees(employees))
	results := s.Store.CreateEach(ctx, employees)
	for i := range results {
		if s.items != nil {
			if err := s.items(i, employees[i]); err != nil {
				results[i].Err = err
			}
		}
	}
	return results
}

func idsOfEmployees(employees []models.Employee) []int64 {
	var ids []int64
	for _, e := range employees {
		ids = append(ids, e.ID)
	}
	return ids
}

// newBatchBench is a bench whose road is the store.
func newBatchBench(t *testing.T, s *batchStore) *bench {
	if s.wait == nil {
		s.wait = onDiskAtOnce
	}
	return newBenchOver(t, s, &s.Store)
}

const threeEmployees = `{"employees":[{"id":5},{"id":6},{"id":7}]}`

func TestBatches_FailuresOfTheWhole(t *testing.T) {
	for name, c := range map[string]struct {
		err          error
		status       int
		code, detail string
	}{
		"unavailable":     {store.ErrUnavailable, 503, "unavailable", "nothing was done"},
		"unknown outcome": {store.ErrUnknownOutcome, 504, "outcome_unknown", "the items 0 to 2 are all written, or none of them"},
		"deadline":        {context.DeadlineExceeded, 504, "timeout", "nothing was written"},
		"a bug":           {errors.New("secret"), 500, "internal", "request id"},
		"locked item":     {&store.BatchError{Index: 1, Err: store.ErrUnavailable}, 503, "unavailable", "item 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBatchBench(t, &batchStore{fail: func([]models.Employee) error { return c.err }})
			w := b.do(request{"POST", pathBatchCreate, threeEmployees, nil})
			p := problemOf(t, w)
			if w.Code != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.detail) || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if c.status >= 500 && !strings.Contains(b.log.String(), c.err.Error()) {
				t.Errorf("the log does not tell the cause: %s", b.log)
			}
		})
	}
}

func TestBatches_UnknownOutcome_TellsTheAssignedIDs(t *testing.T) {
	s := &batchStore{fail: func([]models.Employee) error { return store.ErrUnknownOutcome }}
	status, view := newBatchBench(t, s).batch(pathBatchCreate, `{"employees":[{},{"id":6},{}]}`)
	if status != 504 || view.Uncertain != 3 || !slices.Equal(view.IDs, s.calls[0]) {
		t.Errorf("got %d %+v, want the ids %v", status, view, s.calls)
	}
}

func TestBatches_Chunk_UnknownOutcome(t *testing.T) {
	s := &batchStore{fail: func(employees []models.Employee) error {
		if employees[0].ID == 7 {
			return store.ErrUnknownOutcome
		}
		return nil
	}}
	status, view := newBatchBench(t, s).batch(pathBatchCreate, `{"chunk":2,"employees":[{"id":5},{"id":6},{"id":7},{"id":8},{"id":9}]}`)
	if status != 504 || *view.Committed != 2 || view.Uncertain != 2 || view.Index != nil || !strings.Contains(view.Detail, "the items 2 to 3 are") {
		t.Errorf("got %d %+v", status, view)
	}
	if len(s.calls) != 2 {
		t.Errorf("got %d transactions, want none after the second", len(s.calls))
	}
}

func TestBatches_Chunk_RoadGoesDown(t *testing.T) {
	s := &batchStore{fail: func(employees []models.Employee) error {
		if employees[0].ID == 7 {
			return store.ErrUnavailable
		}
		return nil
	}}
	w := newBatchBench(t, s).do(request{"POST", pathBatchCreate, `{"chunk":2,"employees":[{"id":5},{"id":6},{"id":7}]}`, nil})
	if p := problemOf(t, w); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(p.Detail, "the first 2 items are written, no others") || !strings.Contains(w.Body.String(), `"committed":2`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestBatches_TooLargeForATransaction(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		limit  int
		detail string
	}{
		"limit known":   {&store.BatchTooLargeError{Limit: 2, Setting: "MaxNoOfConcurrentOperations"}, 2, "by the backend sql a transaction holds at most 2 items of such a batch, due to MaxNoOfConcurrentOperations"},
		"limit unknown": {&store.BatchTooLargeError{Cause: errors.New("secret")}, 0, "the data nodes refused the transaction for its size; give a chunk"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &batchStore{fail: func(employees []models.Employee) error {
				if len(employees) > 2 {
					return fmt.Errorf("create all: %w", c.err)
				}
				return nil
			}}
			b := newBatchBench(t, s)
			status, view := b.batch(pathBatchCreate, threeEmployees)
			if status != 413 || view.Code != "batch_too_large" || view.Limit != c.limit || !strings.Contains(view.Detail, c.detail) || strings.Contains(view.Detail, "secret") {
				t.Errorf("got %d %+v", status, view)
			}
			if status, view = b.batch(pathBatchCreate, strings.Replace(threeEmployees, "{", `{"chunk":2,`, 1)); status != 200 || *view.Done != 3 {
				t.Errorf("in chunks: got %d %+v", status, view)
			}
		})
	}
}

func TestBatchCreate_AssignedIDTaken_TakesOthersFromThereOn(t *testing.T) {
	conflicts := 0
	s := &batchStore{}
	s.fail = func([]models.Employee) error {
		if conflicts++; conflicts <= 3 {
			return &store.BatchError{Index: 2, Err: store.ErrConflict}
		}
		return nil
	}
	b := newBatchBench(t, s)
	status, view := b.batch(pathBatchCreate, `{"employees":[{},{"id":6},{},{}]}`, "Prefer: return=minimal")
	if status != 200 || len(s.calls) != 4 || !slices.Equal(view.IDs, s.calls[3]) {
		t.Fatalf("got %d %+v after %d tries", status, view, len(s.calls))
	}
	first, last := s.calls[0], s.calls[3]
	if first[0] != last[0] || last[1] != 6 || first[2] == last[2] || first[3] == last[3] || last[3] != last[2]+1 {
		t.Errorf("got %v, then %v", first, last)
	}
	// A conflict of an ID that the client gave is told at once.
	conflicts, s.calls = -100, nil
	s.fail = func([]models.Employee) error { return &store.BatchError{Index: 1, Err: store.ErrConflict} }
	if status, view = b.batch(pathBatchCreate, `{"employees":[{},{"id":6},{}]}`); status != 409 || len(s.calls) != 1 || *view.Index != 1 {
		t.Errorf("got %d %+v after %d tries", status, view, len(s.calls))
	}
	s.fail = func([]models.Employee) error { return &store.BatchError{Index: 0, Err: store.ErrConflict} }
	if status, view = b.batch(pathBatchCreate, `{"employees":[{}]}`); status != 503 || view.Code != "unavailable" {
		t.Errorf("got %d %+v", status, view)
	}
}

func TestBatchCreate_Partial_AssignedIDTaken_TakesAnother(t *testing.T) {
	s := &batchStore{}
	s.items = func(i int, _ models.Employee) error {
		if len(s.calls) == 1 && i > 0 {
			return store.ErrConflict
		}
		return nil
	}
	b := newBatchBench(t, s)
	status, view := b.batch(pathBatchCreate, `{"partial":true,"employees":[{},{"id":6},{"department":0},{}]}`)
	want := "201, 409 already_exists, 422 validation_failed /employees/2/department min, 201"
	if status != 200 || view.outcomes() != want || len(s.calls) != 2 || len(s.calls[1]) != 1 {
		t.Fatalf("got %d %s after %v, want %s", status, view.outcomes(), s.calls, want)
	}
	if got := view.Results[3]; got.ID != s.calls[1][0] || got.Employee.ID != got.ID || view.Results[0].ID != s.calls[0][0] || view.Results[2].ID != 0 {
		t.Errorf("got %+v, want the ids that were stored: %v", view.Results, s.calls)
	}
}

func TestBatches_Partial_UnknownAndUnserved(t *testing.T) {
	s := &batchStore{items: func(i int, _ models.Employee) error {
		return []error{nil, store.ErrUnknownOutcome, store.ErrUnavailable, context.DeadlineExceeded, errors.New("a bug")}[i]
	}}
	status, view := newBatchBench(t, s).batch(pathBatchCreate, `{"partial":true,"employees":[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]}`)
	want := "201, 504 outcome_unknown, 503 unavailable, 504 timeout, 500 internal"
	if status != 200 || view.outcomes() != want || view.counts() != "1 3 1" {
		t.Errorf("got %d %s (%s), want %s", status, view.outcomes(), view.counts(), want)
	}
	s.items = func(int, models.Employee) error { return store.ErrUnavailable }
	if status, view = newBatchBench(t, s).batch(pathBatchCreate, `{"partial":true,"employees":[{"id":1},{"id":2}]}`); status != 503 || view.Code != "unavailable" {
		t.Errorf("nothing served: got %d %+v", status, view)
	}
}

func TestBatches_Disk_WaitsOnce(t *testing.T) {
	for _, body := range []string{threeEmployees, strings.Replace(threeEmployees, "{", `{"chunk":1,`, 1), strings.Replace(threeEmployees, "{", `{"partial":true,`, 1)} {
		for level, waits := range map[string]int{"disk": 1, "memory": 0} {
			s := &batchStore{}
			w := newBatchBench(t, s).do(request{"POST", pathBatchCreate, body, []string{"X-Durability: " + level}})
			if w.Code != 200 || w.Header().Get("X-Durability") != level || s.waits != waits {
				t.Errorf("%s: got %d, X-Durability %q, %d waits", body, w.Code, w.Header().Get("X-Durability"), s.waits)
			}
		}
	}
}

func TestBatches_Disk_NotReached_IsDoneAllTheSame(t *testing.T) {
	never := func(context.Context) error { return context.DeadlineExceeded }
	s := &batchStore{diskStore: diskStore{wait: never}}
	b := newBatchBench(t, s)
	status, view := b.batch(pathBatchCreate, `{"employees":[{"id":1},{}]}`, durableDisk)
	if status != 504 || view.Code != "not_durable_yet" || len(b.ids()) != 2 || !slices.Equal(view.IDs, s.calls[0]) {
		t.Errorf("got %d %+v", status, view)
	}
	w := b.do(request{"POST", pathBatchCreate, `{"partial":true,"employees":[{"id":2},{"id":1}]}`, []string{durableDisk}})
	if want := `"done":1,"failed":1,"unknown":0`; w.Code != 200 || !strings.Contains(w.Body.String(), want) || w.Header().Get("X-Durability") != "memory" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(w.Body.String(), `"code":"not_durable_yet"`) {
		t.Errorf("got %s", w.Body)
	}
}

// waitingStore waits for its context.
type waitingStore struct {
	memstore.Store
}

func (s *waitingStore) DeleteAll(ctx context.Context, _ []int64) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestBatches_HaveADeadlineOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backends := store.NewRegistry("sql")
		backends.Add("sql", &waitingStore{})
		b := &bench{t: t, router: New(backends, Options{RequestTimeout: 2 * time.Second})}
		begun := time.Now()
		w := b.do(request{"POST", pathBatchDelete, `{"ids":[1]}`, nil})
		if took := time.Since(begun); w.Code != 504 || took != 12*time.Second {
			t.Errorf("got %d after %v, want 504 after 12s", w.Code, took)
		}
	})
}
