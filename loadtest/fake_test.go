package loadtest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// fake is a road over memstore whose operations take time, in the time of the
// test's bubble.
type fake struct {
	rows    *memstore.Store
	service time.Duration
	// before, where there is one, may fail an operation.
	before func(op loadtest.Op) error

	mu    sync.Mutex // guards calls
	calls map[loadtest.Op]int
}

func newFake(service time.Duration) *fake {
	return &fake{rows: &memstore.Store{}, service: service, calls: map[loadtest.Op]int{}}
}

func (f *fake) Open(context.Context) (target.Session, error) { return &fakeSession{f}, nil }
func (f *fake) Close() error                                 { return nil }

func (f *fake) count(op loadtest.Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

func (f *fake) serve(ctx context.Context, op loadtest.Op) error {
	f.mu.Lock()
	f.calls[op]++
	before := f.before
	f.mu.Unlock()
	select {
	case <-time.After(f.service):
	case <-ctx.Done():
		return &target.Error{Kind: target.Timeout, Err: ctx.Err()}
	}
	if before != nil {
		return before(op)
	}
	return nil
}

type fakeSession struct{ *fake }

func (s *fakeSession) direct() target.Session {
	session, err := (&target.Direct{Store: s.rows, Timeout: time.Minute}).Open(context.Background())
	if err != nil {
		panic(err)
	}
	return session
}

func (s *fakeSession) Insert(ctx context.Context, e *models.Employee) error {
	if err := s.serve(ctx, loadtest.Insert); err != nil {
		return err
	}
	return s.direct().Insert(ctx, e)
}

func (s *fakeSession) Select(ctx context.Context, id int64, e *models.Employee) error {
	if err := s.serve(ctx, loadtest.Select); err != nil {
		return err
	}
	return s.direct().Select(ctx, id, e)
}

func (s *fakeSession) Update(ctx context.Context, id int64, first, last string) error {
	if err := s.serve(ctx, loadtest.Update); err != nil {
		return err
	}
	return s.direct().Update(ctx, id, first, last)
}

func (s *fakeSession) Delete(ctx context.Context, id int64) error {
	if err := s.serve(ctx, loadtest.Delete); err != nil {
		return err
	}
	return s.direct().Delete(ctx, id)
}

// List looks at no rows: memstore would read all of them.
func (s *fakeSession) List(ctx context.Context, _ string, limit int) (int, error) {
	return limit, s.serve(ctx, loadtest.List)
}

func (s *fakeSession) Close() {}

// quick is a run of one cell of a second that the tests change.
func quick(roads ...loadtest.Road) loadtest.Config {
	return loadtest.Config{
		Targets: roads, Workloads: []loadtest.Workload{loadtest.Single(loadtest.Select)}, Threads: []int{1},
		Duration: time.Second, Warmup: 100 * time.Millisecond, Repeats: 1, Rows: 50, Way: "direct",
	}
}

func road(name string, t target.Target) loadtest.Road {
	return loadtest.Road{Name: name, Native: name == "ndb", Target: t}
}

var errDown = &target.Error{Kind: target.Connection, Err: errors.New("connection refused")}
