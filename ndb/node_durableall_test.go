package ndb

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// countGCP makes all nodes confirm each request 2 s later. It counts them.
func (c *testCluster) countGCP() (requests *int) {
	requests = new(int)
	for _, node := range c.nodes {
		node.set(func(f *fakeNode) {
			f.onRequest = answerGCP(func() signal.Incoming {
				*requests++
				return &signal.WaitGCPConf{GCI: uint64(*requests) << 32}
			})
		})
	}
	return requests
}

// within ends the test where the wait did not take that long.
func within(t *testing.T, began time.Time, least, most time.Duration) {
	t.Helper()
	if got := time.Since(began); got < least || got > most {
		t.Errorf("got the end after %v, want it after %v to %v", got, least, most)
	}
}

func TestWaitAllDurable_CallersAtOnce_ShareOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		requests := c.countGCP()
		done := make(chan error)
		began := time.Now()
		for i := range 64 {
			go func() { // ends with the checkpoint
				if i%2 == 0 { // some come a moment later
					<-time.After(gatherPause / 2)
				}
				done <- c.WaitAllDurable(t.Context())
			}()
		}
		for range 64 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		within(t, began, 2*time.Second, 2*time.Second+gatherPause)
		if *requests != 1 {
			t.Errorf("got %d requests, want 1", *requests)
		}
	})
}

func TestWaitAllDurable_RequestIsOnItsWay_AsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		requests := c.countGCP()
		first := make(chan error, 1)
		go func() { first <- c.WaitAllDurable(t.Context()) }() // ends with the checkpoint
		c.pass(time.Second)
		began := time.Now()
		if err := c.WaitAllDurable(t.Context()); err != nil || *requests != 2 {
			t.Errorf("got %v after %d requests, want nil after 2", err, *requests)
		}
		within(t, began, 2*time.Second, 2*time.Second+gatherPause)
		if err := <-first; err != nil {
			t.Error(err)
		}
		began = time.Now() // what is known to be durable says nothing about now
		if err := c.WaitAllDurable(t.Context()); err != nil || *requests != 3 {
			t.Errorf("got %v after %d requests, want nil after 3", err, *requests)
		}
		within(t, began, 2*time.Second, 2*time.Second+gatherPause)
	})
}

func TestWaitAllDurable_ManyCallersOneByOne_FewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		requests := c.countGCP()
		const callers, every = 300, 10 * time.Millisecond
		done := make(chan error)
		for range callers {
			go func() { // ends with the checkpoint
				began := time.Now()
				err := c.WaitAllDurable(t.Context())
				within(t, began, 2*time.Second, 2*time.Second+roundPause)
				done <- err
			}()
			c.pass(every)
		}
		for range callers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most := int(callers*every/roundPause) + 2; *requests > most {
			t.Errorf("got %d requests, want at most %d", *requests, most)
		}
	})
}

func TestWaitAllDurable_NodeRefusingOrLost_AsksAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		asked := make(chan signal.NodeID, 8)
		var refused atomic.Bool
		for id, node := range c.nodes {
			node.set(func(f *fakeNode) {
				f.onRequest = answerGCP(func() signal.Incoming {
					asked <- id
					if !refused.Swap(true) {
						return &signal.WaitGCPRef{Error: signal.WaitGCPTooMany}
					}
					return &signal.WaitGCPConf{GCI: 9 << 32}
				})
			})
		}
		if err := c.WaitAllDurable(t.Context()); err != nil || len(asked) != 2 {
			t.Errorf("got %v after %d requests, want nil after 2", err, len(asked))
		}

		<-asked
		<-asked
		done := make(chan error, 1)
		go func() { done <- c.WaitAllDurable(t.Context()) }() // ends with the checkpoint
		lost := <-asked
		c.nodes[lost].kill()
		if err := <-done; err != nil {
			t.Errorf("got %v where the node is lost, want the answer of the other", err)
		}
		if next := <-asked; next == lost {
			t.Errorf("got node %d asked again, want the other", next)
		}
	})
}

func TestWaitAllDurable_ClusterLostMeanwhile_NotDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		c.nodes[2].set(func(f *fakeNode) { f.onRequest = ignoreRequests })
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- c.WaitAllDurable(t.Context()) }() // ends with the cluster
		}
		c.pass(time.Second)
		c.nodes[2].set(func(f *fakeNode) { f.onRequest = nil })
		c.countGCP()
		c.nodes[2].cut() // it comes back, and confirms what is asked then
		for range 2 {
			if err := <-done; !errors.Is(err, errLostMeanwhile) || SurelyNotDone(err) {
				t.Errorf("got %v, want %v with an unknown outcome", err, errLostMeanwhile)
			}
		}
		if err := c.WaitAllDurable(t.Context()); err != nil {
			t.Errorf("afterwards: got %v, want nil", err)
		}
	})
}

func TestWaitAllDurable_WhoAsksLeaves_TheOthersAskAgain(t *testing.T) {
	for _, when := range []time.Duration{gatherPause / 2, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestCluster(t, 2)
			c.countGCP()
			ctx, cancel := context.WithTimeout(t.Context(), when)
			defer cancel()
			first := make(chan error, 1)
			go func() { first <- c.WaitAllDurable(ctx) }() // ends with ctx
			synctest.Wait()
			done := make(chan error)
			for range 8 {
				go func() { done <- c.WaitAllDurable(t.Context()) }() // ends with the checkpoint
			}
			began := time.Now()
			for range 8 {
				if err := <-done; err != nil {
					t.Errorf("first leaves after %v: got %v, want nil", when, err)
				}
			}
			within(t, began, 2*time.Second, when+2*time.Second+2*gatherPause)
			if err := <-first; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the context", err)
			}
		})
	}
}

func TestWaitAllDurable_ContextEndsOrClientCloses_SaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		c.nodes[2].set(func(f *fakeNode) { f.onRequest = ignoreRequests })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan error)
		for range 2 {
			go func() { done <- c.WaitAllDurable(ctx) }() // ends with ctx
		}
		for range 2 {
			if err := <-done; !errors.Is(err, context.DeadlineExceeded) || SurelyNotDone(err) {
				t.Errorf("got %v, want the end of the context", err)
			}
		}
		for range 2 {
			go func() { done <- c.WaitAllDurable(t.Context()) }() // ends with Close
		}
		c.pass(time.Second)
		c.Close()
		for range 2 {
			if err := <-done; err == nil {
				t.Error("got nil from a closed client, want an error")
			}
		}
		if err := c.WaitAllDurable(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want %v", err, ErrClosed)
		}
	})
}

func TestWaitDurable_CheckpointNotKnown_WaitsForAllCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		asked := false
		c.nodes[2].set(func(f *fakeNode) {
			answer := answerGCP(func() signal.Incoming { return &signal.WaitGCPConf{GCI: 9 << 32} })
			f.onRequest = func(conn *transporter.ServerConn, m *signal.Message) { asked = true; answer(conn, m) }
		})
		began := time.Now()
		if err := c.WaitDurable(t.Context(), UnknownGCI); err != nil || !asked {
			t.Errorf("got %v, asked %v, want nil after a request", err, asked)
		}
		within(t, began, 2*time.Second, 2*time.Second+gatherPause)
	})
}
