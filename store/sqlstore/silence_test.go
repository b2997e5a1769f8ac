package sqlstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// longTime is more than a call may wait for a node that hangs.
const longTime = 10 * time.Second

// longContext is one whose deadline no test is to meet.
func longContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longTime)
	t.Cleanup(cancel)
	return ctx
}

// prepareAll has both nodes prepare the statements of these calls.
func prepareAll(t *testing.T, s store.Employees) {
	t.Helper()
	for _, call := range []string{"get", "get", "create", "create"} {
		if err := operations[call](t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// openHanging opens two nodes, both with a connection, of which the first then
// hangs, as a stopped process does.
func openHanging(t *testing.T) (hanging, healthy *fakeServer, s *sqlstore.Store, log *logLines) {
	t.Helper()
	hanging, healthy, s, log = openTwo(t)
	prepareAll(t, s)
	hanging.on("", silent)
	return hanging, healthy, s, log
}

// What may be asked again does not wait for a node that hangs.
func TestNodes_OneHangs_CallsMoveOn(t *testing.T) {
	for _, call := range []string{"get", "list", "save if", "patch if", "delete if"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			_, _, s, _ := openHanging(t)
			for range 2 { // one of the two begins with the node that hangs
				start := time.Now()
				if err := operations[call](longContext(t), s); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > longTime/2 {
					t.Errorf("took %v", took)
				}
			}
		})
	}
}

// A write that was sent waits for its own deadline; those after it pass the node
// by, though a probe has not given it up yet.
func TestNodes_OneHangs_SentWriteWaitsAndOthersPassBy(t *testing.T) {
	t.Parallel()
	hanging, healthy, s, log := openHanging(t)
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := make(chan error, 2)
	for range 2 { // one of the two goes to the node that hangs
		go func() { outcomes <- s.Create(ctx, employee(1)) }() // ends with ctx
	}
	if err := <-outcomes; err != nil {
		t.Fatal(err)
	}
	log.wait(t, "SQL node is silent", hanging.address)
	if status := s.Status(); !status.Up || status.Nodes[0].Up {
		t.Errorf("got status %+v, want up, with the first node not", status)
	}
	before := healthy.count("EXECUTE INSERT")
	for range 4 {
		if err := s.Create(longContext(t), employee(1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := healthy.count("EXECUTE INSERT") - before; got != 4 {
		t.Errorf("got %d of 4 writes on the healthy node", got)
	}
	cancel()
	wantError(t, <-outcomes, store.ErrUnknownOutcome, context.Canceled)
}

// The probe tells a node that hangs from one slow statement.
func TestNodes_OneStatementIsSlow_ItIsWaitedFor(t *testing.T) {
	t.Parallel()
	a, b, s, _ := openTwo(t)
	asked := make(chan string, 2)
	slow := func(address string) func(request string) reply {
		return func(request string) reply {
			if strings.HasPrefix(request, "EXECUTE SELECT") {
				asked <- address
				return silent
			}
			return reply{}
		}
	}
	a.onRequest(slow(a.address))
	b.onRequest(slow(b.address))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // twice what a silent node has
	defer cancel()
	_, err := s.Get(ctx, 1)
	wantError(t, err, nil, context.DeadlineExceeded)
	if len(asked) != 1 {
		t.Errorf("got %d nodes asked, want one", len(asked))
	}
	if status := s.Status(); !status.Nodes[0].Up || !status.Nodes[1].Up {
		t.Errorf("got status %+v, want both nodes up", status)
	}
}

// Without a better node, calls wait: a short stall fails none.
func TestNodes_OnlyOneAndItStalls_CallsWaitForIt(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	logger, log := newLog()
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, Logger: logger})
	mustGet(t, s)
	stalled := make(chan struct{})
	server.onRequest(func(string) reply {
		<-stalled
		return reply{}
	})
	got := make(chan error)
	go func() { // ends when the stall does
		_, err := s.Get(longContext(t), 1)
		got <- err
	}()
	log.wait(t, "SQL node is silent")
	close(stalled)
	if err := <-got; err != nil {
		t.Error(err)
	}
	log.wait(t, "SQL node answers again")
}

func TestPing_OneHangs_TheOtherIsAskedInTime(t *testing.T) {
	t.Parallel()
	_, _, s, _ := openHanging(t)
	for range 2 { // one of the two begins with the node that hangs
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		if err := s.Ping(ctx); err != nil {
			t.Errorf("ping: %v", err)
		}
	}
}

// All connections of the pool wait for the node that hangs.
func TestNodes_OneHangs_PoolExhausted_WritesMoveOn(t *testing.T) {
	t.Parallel()
	a, b := startServer(t), startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{a.dsn(), b.dsn()}, MaxOpenConns: 1})
	prepareAll(t, s)
	a.on("", silent)
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := make(chan error, 6)
	for range cap(outcomes) { // three go to the node that hangs, and one of them is sent
		go func() { outcomes <- s.Create(ctx, employee(1)) }() // ends with ctx
	}
	for range cap(outcomes) - 1 {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
	cancel()
	wantError(t, <-outcomes, store.ErrUnknownOutcome, context.Canceled)
}
