package ndb

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

func failed(ids ...signal.NodeID) *signal.NodeFailRep {
	return &signal.NodeFailRep{FailureNumber: 2, Master: 2, Failed: signal.NewNodeSet(ids...)}
}

func decided(id, reporter signal.NodeID) *signal.TakeOverTCConf {
	return &signal.TakeOverTCConf{Failed: id, Ref: signal.NewBlockRef(signal.BlockQMGR, reporter)}
}

func completed(id, reporter signal.NodeID) *signal.NFCompleteRep {
	return &signal.NFCompleteRep{Block: signal.NewBlockRef(signal.BlockQMGR, 0), Reporting: reporter, Failed: id}
}

func TestNode_LinkLostAlone_DialledAgainAfterTheDataNodesAllowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		c.nodes[3].cut()
		c.wantState(3, NodeDisconnected, false)
		c.pass(suspicionTimeout - time.Millisecond)
		if hellos, _ := c.nodes[3].count(); hellos != 1 {
			t.Errorf("got %d connections, want 1: the link is still closed", hellos)
		}
		c.pass(time.Millisecond)
		c.wantState(3, NodeStarted, true)
		if got := c.Stats(); got.LinksLost != 1 || got.ClustersLost != 0 {
			t.Errorf("got %d links and %d clusters lost, want 1 and 0", got.LinksLost, got.ClustersLost)
		}
	})
}

func TestNode_NodeFailed_DialledAgainOnceSurvivorHasCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		c.nodes[3].cut()
		c.nodes[2].say(failed(3))
		c.nodes[2].say(decided(3, 2))
		c.pass(suspicionTimeout + time.Second)
		if hellos, _ := c.nodes[3].count(); hellos != 1 {
			t.Errorf("got %d connections, want 1 while the failure is not done with", hellos)
		}
		c.nodes[2].say(completed(3, 2))
		c.pass(0)
		c.wantState(3, NodeStarted, true)
	})
}

func TestNode_DeclaredFailed_ClosesALinkThatLooksAlive(t *testing.T) {
	for name, news := range map[string]signal.Incoming{"failed": failed(3), "taken over": decided(3, 2)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTestCluster(t, 2, 3)
				l := c.api().linkTo(3)
				c.nodes[2].say(news)
				c.wantState(3, NodeDisconnected, false)
				<-l.down
				c.wantState(2, NodeStarted, true)
			})
		})
	}
}

func TestNode_NewsAboutItselfAndStrangers_ChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		for _, news := range []signal.Incoming{
			failed(2, 60, 61), decided(60, 2), decided(2, 2), completed(60, 2),
			&signal.NFCompleteRep{Block: signal.NewBlockRef(signal.BlockDBDICT, 0), Reporting: 2, Failed: 3},
			&unknownSignal{gsn: signal.GSNNodeFailRep},
			&unknownSignal{gsn: 465}, &unknownSignal{gsn: signal.GSNSubGCPCompleteRep},
		} {
			c.nodes[2].say(news)
		}
		c.pass(time.Second)
		c.wantState(2, NodeStarted, true)
		c.wantState(3, NodeStarted, true)
	})
}

// unknownSignal has one word that nobody expects.
type unknownSignal struct{ gsn signal.GSN }

func (s *unknownSignal) GSN() signal.GSN            { return s.gsn }
func (s *unknownSignal) AppendTo(dst []byte) []byte { return append(dst, 1, 2, 3, 4) }

func TestNode_MalformedRegistration_ClosesTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		l := c.api().linkTo(2)
		c.nodes[2].say(&unknownSignal{gsn: signal.GSNAPIRegConf})
		synctest.Wait()
		<-l.down
	})
}

func TestNode_AllLost_ForgetsTheClusterAndConnectsAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		c.dict.keep(&Table{internal: "ndbtest/def/employee"}, 0)
		c.completed(700, 0)

		c.nodes[2].kill()
		synctest.Wait()
		if c.dict.known("ndbtest/def/employee") == nil {
			t.Error("got no table after one of two nodes was lost, want it kept")
		}
		c.nodes[3].kill()
		synctest.Wait()
		if c.dict.known("ndbtest/def/employee") != nil {
			t.Error("got a table after the whole cluster was lost, want none")
		}
		if durable, _, _ := c.checkpoints.join(700); durable {
			t.Error("got a checkpoint of the lost cluster, want none")
		}
		c.checkpoints.leave()
		c.completed(700, 0) // an answer that was on its way
		if durable, _, _ := c.checkpoints.join(700); durable {
			t.Error("got a checkpoint that the lost cluster has told late, want none")
		}
		c.checkpoints.leave()
		if got := c.Stats().ClustersLost; got != 1 {
			t.Errorf("got %d clusters lost, want 1", got)
		}

		c.pass(30 * time.Second)
		c.nodes[2].start()
		c.pass(retryPauseLater)
		c.wantState(2, NodeStarted, true)
		c.wantState(3, NodeDisconnected, false)
		if err := c.info(3).LastError; err == nil {
			t.Error("got no reason for node 3, want one")
		}
	})
}

func TestNode_TableAltered_DropsItFromTheDictionary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2)
		c.dict.keep(&Table{internal: "ndbtest/def/employee"}, 0)
		c.dict.keep(&Table{internal: "ndbtest/def/other"}, 0)
		c.nodes[2].say(&signal.AlterTableRep{TableID: 7, OldVersion: 4, Change: signal.TableAltered, Name: "ndbtest/def/employee"})
		synctest.Wait()
		if c.dict.known("ndbtest/def/employee") != nil || c.dict.known("ndbtest/def/other") == nil {
			t.Error("got the altered table, or not the other one; want the other one alone")
		}
	})
}

func TestClient_Close_EndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, 2, 3)
		c.nodes[2].set(func(f *fakeNode) { f.onRequest = ignoreRequests })
		c.nodes[3].set(func(f *fakeNode) { f.onRequest = ignoreRequests })
		waited := make(chan error, 1)
		go func() { waited <- c.WaitDurable(t.Context(), 5<<32) }() // ends with Close
		synctest.Wait()
		c.Close()
		if err := <-waited; err == nil {
			t.Error("got no error from what waited for a closed client, want one")
		}
		c.wantState(2, NodeDisconnected, false)
		if _, err := c.nextAPINode(); err == nil {
			t.Error("got an API node of a closed client, want ErrClosed")
		}
		c.Close()
	})
}
