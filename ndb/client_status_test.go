package ndb

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

func TestClusterStatus_ShowsAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		c := f.mustConnect(t, Config{})
		want := []NodeStatus{
			{ID: 3, Type: "NDB", Status: "STARTING", Version: "9.7.2", StartPhase: 4, Address: "10.0.0.3"},
			{ID: 2, Type: "NDB", Status: "STARTED", Version: "9.7.2", Master: true, Address: "10.0.0.2", Host: "node"},
			{ID: 4, Type: "NDB", Status: "NO_CONTACT", NodeGroup: -1},
			{ID: 1, Type: "MGM", Status: "CONNECTED", Version: "9.7.2", NodeGroup: -1, Address: "10.0.0.1", Host: "mgmd"},
			{ID: 53, Type: "API", Status: "NO_CONTACT", NodeGroup: -1, Address: "0.0.0.0"},
		}
		got, err := c.ClusterStatus(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		f.stop()
		c.pass(statusKept)
		if got, err := c.ClusterStatus(t.Context()); err == nil || got != nil {
			t.Errorf("got %+v, %v without a management server, want an error", got, err)
		}
		c.Close()
		if _, err := c.ClusterStatus(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want %v", err, ErrClosed)
		}
	})
}

func TestMasterOf_FirstThatJoined(t *testing.T) {
	node := func(id, dynamic int) mgm.NodeStatus {
		return mgm.NodeStatus{ID: signal.NodeID(id), Type: mgm.TypeData, DynamicID: dynamic}
	}
	tests := []struct {
		name  string
		nodes []mgm.NodeStatus
		want  signal.NodeID
	}{
		{"since the first start", []mgm.NodeStatus{node(2, -1), node(3, 2)}, 2},
		{"the first one is lost", []mgm.NodeStatus{node(2, 0), node(3, 2)}, 3},
		{"and has come again", []mgm.NodeStatus{node(2, 3), node(3, 2)}, 3},
		{"all lost", []mgm.NodeStatus{node(2, 0), node(3, 0)}, 0},
		{"no data node", []mgm.NodeStatus{{ID: 1, Type: mgm.TypeMGM, DynamicID: -1}}, 0},
	}
	for _, test := range tests {
		if got := masterOf(test.nodes); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestMemoryUse_InOrder_KeptForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		c := f.mustConnect(t, Config{})
		f.set(func(f *fakeManagement) {
			f.memory = []mgm.MemoryUse{
				{ID: 3, Data: mgm.Pages{Used: 2, Total: 8192, PageBytes: 32768}, Index: mgm.Pages{Total: 8190, PageBytes: 32768}},
				{ID: 2, Data: mgm.Pages{Used: 1, Total: 8188, PageBytes: 32768}, Index: mgm.Pages{Used: 4, Total: 8191, PageBytes: 32768}},
			}
		})
		want := []MemoryUse{
			{ID: 2, Data: Pages{1, 8188, 32768}, Index: Pages{4, 8191, 32768}},
			{ID: 3, Data: Pages{2, 8192, 32768}, Index: Pages{0, 8190, 32768}},
		}
		for range 2 {
			got, err := c.MemoryUse(t.Context())
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("got %+v, %v; want %+v", got, err, want)
			}
			clear(got) // it is ours
			c.pass(statusKept / 2)
		}
		if got := f.asked(mgm.CommandEvents); got != 1 {
			t.Errorf("got %d questions in a second, want 1", got)
		}
		f.set(func(f *fakeManagement) { f.memory = nil })
		if got, err := c.MemoryUse(t.Context()); err != nil || len(got) != 0 || f.asked(mgm.CommandEvents) != 2 {
			t.Errorf("got %+v, %v after a second, want a new answer", got, err)
		}
		if used, total := want[0].Index.UsedBytes(), want[0].Index.TotalBytes(); used != 4*32768 || total != 8191*32768 {
			t.Errorf("got %d bytes of %d", used, total)
		}
	})
}

func TestStatusCalls_ServerHangs_EndWithTheirContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		c := f.mustConnect(t, Config{})
		f.network.listen(testServer, hang)
		calls := map[string]func(context.Context) error{
			"ClusterStatus": func(ctx context.Context) error { _, err := c.ClusterStatus(ctx); return err },
			"MemoryUse":     func(ctx context.Context) error { _, err := c.MemoryUse(ctx); return err },
		}
		for name, call := range calls {
			ended := make(chan struct{})
			for i := range 8 {
				limit := time.Duration(i+1) * 500 * time.Millisecond
				go func() { // ends with its limit
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					began := time.Now()
					if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != limit {
						t.Errorf("%s: got %v after %v, want the end of the context after %v", name, err, time.Since(began), limit)
					}
					ended <- struct{}{}
				}()
			}
			for range 8 {
				<-ended
			}
			go func() { // ends with Close
				if err := call(context.Background()); !errors.Is(err, ErrClosed) {
					t.Errorf("%s: got %v from a client that is closed, want %v", name, err, ErrClosed)
				}
				ended <- struct{}{}
			}()
			defer func() { <-ended }()
		}
		synctest.Wait()
		c.Close()
	})
}

// TestStatusCalls_FirstServerHangs_TheNextOneAnswers leaves the servers that
// hang half of the time.
func TestStatusCalls_FirstServerHangs_TheNextOneAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		const other = "other:1186"
		f.network.listen(other, f.serve)
		c := f.mustConnect(t, Config{Connectstring: testServer + "," + other})
		for _, hanging := range []string{testServer, other} {
			f.network.listen(testServer, f.serve)
			f.network.listen(other, f.serve)
			f.network.listen(hanging, hang)
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				if _, err := c.ClusterStatus(ctx); err != nil {
					t.Errorf("%s hangs: got %v, want the answer of the other", hanging, err)
				}
				cancel()
				c.pass(statusKept)
			}
		}
		f.stop()
		f.network.listen(other, nil)
		_, err := c.ClusterStatus(t.Context())
		if err == nil || !strings.Contains(err.Error(), testServer) || !strings.Contains(err.Error(), other) {
			t.Errorf("got %v, want an error that names both servers", err)
		}
	})
}

func TestStatusCalls_ManyCallers_ShareOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		c := f.mustConnect(t, Config{})
		before := f.asked(mgm.CommandStatus)
		f.network.listen(testServer, func(nc net.Conn) {
			<-time.After(time.Second)
			f.serve(nc)
		})
		ended := make(chan error)
		leader, leave := context.WithCancel(t.Context())
		go func() { _, err := c.ClusterStatus(leader); ended <- err }() // ends with leave
		synctest.Wait()
		for range 64 {
			go func() { _, err := c.ClusterStatus(t.Context()); ended <- err }() // ends with the answer
		}
		c.pass(time.Second / 2)
		leave() // another one asks again
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
		for range 64 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		c.pass(time.Second) // the server may still be about to read the first question
		if got := f.asked(mgm.CommandStatus) - before; got > 2 {
			t.Errorf("got %d questions, want one, after the one that was given up", got)
		}
		f.stop()
		for range 64 {
			go func() { _, err := c.ClusterStatus(t.Context()); ended <- err }() // ends with the answer
		}
		for range 64 {
			if err := <-ended; !errors.Is(err, errConnectionRefused) {
				t.Errorf("got %v, want %v", err, errConnectionRefused)
			}
		}
	})
}

func TestStatusCalls_AnswerMakesNoSense_AnErrorEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeManagement(t, 2)
		c := f.mustConnect(t, Config{})
		for _, reply := range []string{
			"", "\n", "node status\n\n", "node status\nnodes: 300\n\n", "node status\nnodes: 1\nnode.2.type: NDB\n\n",
			"dump events reply\nresult: Ok\nevents: 1\n\nlog event reply\ntype=4\n\n", "dump events reply\nresult: Ok\nevents: 99999\n\n",
			"result: Unknown command, 'dump events'\n\n\n", "Authorization failed\nError: Requires TLS\n\n", strings.Repeat("x", 1000),
		} {
			f.network.listen(testServer, func(nc net.Conn) {
				buf := make([]byte, 512)
				if _, err := nc.Read(buf); err == nil {
					_, _ = io.WriteString(nc, reply) // the client may have enough of it
				}
				_ = nc.Close()
			})
			if got, err := c.ClusterStatus(t.Context()); err == nil {
				t.Errorf("%.60q: got %+v, want an error", reply, got)
			}
			if got, err := c.MemoryUse(t.Context()); err == nil {
				t.Errorf("%.60q: got %+v, want an error", reply, got)
			}
		}
	})
}
