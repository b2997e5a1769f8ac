package ndb

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

const (
	testServer    = "mgmd:1186"
	dynamicTestIP = "node"
)

// fakeManagement is a management server on a fakeNetwork, with a cluster of
// fake data nodes.
type fakeManagement struct {
	network *fakeNetwork
	nodes   map[signal.NodeID]*fakeNode

	mu        sync.Mutex // guards all below
	config    mgm.Config
	refusals  []*mgm.Error          // of the next requests for a node ID
	taken     []signal.NodeID       // that are refused always
	clinging  time.Duration         // before the first request for any node ID is answered; others get the next ID
	ports     map[signal.NodeID]int // dynamic ones
	memory    []mgm.MemoryUse
	requests  []string
	connected map[net.Conn]struct{}
}

// newFakeManagement has the API nodes 53 and 54 and the data nodes with these
// IDs, which are started.
func newFakeManagement(t *testing.T, dataNodes ...signal.NodeID) *fakeManagement {
	f := &fakeManagement{
		network: &fakeNetwork{}, nodes: map[signal.NodeID]*fakeNode{},
		ports: map[signal.NodeID]int{}, connected: map[net.Conn]struct{}{},
	}
	f.config = mgm.Config{SystemName: "test", Nodes: []mgm.Node{{ID: 1, Type: mgm.TypeMGM, Host: "mgmd", Port: mgm.DefaultPort}}}
	for _, api := range []signal.NodeID{testAPINode, testAPINode + 1} {
		f.config.Nodes = append(f.config.Nodes, mgm.Node{ID: api, Type: mgm.TypeAPI})
	}
	for _, id := range dataNodes {
		f.nodes[id] = newFakeNode(t, f.network, id)
		f.ports[id] = int(id)
		f.config.Nodes = append(f.config.Nodes, mgm.Node{ID: id, Type: mgm.TypeData, Host: dynamicTestIP})
		for _, api := range []signal.NodeID{testAPINode, testAPINode + 1} {
			f.config.Links = append(f.config.Links, mgm.Link{Node1: api, Node2: id, Host2: dynamicTestIP, SignalID: true})
		}
	}
	f.network.listen(testServer, f.serve)
	return f
}

func (f *fakeManagement) serve(nc net.Conn) {
	f.mu.Lock()
	f.connected[nc] = struct{}{}
	f.mu.Unlock()
	// A client that leaves early is the test's intention.
	_ = mgm.Serve(context.Background(), nc, f.answer)
	f.mu.Lock()
	delete(f.connected, nc)
	f.mu.Unlock()
}

func (f *fakeManagement) answer(r *mgm.Request) *mgm.Reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Command)
	if r.Command == mgm.CommandNodeID && f.clinging > 0 {
		return f.cling(r)
	}
	switch r.Command {
	case mgm.CommandNodeID:
		return f.allocate(r)
	case mgm.CommandConfig:
		id, err := r.ConfigNodeID()
		if err != nil {
			return nil
		}
		own := f.config
		own.Links = slices.DeleteFunc(slices.Clone(own.Links), func(l mgm.Link) bool { return l.Node1 != id })
		return mgm.ConfigReply(own.Blob())
	case mgm.CommandServerPort:
		_, id, err := r.PortNodeIDs()
		if err != nil {
			return nil
		}
		return mgm.PortReply(f.ports[id])
	case mgm.CommandStatus:
		return mgm.StatusReply(slices.DeleteFunc([]mgm.NodeStatus{
			{ID: 3, Type: mgm.TypeData, Status: mgm.StatusStarting, Version: mgm.ThisVersion, StartPhase: 4, DynamicID: 3, Address: "10.0.0.3"},
			{ID: 2, Type: mgm.TypeData, Status: mgm.StatusStarted, Version: mgm.ThisVersion, DynamicID: 2, Address: "10.0.0.2"},
			{ID: 4, Type: mgm.TypeData, Status: mgm.StatusNoContact},
			{ID: 1, Type: mgm.TypeMGM, Status: mgm.StatusConnected, Version: mgm.ThisVersion, Address: "10.0.0.1"},
			{ID: testAPINode, Type: mgm.TypeAPI, Status: mgm.StatusNoContact, Address: "0.0.0.0"},
		}, func(n mgm.NodeStatus) bool { return !r.WantsType(n.Type) }))
	case mgm.CommandEvents:
		if !r.WantsMemoryUse() {
			return nil
		}
		return mgm.MemoryReply(f.memory)
	default:
		return nil
	}
}

func (f *fakeManagement) allocate(r *mgm.Request) *mgm.Reply {
	if len(f.refusals) > 0 {
		refusal := f.refusals[0]
		f.refusals = f.refusals[1:]
		return mgm.NodeIDRefusal(refusal)
	}
	id, _, err := r.WantedNodeID()
	if err != nil {
		return nil
	}
	if slices.Contains(f.taken, id) {
		return mgm.NodeIDRefusal(&mgm.Error{Code: mgm.CodeNotNow, Text: "Id " + strconv.Itoa(int(id)) + " already allocated by another node."})
	}
	if id == 0 {
		id = testAPINode
	}
	return mgm.NodeIDReply(id)
}

// cling answers the first request late, and the others at once with another ID.
func (f *fakeManagement) cling(*mgm.Request) *mgm.Reply {
	if n := slices.Index(f.requests, mgm.CommandNodeID); n >= 0 && slices.Contains(f.requests[n+1:], mgm.CommandNodeID) {
		return mgm.NodeIDReply(testAPINode + 1)
	}
	f.mu.Unlock()
	defer f.mu.Lock()
	time.Sleep(f.clinging) // of the bubble's clock
	return mgm.NodeIDReply(testAPINode)
}

func (f *fakeManagement) set(change func(*fakeManagement)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// asked is how often a command came.
func (f *fakeManagement) asked(command string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if r == command {
			n++
		}
	}
	return n
}

func (f *fakeManagement) sessions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.connected)
}

// stop makes the management server unreachable.
func (f *fakeManagement) stop() { f.network.listen(testServer, nil) }

// connect connects a client, which the end of the test closes.
func (f *fakeManagement) connect(ctx context.Context, t *testing.T, cfg Config) (*testCluster, error) {
	t.Helper()
	if cfg.Connectstring == "" {
		cfg.Connectstring = testServer
	}
	cfg.Dialer = f.network.dial
	c, err := Connect(ctx, cfg)
	if err != nil {
		if c != nil {
			t.Error("got a client with an error, want none")
		}
		return nil, err
	}
	t.Cleanup(c.Close)
	return &testCluster{Client: c, t: t, nodes: f.nodes}, nil
}

func (f *fakeManagement) mustConnect(t *testing.T, cfg Config) *testCluster {
	t.Helper()
	c, err := f.connect(t.Context(), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return c
}

// hang accepts connections and never answers, until the peer leaves.
func hang(nc net.Conn) {
	buf := make([]byte, 512)
	for {
		if _, err := nc.Read(buf); err != nil {
			_ = nc.Close()
			return
		}
	}
}
