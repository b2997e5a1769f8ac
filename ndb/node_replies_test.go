package ndb

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

func ignoreRequests(*transporter.ServerConn, *signal.Message) {}

// answerGCP makes a node answer WAIT_GCP_REQ with what next returns, 2 s later.
func answerGCP(next func() signal.Incoming) func(*transporter.ServerConn, *signal.Message) {
	return func(conn *transporter.ServerConn, m *signal.Message) {
		var req signal.WaitGCPReq
		if err := req.Decode(m); err != nil {
			panic(err)
		}
		answer := next()
		switch a := answer.(type) {
		case *signal.WaitGCPConf:
			a.RequestID = req.RequestID
		case *signal.WaitGCPRef:
			a.RequestID = req.RequestID
		default:
			return
		}
		time.AfterFunc(2*time.Second, func() { _ = conn.SendSignal(signal.BlockDBDIH, signal.BlockAPI, answer) })
	}
}

func TestWaitDurable_ManyCallers_ShareOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		requests, checkpoint := 0, uint64(7)
		c.nodes[2].set(func(f *fakeNode) {
			f.onRequest = answerGCP(func() signal.Incoming {
				requests++
				checkpoint++
				return &signal.WaitGCPConf{GCI: checkpoint << 32}
			})
		})
		done := make(chan error, 100)
		for i := range 100 {
			go func() { done <- c.WaitDurable(t.Context(), GCI(8+i%2)<<32|GCI(i)) }() // ends with the checkpoint
		}
		began := time.Now()
		for range 100 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := time.Since(began); requests != 2 || got != 4*time.Second {
			t.Errorf("got %d requests in %v, want 2 in 4s", requests, got)
		}
		if err := c.WaitDurable(t.Context(), 8<<32|99); err != nil || requests != 2 {
			t.Errorf("got %v after %d requests, want what is known to be durable without another", err, requests)
		}
		if err := c.WaitDurable(t.Context(), 0); err != nil {
			t.Errorf("got %v for a transaction that wrote nothing, want nil", err)
		}
	})
}

func TestWaitDurable_NodeLostOrRefusing_AsksAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		asked := make(chan signal.NodeID, 8)
		for id, node := range c.nodes {
			node.set(func(f *fakeNode) {
				f.onRequest = answerGCP(func() signal.Incoming {
					asked <- id
					if id == 2 {
						return &signal.WaitGCPRef{Error: signal.WaitGCPTooMany}
					}
					return &signal.WaitGCPConf{GCI: 9 << 32}
				})
			})
		}
		if err := c.WaitDurable(t.Context(), 9<<32); err != nil {
			t.Errorf("got %v where one node refuses, want nil", err)
		}

		for len(asked) > 0 {
			<-asked
		}
		done := make(chan error, 1)
		go func() { done <- c.WaitDurable(t.Context(), 10<<32) }() // ends with the checkpoint
		c.nodes[3].set(func(f *fakeNode) {
			f.onRequest = answerGCP(func() signal.Incoming { return &signal.WaitGCPConf{GCI: 10 << 32} })
		})
		c.nodes[<-asked].kill()
		if err := <-done; err != nil {
			t.Errorf("got %v where the node is lost, want the answer of the other", err)
		}
	})
}

func TestWaitDurable_ClusterLostMeanwhile_NotDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		c.nodes[2].set(func(f *fakeNode) { f.onRequest = ignoreRequests })
		done := make(chan error, 1)
		go func() { done <- c.WaitDurable(t.Context(), 9<<32) }() // ends with the cluster
		synctest.Wait()
		c.nodes[2].cut()
		if err := <-done; !errors.Is(err, errLostMeanwhile) || SurelyNotDone(err) {
			t.Errorf("got %v, want %v with an unknown outcome", err, errLostMeanwhile)
		}
	})
}

func TestWaitDurable_AskerLeaves_TheNextOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		requests := 0
		c.nodes[2].set(func(f *fakeNode) {
			f.onRequest = answerGCP(func() signal.Incoming {
				requests++
				return &signal.WaitGCPConf{GCI: 9 << 32}
			})
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		asker := make(chan error, 1)
		go func() { asker <- c.WaitDurable(ctx, 9<<32) }() // ends with ctx
		synctest.Wait()
		if err := c.WaitDurable(t.Context(), 9<<32); err != nil || requests != 2 {
			t.Errorf("got %v after %d requests, want nil after 2", err, requests)
		}
		if err := <-asker; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

func TestReplies_OnlyTheAnswerToTheRequestArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		l := c.api().linkTo(2)
		answers := make(chan *signal.Message, 1)
		failures := make(chan error, 1)
		var id uint32
		go func() { // ends with the answer
			m, err := c.replies.request(t.Context(), l, signal.GSNListTablesReq, func(i uint32) error { id = i; return nil })
			answers <- m
			failures <- err
		}()
		synctest.Wait()
		if id&3 != 0 || id == 0 {
			t.Errorf("got the request ID %d, want a multiple of 4", id)
		}
		words := func(w uint32) []byte { return []byte{byte(w), byte(w >> 8), byte(w >> 16), byte(w >> 24)} }
		data := words(id)
		c.replies.deliver(&signal.Message{GSN: signal.GSNListTablesConf, Data: words(id + 4)})
		c.replies.deliver(&signal.Message{GSN: signal.GSNGetTabInfoConf, Data: words(id)})
		c.replies.deliver(&signal.Message{GSN: signal.GSNListTablesConf})
		c.replies.deliver(&signal.Message{GSN: signal.GSNWaitGCPRef, Data: words(id)})
		c.replies.deliver(&signal.Message{GSN: signal.GSNWaitGCPRef, Data: append(words(2), words(id)...)})
		c.replies.deliver(&signal.Message{GSN: signal.GSNListTablesConf, Data: data, NumSections: 1, Sections: [3][]byte{data}})
		clear(data) // the receive buffer is used again
		m, err := <-answers, <-failures
		if err != nil || m.GSN != signal.GSNListTablesConf || string(m.Data) != string(words(id)) || string(m.Sections[0]) != string(words(id)) {
			t.Errorf("got %+v and %v, want a copy of the answer", m, err)
		}
		if got := c.Stats().Requests; got != 0 {
			t.Errorf("got %d requests that wait, want 0", got)
		}
	})
}

func TestReplies_TooMany_RefusesAtOnce(t *testing.T) {
	r := newReplies()
	seen := map[uint32]bool{}
	r.lastID = signal.RNIL - 2*requestStep // IDs wrap around
	for range maxPendingRequests {
		id, err := r.add(pendingReply{})
		if err != nil || seen[id] || id == signal.RNIL || id == 0 {
			t.Fatalf("got ID %#x and %v, want one that was not there", id, err)
		}
		seen[id] = true
	}
	if _, err := r.add(pendingReply{}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("got %v, want %v", err, ErrQueueFull)
	}
}
