package ndb

import (
	"context"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

const (
	wordBytes  = 4
	maxNodeIDs = 256 // node IDs are 1 to 255
)

// apiNode is one node ID of this client: one link to each data node, shared by
// all its transactions.
type apiNode struct {
	id      signal.NodeID
	client  *Client
	nodes   []*dataNode                      // in the order of their IDs; fixed after Connect
	links   [maxNodeIDs]atomic.Pointer[link] // that new transactions may use
	alive   [maxNodeIDs]atomic.Pointer[link] // that were usable once and are not lost: answers still come
	records *recordTable
	admit   *admission
	turn    atomic.Uint32 // for taking nodes in turn

	transCount atomic.Uint64
}

// ref is where the data nodes answer to.
func (a *apiNode) ref() signal.BlockRef { return signal.NewBlockRef(signal.BlockAPI, a.id) }

// linkTo returns the link to a started data node, or nil.
func (a *apiNode) linkTo(node signal.NodeID) *link { return a.links[node].Load() }

// isConnected tells whether answers of a data node can still come.
func (a *apiNode) isConnected(node signal.NodeID) bool { return a.alive[node].Load() != nil }

// A transaction ID is a counter of 40 bits below the node ID. It comes from
// this one place: the data nodes stop when two open transactions have the same.
const (
	transCountHighMask = 0xff
	transNodeShift     = 8
)

func (a *apiNode) nextTransID() signal.TransID {
	n := a.transCount.Add(1)
	return signal.TransID{
		Low:  uint32(n),
		High: uint32(n>>32)&transCountHighMask | uint32(a.id)<<transNodeShift,
	}
}

// coordinator chooses the link whose node coordinates a transaction: the first
// of the preferred nodes that is started, else any, in turn.
func (a *apiNode) coordinator(preferred []signal.NodeID) (*link, error) {
	for _, node := range preferred {
		if l := a.linkTo(node); l != nil {
			return l, nil
		}
	}
	first := int(a.turn.Add(1))
	for i := range a.nodes {
		if l := a.linkTo(a.nodes[(first+i)%len(a.nodes)].id); l != nil {
			return l, nil
		}
	}
	return nil, notSent(ErrNoNode)
}

// linkUp is called when a data node is started and may be used.
func (a *apiNode) linkUp(l *link) {
	a.alive[l.node].Store(l)
	a.links[l.node].Store(l)
}

// linkDown is called once when a link is lost or its node begins to stop; with
// lost, what is in flight over it waits for takenOver.
func (a *apiNode) linkDown(l *link, lost bool) {
	a.links[l.node].CompareAndSwap(l, nil)
	if !lost {
		return
	}
	a.alive[l.node].CompareAndSwap(l, nil)
	l.fail()
	a.records.each(func(rec *txRecord) { rec.onNodeLost(l.node) })
}

// takenOver is called when a surviving node says that all transactions that the
// lost node coordinated are decided: those that it has not named were rolled
// back.
func (a *apiNode) takenOver(node signal.NodeID) {
	a.endOrphans(node, func() *Error { return classify(4010) })
}

// verdictOverdue is called when nobody is left who could tell what became of
// the lost node's transactions, or nobody has told for too long.
func (a *apiNode) verdictOverdue(node signal.NodeID, code int) {
	a.endOrphans(node, func() *Error { return unknownOutcome(code, nil) })
}

func (a *apiNode) endOrphans(node signal.NodeID, err func() *Error) {
	a.records.each(func(rec *txRecord) {
		if rec.link.node == node {
			rec.onVerdictMissing(err())
		}
	})
}

// admission bounds how many transactions run at once. Those that wait are
// served in the order in which they came.
type admission struct {
	slots   chan struct{}
	waiting atomic.Int64
	maxWait int64
	closed  <-chan struct{} // the client's end
}

func newAdmission(slots, maxWait int, closed <-chan struct{}) *admission {
	return &admission{slots: make(chan struct{}, slots), maxWait: int64(maxWait), closed: closed}
}

// acquire waits for a slot until the context ends, or the client. Where too many
// wait already it refuses at once.
func (a *admission) acquire(ctx context.Context) error {
	select {
	case a.slots <- struct{}{}:
		return nil
	default:
	}
	if a.waiting.Add(1) > a.maxWait {
		a.waiting.Add(-1)
		return notSent(ErrQueueFull)
	}
	defer a.waiting.Add(-1)
	select {
	case a.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return notSent(ctx.Err())
	case <-a.closed:
		return notSent(ErrClosed)
	}
}

func (a *admission) release() { <-a.slots }

func (a *admission) inUse() int { return len(a.slots) }
