package ndb

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

func TestConnect_UsesTheNodesOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 3, 2)
		c := f.mustConnect(t, Config{})
		c.wantState(2, NodeStarted, true)
		c.wantState(3, NodeStarted, true)
		nodes := c.Nodes()
		if len(nodes) != 2 || nodes[0].ID != 2 || nodes[1].ID != 3 || nodes[0].APINode != int(testAPINode) {
			t.Errorf("got %+v, want the nodes 2 and 3 of API node 53", nodes)
		}
		if got := f.sessions(); got != 0 {
			t.Errorf("got %d sessions with the management server, want none once connected", got)
		}
		if got := f.asked(mgm.CommandNodeID); got != 1 {
			t.Errorf("got %d requests for a node ID, want 1", got)
		}
	})
}

// A management server that waits for the lowest ID to become free knows others.
func TestConnect_AnyNodeID_IsAskedForTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		f.nodes[2].anyAPINode = true
		f.clinging = 4 * time.Second
		began := time.Now()
		c := f.mustConnect(t, Config{})
		if took := time.Since(began); took >= time.Second {
			t.Errorf("connecting took %v", took)
		}
		if got := c.apis[0].id; got != testAPINode+1 {
			t.Errorf("got node ID %d, want the second one", got)
		}
		time.Sleep(f.clinging) // by the bubble's clock: the first answer finds nobody
	})
}

func TestConnect_NodeIDs(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want []signal.NodeID
	}{
		{"any", Config{}, []signal.NodeID{53}},
		{"of the connectstring", Config{Connectstring: "nodeid=54," + testServer}, []signal.NodeID{54}},
		{"several", Config{NodeIDs: []int{54, 53}}, []signal.NodeID{54, 53}},
		{"before the connectstring", Config{NodeIDs: []int{54}, Connectstring: "nodeid=53," + testServer}, []signal.NodeID{54}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeManagement(t, 2)
				f.nodes[2].anyAPINode = true
				c := f.mustConnect(t, tt.cfg)
				var got []signal.NodeID
				for _, api := range c.apis {
					got = append(got, api.id)
					if api.linkTo(2) == nil {
						t.Errorf("got no link of API node %d, want one", api.id)
					}
				}
				if len(got) != len(tt.want) || got[0] != tt.want[0] || got[len(got)-1] != tt.want[len(got)-1] {
					t.Errorf("got API nodes %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestConnect_NodeIDNotFreeYet_WaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		for range 9 {
			f.refusals = append(f.refusals, &mgm.Error{Code: mgm.CodeNotNow, Text: "Id 53 already allocated by another node."})
		}
		began := time.Now()
		c := f.mustConnect(t, Config{NodeIDs: []int{53}})
		if got := time.Since(began); got < 9*nodeIDRetryPause || got > 10*nodeIDRetryPause {
			t.Errorf("got connected after %v, want after nine pauses", got)
		}
		c.wantState(2, NodeStarted, true)
	})
}

func TestConnect_CannotWork_SaysWhyAtOnce(t *testing.T) {
	tests := []struct {
		name    string
		cfg     Config
		prepare func(*fakeManagement)
		want    string
		is      error
	}{
		{name: "invalid", cfg: Config{NodeIDs: []int{-1}}, want: "NodeIDs"},
		{name: "connectstring", cfg: Config{Connectstring: "host:port"}, want: "Connectstring"},
		{name: "unknown node ID", prepare: func(f *fakeManagement) {
			f.refusals = []*mgm.Error{{Code: mgm.CodeNotConfigured, Text: "No node defined with id=99"}}
		}, want: "id=99"},
		{name: "arbitrator", prepare: func(f *fakeManagement) { f.config.Nodes[1].ArbitrationRank = 2 }, want: "ArbitrationRank 2"},
		{name: "link with TLS", prepare: func(f *fakeManagement) { f.config.Links[0].RequireTLS = true }, want: "RequireTls=0", is: transporter.ErrTLSRequired},
		{name: "data node with TLS", prepare: func(f *fakeManagement) { f.nodes[2].requireTLS = true }, want: "RequireTls=0", is: transporter.ErrTLSRequired},
		{name: "management server with TLS", prepare: func(f *fakeManagement) {
			f.network.listen(testServer, func(nc net.Conn) {
				_ = mgm.Serve(context.Background(), nc, func(*mgm.Request) *mgm.Reply { return mgm.TLSRequired() })
			})
		}, want: "RequireTls=0", is: mgm.ErrTLSRequired},
		{name: "no connections", prepare: func(f *fakeManagement) { f.config.Links = nil }, want: "no connection"},
		{name: "version", prepare: func(f *fakeManagement) { f.nodes[2].refuse = signal.RegErrorVersion }, want: "9.7.2"},
		{name: "no API node", prepare: func(f *fakeManagement) { f.nodes[2].refuse = signal.RegErrorNotAPINode }, want: "API node"},
		{name: "second node ID", cfg: Config{NodeIDs: []int{53, 54}}, prepare: func(f *fakeManagement) {
			f.config.Nodes[2].ArbitrationRank = 1
		}, want: "node ID 54"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeManagement(t, 2)
				if tt.prepare != nil {
					tt.prepare(f)
				}
				began := time.Now()
				_, err := f.connect(t.Context(), t, tt.cfg)
				if err == nil {
					t.Fatal("got no error, want one")
				}
				if !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("got %q, want %q %v", err, tt.want, tt.is)
				}
				if got := time.Since(began); got > time.Second {
					t.Errorf("got it after %v, want it at once", got)
				}
			})
		})
	}
}

func TestConnect_ContextEnds_SaysWhatItWaitedFor(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(*fakeManagement)
		want    string
	}{
		{"node ID", func(f *fakeManagement) { f.taken = []signal.NodeID{0} }, "already allocated"},
		{"management server", func(f *fakeManagement) { f.stop() }, "connection refused"},
		{"data node does not answer", func(f *fakeManagement) { f.nodes[2].silent = true }, "node 2: registering"},
		{"data node starts", func(f *fakeManagement) { f.nodes[2].conf.StartLevel = signal.StartLevelStarting }, "node 2: starting"},
		{"data node is dead", func(f *fakeManagement) { f.network.listen(f.nodes[2].address, nil) }, "node 2: disconnected, link to node 2: connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeManagement(t, 2)
				tt.prepare(f)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := f.connect(ctx, t, Config{})
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want the end of the context and %q", err, tt.want)
				}

				began := time.Now()
				_, err = f.connect(t.Context(), t, Config{ConnectTimeout: 7 * time.Second})
				if got := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || got != 7*time.Second {
					t.Errorf("got %v after %v, want the end of ConnectTimeout after 7s", err, got)
				}
			})
		})
	}
}

func TestConnect_Cancelled_LeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2, 3)
		f.nodes[2].silent, f.nodes[3].bye = true, true
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := f.connect(ctx, t, Config{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		synctest.Wait()
		select {
		case <-f.nodes[2].conn.Done():
		default:
			t.Error("got a link that is up, want none")
		}
	})
}

func TestConnect_FirstManagementServersUseless_TakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		f.network.listen("hangs:1186", hang)
		c := f.mustConnect(t, Config{Connectstring: "dead:1,hangs," + testServer})
		c.wantState(2, NodeStarted, true)
	})
}

func TestNode_RestartsOnAnotherPort_IsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2, 3)
		c := f.mustConnect(t, Config{})
		f.nodes[3].kill()
		f.nodes[2].say(failed(3))
		f.nodes[2].say(completed(3, 2))
		c.pass(time.Second)
		c.wantState(3, NodeDisconnected, false)

		f.nodes[3].address = net.JoinHostPort(dynamicTestIP, "4711")
		f.nodes[3].start()
		f.set(func(f *fakeManagement) { f.ports[3] = 4711 })
		c.pass(time.Second)
		c.wantState(3, NodeStarted, true)
		if got := f.asked(mgm.CommandNodeID); got != 1 {
			t.Errorf("got %d requests for a node ID, want 1: the other link holds it", got)
		}
	})
}

func TestNode_ManagementServerGone_LinksAreRepairedWithoutIt(t *testing.T) {
	for name, gone := range map[string]func(*fakeManagement){
		"dead":  (*fakeManagement).stop,
		"hangs": func(f *fakeManagement) { f.network.listen(testServer, hang) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeManagement(t, 2, 3)
				c := f.mustConnect(t, Config{})
				gone(f)
				f.nodes[2].cut()
				c.pass(suspicionTimeout + managementTimeout + time.Second)
				c.wantState(2, NodeStarted, true)

				f.nodes[2].cut()
				f.nodes[3].cut()
				c.pass(2*managementTimeout + time.Second)
				c.wantState(2, NodeStarted, true)
				c.wantState(3, NodeStarted, true)
			})
		})
	}
}

func TestNode_AllLost_ReservesItsIDBeforeItSaysHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2, 3)
		c := f.mustConnect(t, Config{})
		f.set(func(f *fakeManagement) { f.taken = []signal.NodeID{testAPINode} }) // by somebody who was quicker
		f.nodes[2].cut()
		f.nodes[3].cut()
		c.pass(time.Minute)
		for id, node := range f.nodes {
			if hellos, _ := node.count(); hellos != 1 {
				t.Errorf("got %d hellos at node %d, want 1 while another has the ID", hellos, id)
			}
		}
		if err := c.info(2).LastError; err == nil || !strings.Contains(err.Error(), "already allocated") {
			t.Errorf("got %v, want the refusal of the ID", err)
		}
		asked := f.asked(mgm.CommandNodeID)
		f.set(func(f *fakeManagement) { f.taken = nil })
		c.pass(2 * retryPauseLater)
		c.wantState(2, NodeStarted, true)
		c.wantState(3, NodeStarted, true)
		if got := f.asked(mgm.CommandNodeID) - asked; got != 1 {
			t.Errorf("got %d reservations, want 1 for both nodes", got)
		}
	})
}

func TestClient_Bounded_GivesADeadlineWhereThereIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepareTestCluster(t, Config{RequestTimeout: 16 * time.Second}, 2)
		deadline := func(ctx context.Context) time.Duration {
			ctx, cancel := c.bounded(ctx)
			defer cancel()
			d, ok := ctx.Deadline()
			if !ok {
				t.Fatal("got no deadline, want one")
			}
			return time.Until(d)
		}
		with, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got := deadline(with); got != time.Hour {
			t.Errorf("got %v, want the caller's deadline", got)
		}
		if got := deadline(t.Context()); got != 16*time.Second {
			t.Errorf("got %v, want RequestTimeout", got)
		}
		first, _ := c.bounded(context.Background())
		c.pass(time.Second - 1)
		if second, _ := c.bounded(context.Background()); second != first {
			t.Error("got another context within a fraction of the timeout, want the same")
		}
		for range 40 {
			if got := deadline(context.Background()); got < 16*time.Second || got > 17*time.Second {
				t.Errorf("got %v, want from 16 to 17 s", got)
			}
			c.pass(300 * time.Millisecond)
		}
		<-first.Done()
		if allocs := testing.AllocsPerRun(100, func() { c.bounded(context.Background()) }); allocs > 0 {
			t.Errorf("got %v allocations, want none", allocs)
		}
	})
}
