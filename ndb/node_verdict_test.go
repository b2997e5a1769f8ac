package ndb

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// inFlight makes a transaction whose commit the node has got and not answered.
func (c *testCluster) inFlight(id signal.NodeID) *txRecord {
	l := c.api().linkTo(id)
	rec, err := c.api().records.add(l)
	if err != nil {
		c.t.Fatal(err)
	}
	l.mu.Lock()
	l.all[rec] = struct{}{}
	l.mu.Unlock()
	rec.begin(c.api().nextTransID(), nil)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.phase, rec.commit, rec.writes, rec.waiting = phaseExecuting, true, true, 1
	return rec
}

// verdict waits for the end of a transaction and says how long that took.
func (c *testCluster) verdict(rec *txRecord) (*Error, time.Duration) {
	c.t.Helper()
	began := time.Now()
	_, err := rec.wait(context.Background())
	var e *Error
	if !errors.As(err, &e) {
		c.t.Fatalf("got %v, want an Error", err)
	}
	return e, time.Since(began)
}

func TestNode_CoordinatorLost_TransactionInFlightGetsItsVerdict(t *testing.T) {
	tests := []struct {
		name   string
		news   func(c *testCluster) // after node 3 was lost
		code   int
		status Status
		after  time.Duration
		is     error
	}{
		{
			name: "survivor has taken over", code: 4010, status: StatusTemporary,
			news: func(c *testCluster) {
				c.nodes[2].say(failed(3))
				c.nodes[2].say(decided(3, 2))
			},
		},
		{
			name: "survivor has completed", code: 4010, status: StatusTemporary,
			news: func(c *testCluster) { c.nodes[2].say(completed(3, 2)) },
		},
		{
			name: "no survivor", code: codeClusterLost, status: StatusUnknown,
			news: func(c *testCluster) { c.nodes[2].kill() },
		},
		{
			name: "survivor says nothing", code: codeNoVerdict, status: StatusUnknown, after: verdictTimeout,
			news: func(c *testCluster) { c.nodes[2].say(failed(3)) },
		},
		{
			name: "node does not listen", code: codeNoVerdict, status: StatusUnknown, after: verdictTimeout,
			news: func(*testCluster) {},
		},
		{
			name: "host swallows everything", code: codeNoVerdict, status: StatusUnknown, after: verdictTimeout,
			news: func(c *testCluster) { c.nodes[3].network.listen(c.nodes[3].address, hang) },
		},
		{
			name: "only the link was lost", code: codeNoVerdict, status: StatusUnknown, after: suspicionTimeout,
			news: func(c *testCluster) { c.nodes[3].start() },
		},
		{
			name: "client closed", code: codeClosed, status: StatusUnknown, is: ErrClosed,
			news: func(c *testCluster) { c.Close() },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTestCluster(t, 2, 3)
				rec := c.inFlight(3)
				c.nodes[3].kill()
				synctest.Wait()
				if len(rec.ready) > 0 {
					t.Fatal("got the end of the transaction with that of the link, want it to wait for the verdict")
				}
				tt.news(c)
				err, after := c.verdict(rec)
				if err.Code != tt.code || err.Status != tt.status || after != tt.after {
					t.Errorf("got %v (%d) after %v, want code %d, %v after %v", err, err.Code, after, tt.code, tt.status, tt.after)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("got %v, want %v in it", err, tt.is)
				}
			})
		})
	}
}

func TestClient_Close_CommitInFlight_UnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		rec := c.inFlight(3)
		c.Close()
		err, _ := c.verdict(rec)
		if err.Status != StatusUnknown || !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want an unknown outcome because the client was closed", err)
		}
	})
}

func TestNode_HangsAndIsDeclaredFailedLater_VerdictIsNotWaitedForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		rec := c.inFlight(3)
		c.nodes[3].set(func(f *fakeNode) { f.silent = true })
		err, after := c.verdict(rec)
		// The data nodes may take 20 s to declare a node failed that hangs.
		if err.Code != codeNoVerdict || after > verdictTimeout+5*time.Second {
			t.Errorf("got %v after %v, want %d within 15s", err, after, codeNoVerdict)
		}
		hellos, _ := c.nodes[3].count()
		if hellos > 2 {
			t.Errorf("got %d connections to a node that hangs, want few", hellos)
		}
	})
}
