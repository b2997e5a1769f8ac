package ndb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

const (
	// reservationTime is how long the data nodes keep a node ID for the client
	// that a management server gave it to, as long as that does not connect.
	reservationTime = 20 * time.Second

	nodeIDRetryPause = 500 * time.Millisecond

	// managementTimeout bounds what a management server is asked: one that hangs
	// must not keep us from data nodes that work. One that has just lost contact
	// with them takes 3 s for an answer, and 4 s for an ID that is not free yet.
	managementTimeout = 10 * time.Second
	portTimeout       = 3 * time.Second
)

// join takes the client's node IDs and learns the configuration of the cluster.
func (c *Client) join(ctx context.Context) error {
	for _, id := range c.cfg.NodeIDs {
		m, err := c.joinAs(ctx, signal.NodeID(id))
		if err != nil {
			return err
		}
		c.members, c.apis = append(c.members, m), append(c.apis, m.api)
	}
	return nil
}

// joinAs takes the wanted ID, or any for 0.
func (c *Client) joinAs(ctx context.Context, wanted signal.NodeID) (*membership, error) {
	slot, err := c.allocate(ctx, wanted)
	if err != nil {
		return nil, err
	}
	connections, err := usableConnections(slot.cluster, slot.id)
	if err != nil {
		return nil, err
	}
	m := c.newMembership(slot.id, connections)
	m.reservedAt = slot.reservedAt
	return m, nil
}

// slot is an [api] slot of the cluster that we have got.
type slot struct {
	id         signal.NodeID
	reservedAt time.Time
	cluster    *mgm.Config
}

// allocate waits for management servers that do not answer, and for an ID that
// is still taken.
func (c *Client) allocate(ctx context.Context, wanted signal.NodeID) (slot, error) {
	var reason error // of the last attempt that was not cut off
	for {
		s, err := c.tryAllocate(ctx, wanted)
		if err == nil || ctx.Err() == nil && !mgm.Temporary(err) {
			return s, err
		}
		if reason == nil || ctx.Err() == nil {
			reason = err
		}
		pause := time.NewTimer(nodeIDRetryPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return slot{}, fmt.Errorf("%w: %w", ctx.Err(), reason)
		}
	}
}

// anyIDPatience is how long a management server may think about which ID to give
// before it is asked beside that for another one: it clings to the lowest, and
// where that was given back just now it takes 4 s. The first ID then stays
// reserved, for nobody.
const anyIDPatience = 300 * time.Millisecond

func (c *Client) tryAllocate(ctx context.Context, wanted signal.NodeID) (slot, error) {
	ctx, cancel := context.WithTimeout(ctx, managementTimeout)
	defer cancel()
	if wanted != 0 {
		return c.allocateOnce(ctx, wanted)
	}
	type answer struct {
		slot slot
		err  error
	}
	answers := make(chan answer, 2)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel() // which ends the other
	ask := func() {
		asking.Go(func() { // ends by the context
			s, err := c.allocateOnce(ctx, wanted)
			answers <- answer{s, err}
		})
	}
	ask()
	patience := time.NewTimer(anyIDPatience)
	defer patience.Stop()
	asked, answered := 1, 0
	for {
		select {
		case <-patience.C:
			ask()
			asked++
		case a := <-answers:
			if answered++; a.err == nil || answered == asked {
				return a.slot, a.err
			}
		}
	}
}

func (c *Client) allocateOnce(ctx context.Context, wanted signal.NodeID) (slot, error) {
	session, err := c.management(ctx)
	if err != nil {
		return slot{}, err
	}
	defer session.Close()
	s := slot{}
	if s.id, err = session.AllocNodeID(ctx, wanted, c.cfg.Name); err != nil {
		return slot{}, err
	}
	s.reservedAt = time.Now()
	if s.cluster, err = session.Config(ctx, s.id); err == nil {
		c.limit.Store(transactionLimit(s.cluster))
	}
	return s, err
}

// management opens a session to the first management server that answers.
func (c *Client) management(ctx context.Context) (*mgm.Session, error) {
	return mgm.Dial(ctx, c.cfg.Dialer, c.servers)
}

// usableConnections returns the connections of an API node to the data nodes. It
// refuses what the configuration asks for and we cannot do.
func usableConnections(cluster *mgm.Config, id signal.NodeID) ([]mgm.Connection, error) {
	if rank := cluster.ArbitrationRank(id); rank > 0 {
		return nil, fmt.Errorf("node ID %d has ArbitrationRank %d, and this client does not arbitrate: choose one with rank 0", id, rank)
	}
	connections := cluster.ConnectionsOf(id)
	slices.SortFunc(connections, func(a, b mgm.Connection) int { return cmp.Compare(a.Peer, b.Peer) })
	if len(connections) == 0 {
		return nil, fmt.Errorf("the configuration has no connection between node ID %d and a data node", id)
	}
	for _, connection := range connections {
		if connection.RequireTLS {
			return nil, fmt.Errorf("data node %d: %w", connection.Peer, transporter.ErrTLSRequired)
		}
	}
	return connections, nil
}

func (c *Client) newMembership(id signal.NodeID, connections []mgm.Connection) *membership {
	m := &membership{client: c, reserving: make(chan struct{}, 1)}
	m.api = &apiNode{
		id:      id,
		client:  c,
		records: newRecordTable(recordsPerTransaction * len(connections) * c.cfg.MaxTransactions),
		admit:   newAdmission(c.cfg.MaxTransactions, c.cfg.MaxWaiting, c.life.Done()),
	}
	for _, connection := range connections {
		m.api.nodes = append(m.api.nodes, newDataNode(m, connection))
	}
	m.takeovers = newTakeovers(m.api.nodes)
	return m
}

// recordsPerTransaction leaves room for records that are seized and in nobody's
// use: each link may keep as many as there were transactions on it at once.
const recordsPerTransaction = 2

// connect opens a connection to the node.
func (n *dataNode) connect(ctx context.Context) (*link, error) {
	if due := n.member.takeovers.verdictDue(n.id); !due.IsZero() {
		// Who waits for a verdict does not wait for an address that swallows
		// everything.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	if err := n.member.reserve(ctx); err != nil {
		return nil, err
	}
	address, err := n.address(ctx)
	if err != nil {
		return nil, err
	}
	n.setInfo(func(i *NodeInfo) { i.Address = address })
	conn, err := transporter.Dial(ctx, n.member.client.cfg.Dialer, address, transporter.Config{
		Own:    n.api.id,
		Peer:   n.id,
		Format: signal.Format{SignalID: n.config.SignalID, Checksum: n.config.Checksum},
	})
	if err != nil {
		return nil, err
	}
	n.member.linkMade()
	n.member.deliver(n.member.takeovers.connected(n.id))
	return newLink(n.api, n.id, conn), nil
}

// address is where the node listens now. A port that is not fixed changes when
// the node restarts, and a management server knows it; without one, the last
// known port is worth a try.
func (n *dataNode) address(ctx context.Context) (string, error) {
	port := n.config.Port
	if port <= 0 {
		var err error
		if port, err = n.dynamicPort(ctx); err != nil {
			if known := n.snapshot().Address; known != "" && ctx.Err() == nil {
				return known, nil
			}
			return "", err
		}
	}
	return net.JoinHostPort(n.config.Host, strconv.Itoa(port)), nil
}

func (n *dataNode) dynamicPort(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	session, err := n.member.client.management(ctx)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	return session.ServerPort(ctx, n.api.id, n.id)
}

// reserve makes sure that nobody else has our node ID before we say hello: the
// data nodes would not notice. While one of them has a connection with us, the
// ID is ours. A cluster whose management servers do not answer is entered
// without asking.
func (m *membership) reserve(ctx context.Context) error {
	if m.reserved() {
		return nil
	}
	select {
	case m.reserving <- struct{}{}:
		defer func() { <-m.reserving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if m.reserved() {
		return nil // by another data node's goroutine
	}
	err := m.client.reserve(ctx, m.api.id)
	if refused := (*mgm.Error)(nil); errors.As(err, &refused) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reservedAt = time.Now() // without an answer, too: the other nodes need not ask now
	return nil
}

func (c *Client) reserve(ctx context.Context, id signal.NodeID) error {
	ctx, cancel := context.WithTimeout(ctx, managementTimeout)
	defer cancel()
	session, err := c.management(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.AllocNodeID(ctx, id, c.cfg.Name)
	return err
}

func (m *membership) reserved() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.connections > 0 || time.Since(m.reservedAt) < reservationTime
}

func (m *membership) linkMade() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.connections++
}

func (m *membership) linkGone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.connections--
	m.reservedAt = time.Time{} // a reservation is over with the first connection
}
