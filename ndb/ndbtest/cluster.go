package ndbtest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Cluster is a running cluster. Its methods are safe for concurrent use, and may
// be called by hooks.
//
// All state is guarded by one mutex. It is held while one signal is handled, and
// never while something is waited for: answers gather in the outboxes of their
// links, and leave once it is free; see flush. Hooks run without it.
type Cluster struct {
	opt     options
	network network
	mgm     *mgmServer
	hooks   hookList
	report  func(error)

	life    context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup // all goroutines

	mu         sync.Mutex // guards all below, and all that nodes, links, tables and transactions have
	closed     bool
	nodes      []*dataNode // in the order of their IDs
	apis       map[signal.NodeID]*apiNode
	dictionary dictionary
	live       map[signal.TransID]*liveTransaction
	markers    map[signal.TransID]*marker
	epochs     checkpoints
	failures   uint32 // of data nodes
	losses     int    // of the whole cluster
	joined     int    // dynamic ids that were given away
	singleUser *apiNode
	refusals   []*refusal
	lastLocal  uint64   // transaction id of a LocalTx
	ready      []func() // to be done before mu is given back
	dirty      []*link  // with something in their outbox
	timers     map[*timer]struct{}
	locals     map[*LocalTx]struct{} // that are open
	newWaits   int                   // for row locks, that OnLockWait does not know of
	unreported []error
	violations []error
}

// Start starts a cluster, all of whose data nodes are started when it returns.
// It lives until Close.
func Start(opts ...Option) (*Cluster, error) {
	opt := defaultOptions()
	for _, o := range opts {
		o(&opt)
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	c := &Cluster{
		opt:     opt,
		network: tcpNetwork{},
		report:  opt.onViolation,
		apis:    map[signal.NodeID]*apiNode{},
		live:    map[signal.TransID]*liveTransaction{},
		markers: map[signal.TransID]*marker{},
		timers:  map[*timer]struct{}{},
		locals:  map[*LocalTx]struct{}{},
	}
	if c.report == nil {
		c.report = func(error) {}
	}
	if opt.inMemory {
		c.network = newMemoryNetwork()
	}
	c.life, c.stop = context.WithCancel(context.Background())
	c.epochs.begin()
	for _, id := range opt.apiNodes {
		c.apis[id] = &apiNode{id: id, links: map[signal.NodeID]*link{}}
	}
	for i := range opt.dataNodes {
		c.nodes = append(c.nodes, newDataNode(c, signal.NodeID(firstDataNode+i), i/opt.replicas()))
	}
	c.dictionary.begin(c)
	if err := c.open(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// open begins to listen.
func (c *Cluster) open() error {
	var err error
	c.do(func() {
		for _, n := range c.nodes {
			if err = n.open(signal.StartLevelStarted); err != nil {
				return
			}
		}
		c.mgm, err = newMgmServer(c)
	})
	if err != nil {
		return fmt.Errorf("ndbtest: %w", err)
	}
	c.running.Go(c.tick) // ends with Close
	return nil
}

// Run starts a cluster for a test and closes it when the test is over. A
// Violation fails the test, and so does a commit that was never acknowledged.
func Run(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	report := func(err error) { t.Errorf("%v", err) }
	c, err := Start(append(slices.Clone(opts), func(o *options) {
		if before := o.onViolation; before != nil {
			also := report
			report = func(err error) { before(err); also(err) }
		}
		o.onViolation = func(err error) { report(err) }
	})...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Close ends the cluster and all connections, and waits until nothing is left.
// Closing twice is fine.
func (c *Cluster) Close() {
	var links []*link
	c.do(func() {
		if c.closed {
			return
		}
		c.closed = true
		c.checkMarkers()
		c.stop()
		for t := range c.timers {
			t.stop()
		}
		if c.mgm != nil {
			c.mgm.close()
		}
		for _, n := range c.nodes {
			for _, l := range n.links {
				links = append(links, l)
			}
			n.shut()
		}
	})
	for _, l := range links {
		l.unstall()
	}
	c.running.Wait()
}

// Connectstring is the address of the management server.
func (c *Cluster) Connectstring() string { return c.mgm.address }

// Dial opens a connection to an address of the cluster: what an ndb.Config of
// a cluster with InMemory takes as its Dialer.
func (c *Cluster) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	return c.network.dial(ctx, address)
}

// Nodes returns the IDs of the data nodes.
func (c *Cluster) Nodes() []int {
	var ids []int
	for _, n := range c.nodes {
		ids = append(ids, int(n.id))
	}
	return ids
}

// do runs f with the state in hand, then what f has made ready, and sends what
// came of it.
func (c *Cluster) do(f func()) {
	c.mu.Lock()
	f()
	for len(c.ready) > 0 {
		next := c.ready[0]
		c.ready = c.ready[1:]
		next()
	}
	dirty, errs, waits := c.dirty, c.unreported, c.newWaits
	c.dirty, c.unreported, c.newWaits = nil, nil, 0
	c.mu.Unlock()
	for ; waits > 0 && c.opt.onLockWait != nil; waits-- {
		c.opt.onLockWait()
	}
	for _, err := range errs {
		c.report(err)
	}
	for _, l := range dirty {
		l.flush()
	}
}

// later runs f before the state is given back.
func (c *Cluster) later(f func()) { c.ready = append(c.ready, f) }

// timer calls a function with the state in hand, once, unless it is stopped or
// the cluster is closed.
type timer struct {
	cluster *Cluster
	timer   *time.Timer
	over    bool
}

func (c *Cluster) after(d time.Duration, f func()) *timer {
	t := &timer{cluster: c}
	c.timers[t] = struct{}{}
	t.timer = time.AfterFunc(d, func() {
		c.do(func() {
			if !t.over {
				t.stop()
				f()
			}
		})
	})
	return t
}

func (t *timer) stop() {
	t.over = true
	t.timer.Stop()
	delete(t.cluster.timers, t)
}

// tick does what happens at regular times: heartbeats are counted, epochs and
// checkpoints end.
func (c *Cluster) tick() {
	heartbeat := time.NewTicker(c.opt.heartbeat)
	defer heartbeat.Stop()
	epoch := time.NewTicker(c.opt.epoch)
	defer epoch.Stop()
	checkpoint := time.NewTicker(c.opt.checkpoint)
	defer checkpoint.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-heartbeat.C:
			c.do(c.countHeartbeats)
		case <-epoch.C:
			c.do(c.endEpoch)
		case <-checkpoint.C:
			c.do(c.endCheckpoint)
		}
	}
}

// node returns the data node of that ID, which must be one.
func (c *Cluster) node(id int) *dataNode {
	for _, n := range c.nodes {
		if int(n.id) == id {
			return n
		}
	}
	panic(fmt.Sprintf("ndbtest: no data node %d", id))
}

// liveNodes returns the data nodes that take part in the cluster.
func (c *Cluster) liveNodes() []*dataNode {
	var live []*dataNode
	for _, n := range c.nodes {
		if n.started() {
			live = append(live, n)
		}
	}
	return live
}

// Port is the port of a data node, 0 while it is down.
func (c *Cluster) Port(node int) (port int) {
	c.do(func() { port = c.node(node).port })
	return port
}
