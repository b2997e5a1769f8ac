package ndb

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

const testAPINode signal.NodeID = 53

// fakeNetwork is a network in memory, so that tests can run on fake time.
type fakeNetwork struct {
	mu    sync.Mutex // guards hosts
	hosts map[string]func(net.Conn)
}

var errConnectionRefused = errors.New("connection refused")

// listen makes serve get the connections to an address. Nil refuses them.
func (f *fakeNetwork) listen(address string, serve func(net.Conn)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts == nil {
		f.hosts = map[string]func(net.Conn){}
	}
	f.hosts[address] = serve
}

func (f *fakeNetwork) dial(_ context.Context, _, address string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	serve := f.hosts[address]
	if serve == nil {
		return nil, errConnectionRefused
	}
	client, server := net.Pipe()
	go serve(server) // ends with the connection
	return client, nil
}

// fakeNode is the cluster manager of a data node and little else: it registers
// API nodes and answers what a test tells it to.
type fakeNode struct {
	t       *testing.T
	id      signal.NodeID
	address string
	network *fakeNetwork

	anyAPINode bool // not only testAPINode registers
	requireTLS bool

	mu        sync.Mutex // guards all below
	conf      signal.APIRegConf
	silent    bool // heartbeats get no answer
	bye       bool // hellos are put off
	refuse    uint32
	hellos    []time.Time
	beats     []time.Time
	conn      *transporter.ServerConn // the latest
	onRequest func(*transporter.ServerConn, *signal.Message)
}

func newFakeNode(t *testing.T, network *fakeNetwork, id signal.NodeID) *fakeNode {
	f := &fakeNode{t: t, id: id, network: network, address: net.JoinHostPort("node", string('0'+rune(id)))}
	f.conf = signal.APIRegConf{
		QMGR: signal.NewBlockRef(signal.BlockQMGR, id), Version: clientVersion, MySQLVersion: clientVersion,
		Heartbeat: 1500 * time.Millisecond, StartLevel: signal.StartLevelStarted,
	}
	network.listen(f.address, f.serve)
	return f
}

func (f *fakeNode) connection() mgm.Connection {
	return mgm.Connection{Peer: f.id, Host: "node", Port: int(f.id), SignalID: true}
}

func (f *fakeNode) serve(nc net.Conn) {
	listener := transporter.Listener{Config: transporter.Config{Own: f.id, Format: signal.Format{SignalID: true}}, Admit: f.admit, RequireTLS: f.requireTLS}
	conn, err := listener.Accept(context.Background(), nc)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.conn = conn
	f.mu.Unlock()
	conn.Start(func(m *signal.Message) { f.receive(conn, m) })
	<-conn.Done()
}

func (f *fakeNode) admit(signal.NodeID) transporter.Admission {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hellos = append(f.hellos, time.Now())
	if f.bye {
		return transporter.NotNow
	}
	return transporter.Admit
}

func (f *fakeNode) receive(conn *transporter.ServerConn, m *signal.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.GSN != signal.GSNAPIRegReq {
		if f.onRequest == nil {
			f.t.Errorf("node %d got %v, want nothing but API_REGREQ", f.id, m.GSN)
			return
		}
		f.onRequest(conn, m)
		return
	}
	var s signal.APIRegReq
	if err := s.Decode(m); err != nil {
		f.t.Error(err)
	}
	if want := signal.NewBlockRef(signal.BlockCluster, testAPINode); s.Ref != want && !f.anyAPINode || s.Version != clientVersion {
		f.t.Errorf("got API_REGREQ of %v, version %#x; want %v, %#x", s.Ref, s.Version, want, clientVersion)
	}
	f.beats = append(f.beats, time.Now())
	var answer signal.Incoming = &f.conf
	if f.refuse != 0 {
		answer = &signal.APIRegRef{Ref: f.conf.QMGR, Version: clientVersion, Error: f.refuse, MySQLVersion: clientVersion}
	}
	if !f.silent {
		// A connection that is gone by now is the test's intention.
		_ = conn.SendSignal(signal.BlockQMGR, signal.BlockCluster, answer)
	}
}

// send sends to the API node's cluster manager. The caller holds mu.
func (f *fakeNode) send(s signal.Incoming) {
	// A connection that is gone by now is the test's intention.
	_ = f.conn.SendSignal(signal.BlockQMGR, signal.BlockCluster, s)
}

func (f *fakeNode) say(s signal.Incoming) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(s)
}

// set changes the node, and with a level announces it.
func (f *fakeNode) set(change func(*fakeNode)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeNode) setLevel(level signal.StartLevel) {
	f.set(func(f *fakeNode) {
		f.conf.StartLevel = level
		f.send(&f.conf)
	})
}

// cut ends the connection, but lets the node listen on.
func (f *fakeNode) cut() {
	f.mu.Lock()
	conn := f.conn
	f.mu.Unlock()
	conn.Close()
}

// kill ends the connection and refuses others until start.
func (f *fakeNode) kill() {
	f.network.listen(f.address, nil)
	f.cut()
}

func (f *fakeNode) start() { f.network.listen(f.address, f.serve) }

func (f *fakeNode) count() (hellos, beats int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.hellos), len(f.beats)
}

// testCluster is a client of fake data nodes, without a management server.
type testCluster struct {
	*Client
	t     *testing.T
	nodes map[signal.NodeID]*fakeNode
}

// newTestCluster starts a client of the data nodes with these IDs. It must run
// in a synctest bubble.
func newTestCluster(t *testing.T, ids ...signal.NodeID) *testCluster {
	t.Helper()
	c := prepareTestCluster(t, Config{}, ids...)
	c.launch()
	synctest.Wait()
	return c
}

func prepareTestCluster(t *testing.T, cfg Config, ids ...signal.NodeID) *testCluster {
	t.Helper()
	network := &fakeNetwork{}
	cfg.Dialer = network.dial
	c := &testCluster{Client: newClient(cfg.withDefaults(), mgm.Connectstring{}), t: t, nodes: map[signal.NodeID]*fakeNode{}}
	var connections []mgm.Connection
	for _, id := range ids {
		c.nodes[id] = newFakeNode(t, network, id)
		connections = append(connections, c.nodes[id].connection())
	}
	m := c.newMembership(testAPINode, connections)
	c.members, c.apis = []*membership{m}, []*apiNode{m.api}
	t.Cleanup(c.Close)
	return c
}

func (c *testCluster) api() *apiNode { return c.apis[0] }

func (c *testCluster) info(id signal.NodeID) NodeInfo { return c.members[0].node(id).snapshot() }

func (c *testCluster) wantState(id signal.NodeID, state NodeState, usable bool) {
	c.t.Helper()
	synctest.Wait()
	if got := c.info(id); got.State != state || got.Usable != usable {
		c.t.Errorf("got node %d %v, usable %v; want %v, %v", id, got.State, got.Usable, state, usable)
	}
	if got := c.api().linkTo(id) != nil; got != usable {
		c.t.Errorf("got a link for transactions to node %d: %v, want %v", id, got, usable)
	}
}

// pass lets fake time go by.
func (c *testCluster) pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}
