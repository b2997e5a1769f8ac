package ndb

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
)

// Client is a connection to a cluster: one or several API nodes, each with a
// link to each data node, shared by all callers. It is safe for concurrent use.
type Client struct {
	cfg         Config
	servers     mgm.Connectstring
	apis        []*apiNode
	members     []*membership // of the same API nodes
	dict        *dictionary
	replies     *replies
	cluster     clusterLinks
	checkpoints checkpoints
	status      sharedCall[[]NodeStatus]
	memory      sharedCall[[]MemoryUse]
	traffic     traffic
	changed     broadcast // a data node's state
	deadlines   sharedDeadlines
	turn        atomic.Uint32 // for taking API nodes in turn
	limit       atomic.Pointer[TransactionLimit]

	operations    atomic.Uint64
	schemaRetries atomic.Uint64

	life    context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup // one goroutine for each data node of each API node
}

// Connect connects to a cluster. It returns when each API node of the client
// can use at least one data node; the others follow by themselves, and those
// that are lost later are connected again. A node ID that is not free yet is
// waited for: data nodes keep it for some seconds after a client has left. The
// context is for connecting only. After an error nothing is left behind.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	servers, err := mgm.ParseConnectstring(cfg.Connectstring)
	if err != nil {
		return nil, fmt.Errorf("ndb: Config.Connectstring: %w", err)
	}
	if len(cfg.NodeIDs) == 0 {
		cfg.NodeIDs = []int{int(servers.NodeID)}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cfg.ConnectTimeout)
		defer cancel()
	}
	c := newClient(cfg, servers)
	if err := c.start(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("ndb: connect: %w", err)
	}
	return c, nil
}

func newClient(cfg Config, servers mgm.Connectstring) *Client {
	c := &Client{cfg: cfg, servers: servers, replies: newReplies()}
	c.dict = newDictionary(c)
	// The client outlives the context of Connect.
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// start joins the cluster and waits until it can be used.
func (c *Client) start(ctx context.Context) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	c.launch()
	return c.awaitUsable(ctx)
}

// launch begins to connect to the data nodes.
func (c *Client) launch() {
	for _, m := range c.members {
		for _, n := range m.api.nodes {
			c.running.Go(func() { n.run(c.life) }) // ends with Close, which waits for it
		}
	}
}

// awaitUsable waits until each API node has a data node to work with.
func (c *Client) awaitUsable(ctx context.Context) error {
	for {
		changed := c.changed.wait()
		ready := true
		for _, m := range c.members {
			usable, err := m.usable()
			if err != nil {
				return err
			}
			ready = ready && usable
		}
		if ready {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w%s", ErrNoNode, ctx.Err(), c.describe())
		}
	}
}

// usable tells whether a data node can be used, or why none ever will.
func (m *membership) usable() (bool, error) {
	hope := false
	var refused error
	for _, n := range m.api.nodes {
		info := n.snapshot()
		switch {
		case info.Usable:
			return true, nil
		case permanent(info.LastError):
			refused = info.LastError
		default:
			hope = true
		}
	}
	if hope {
		return false, nil
	}
	return false, refused
}

// describe is for the error of a Connect that took too long.
func (c *Client) describe() string {
	var text strings.Builder
	for _, info := range c.Nodes() {
		fmt.Fprintf(&text, "; node %d: %v", info.ID, info.State)
		if info.LastError != nil {
			fmt.Fprintf(&text, ", %v", info.LastError)
		}
	}
	return text.String()
}

// Close ends the client: its links, its goroutines, and what callers wait for.
// A commit in flight then ends with an unknown outcome, other calls with errors
// that say that nothing was done. The data nodes roll back what was open. Close
// returns when nothing is left; closing twice is fine.
func (c *Client) Close() {
	c.stop()
	c.running.Wait()
}

// ClustersLost is how often no usable data node was left. What comes back may be
// another cluster, or the same one without its last commits; global checkpoints
// of before it mean nothing then.
func (c *Client) ClustersLost() uint64 { return c.cluster.epoch.Load() }

func (c *Client) isClosed() bool { return c.life.Err() != nil }

// Nodes tells how the data nodes are, without asking them: for each API node of
// the client, each data node in the order of their IDs.
func (c *Client) Nodes() []NodeInfo {
	var all []NodeInfo
	for _, m := range c.members {
		for _, n := range m.api.nodes {
			all = append(all, n.snapshot())
		}
	}
	return all
}

// nextAPINode chooses the API node of the next transaction: in turn, passing
// over those that can use no data node.
func (c *Client) nextAPINode() (*apiNode, error) {
	if c.isClosed() {
		return nil, notSent(ErrClosed)
	}
	first := int(c.turn.Add(1))
	for i := range c.apis {
		api := c.apis[(first+i)%len(c.apis)]
		if len(c.apis) == 1 || api.hasLink() {
			return api, nil
		}
	}
	return c.apis[first%len(c.apis)], nil
}

func (a *apiNode) hasLink() bool {
	for _, n := range a.nodes {
		if a.linkTo(n.id) != nil {
			return true
		}
	}
	return false
}

// bounded gives a context without a deadline the client's RequestTimeout.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	if ctx.Done() == nil {
		return c.deadlines.next(c.life, c.cfg.RequestTimeout), func() {}
	}
	return context.WithTimeout(ctx, c.cfg.RequestTimeout)
}

// sharedDeadlines gives callers that have no context of their own one with a
// deadline, without a timer for each: those that come within a fraction of the
// timeout share one.
type sharedDeadlines struct {
	latest atomic.Pointer[sharedDeadline]
}

type sharedDeadline struct {
	context.Context
	cancel context.CancelFunc // not called: others may use the context, which ends by itself or with the client
	until  time.Time          // later callers need another
}

const deadlinesPerTimeout = 16

// next returns a context that ends after the timeout, or up to one part in
// deadlinesPerTimeout later.
func (s *sharedDeadlines) next(parent context.Context, timeout time.Duration) context.Context {
	now := time.Now()
	if d := s.latest.Load(); d != nil && now.Before(d.until) {
		return d
	}
	slice := timeout / deadlinesPerTimeout
	ctx, cancel := context.WithTimeout(parent, timeout+slice)
	d := &sharedDeadline{ctx, cancel, now.Add(slice)}
	s.latest.Store(d)
	return d
}

// clusterLinks counts the links to data nodes that are or were usable.
type clusterLinks struct {
	mu    sync.Mutex // guards up; held while the loss of the last one is handled, so that no link comes up before that
	up    int
	epoch atomic.Uint64 // how often all were lost
}

func (c *clusterLinks) linkUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up++
}

// linkLost calls lastLost where no link is left.
func (c *clusterLinks) linkLost(lastLost func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up--
	if c.up == 0 {
		c.epoch.Add(1)
		lastLost()
	}
}

// forgetCluster is called when the last link to the cluster was lost: it may
// come back as another one.
func (c *Client) forgetCluster() {
	c.checkpoints.forget()
	c.dict.dropAll()
}

// broadcast wakes all who wait for something to happen.
type broadcast struct {
	mu sync.Mutex // guards ch
	ch chan struct{}
}

// wait returns a channel that the next notify closes.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
