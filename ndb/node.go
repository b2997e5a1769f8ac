package ndb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// Pauses between attempts to connect to a data node.
const (
	retryPause      = 200 * time.Millisecond
	retryPauseLater = time.Second
	quickRetries    = 25
)

// dataNode is one data node as one of our API nodes sees it. Its goroutine, run,
// owns the connection from dialling to the end; the connection's reader, and
// those of the other data nodes, bring news and wake it.
type dataNode struct {
	api    *apiNode
	member *membership
	id     signal.NodeID
	config mgm.Connection
	wake   chan struct{} // one token: there is news

	mu      sync.Mutex // guards all below
	info    NodeInfo
	conf    signal.APIRegConf // the last one of this connection
	answers uint64            // how many of them this connection has brought
	refused error             // why the node does not let us register
}

func newDataNode(m *membership, c mgm.Connection) *dataNode {
	n := &dataNode{api: m.api, member: m, id: c.Peer, config: c, wake: make(chan struct{}, 1)}
	n.info = NodeInfo{ID: int(n.id), APINode: int(m.api.id), NodeGroup: -1}
	return n
}

// wakeUp makes the node's goroutine look for news.
func (n *dataNode) wakeUp() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run connects to the node, again and again, until the context ends.
func (n *dataNode) run(ctx context.Context) {
	var notBefore time.Time
	for tries := 0; n.awaitDial(ctx, notBefore); tries++ {
		l, err := n.connect(ctx)
		if err == nil {
			var wasUp bool
			if wasUp, err = n.serve(ctx, l); wasUp {
				tries = 0
			}
		}
		n.disconnected(err)
		pause := retryPause
		if tries >= quickRetries || permanent(err) {
			pause = retryPauseLater
		}
		notBefore = time.Now().Add(pause)
	}
	n.closeOrphans()
	n.disconnected(ErrClosed)
}

// closeOrphans ends what waits for a verdict that will not come, from this node
// or about another: the client is closed, and does not listen any more.
func (n *dataNode) closeOrphans() {
	for _, lost := range n.api.nodes {
		n.api.endOrphans(lost.id, func() *Error { return unknownOutcome(codeClosed, ErrClosed) })
	}
}

// awaitDial waits until the node may be dialled, but not before the given time.
// It is false when the context has ended.
func (n *dataNode) awaitDial(ctx context.Context, notBefore time.Time) bool {
	takeovers := n.member.takeovers
	for {
		now := time.Now()
		n.member.deliver(takeovers.overdue(n.id, now))
		next := takeovers.mayDialAt(n.id)
		if next.Before(notBefore) {
			next = notBefore
		}
		if !next.After(now) {
			return ctx.Err() == nil
		}
		if due := takeovers.verdictDue(n.id); !due.IsZero() && due.Before(next) {
			next = due
		}
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-n.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// serve keeps a connection alive until it is lost or the context ends, and says
// why it ended and whether the node was ever usable.
func (n *dataNode) serve(ctx context.Context, l *link) (wasUp bool, err error) {
	s := newService(n, l)
	n.member.client.traffic.begin(l)
	l.conn.Start(func(m *signal.Message) { n.receive(l, m) })
	n.setInfo(func(i *NodeInfo) { i.State, i.Since, i.LastError = NodeRegistering, time.Now(), nil })
	s.run(ctx)
	n.api.linkDown(l, true)
	n.member.linkGone()
	n.member.client.traffic.end(l, s.wasUp)
	if ctx.Err() != nil {
		n.closeOrphans()
	}
	if s.wasUp {
		n.lost()
	}
	if trace := n.member.client.cfg.Trace.LinkLost; s.wasUp && trace != nil && ctx.Err() == nil {
		trace(LinkLoss{Node: int(n.id), APINode: int(n.api.id), Up: time.Since(s.began), Err: l.conn.Err()})
	}
	return s.wasUp, l.conn.Err()
}

// lost tells those who count on the node that it is no more: its reader has
// ended, and no answer comes from it.
func (n *dataNode) lost() {
	verdicts := n.member.takeovers.lose(n.id, time.Now())
	n.member.client.cluster.linkLost(n.member.client.forgetCluster)
	n.member.deliver(verdicts)
	n.member.wakeAll() // there is one survivor less
}

func (n *dataNode) disconnected(err error) {
	n.setInfo(func(i *NodeInfo) {
		*i = NodeInfo{ID: i.ID, APINode: i.APINode, NodeGroup: i.NodeGroup, Version: i.Version, Address: i.Address, LastError: err}
	})
}

// refusal is a registration that the node refused for good.
type refusal struct {
	node signal.NodeID
	code uint32
}

func (e *refusal) Error() string {
	switch e.code {
	case signal.RegErrorNotAPINode:
		return fmt.Sprintf("ndb: data node %d: our ID is not that of an API node", e.node)
	case signal.RegErrorVersion:
		return fmt.Sprintf("ndb: data node %d does not accept clients of version %s", e.node, versionString(clientVersion))
	default:
		return fmt.Sprintf("ndb: data node %d refuses our registration: error %d", e.node, e.code)
	}
}

// permanent tells whether there is little hope that the same attempt to connect
// will succeed soon.
func permanent(err error) bool {
	var r *refusal
	return errors.As(err, &r) || errors.Is(err, transporter.ErrTLSRequired)
}
