package ndb

import (
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

const (
	// verdictTimeout is how long the transactions of a lost coordinator wait for
	// what the survivors have to say. They usually say it within half a second.
	verdictTimeout = 10 * time.Second

	// suspicionTimeout is how long a lost link waits for a survivor to say that
	// the node has failed. After it only the link was lost. The data nodes keep
	// such a link closed for 3 s in any case.
	suspicionTimeout = 3 * time.Second

	// mourningTimeout is how long a node that has failed waits for the survivors
	// to complete what that asks for, before it is dialled anyway.
	mourningTimeout = 30 * time.Second
)

// Codes of transactions whose outcome nobody can tell.
const (
	codeNoVerdict   = 4008 // survivors did not say
	codeClusterLost = 4009 // there are none
	codeClosed      = 4012 // this client did not wait for it
)

// takeovers tells, for the data nodes of an API node whose link is lost, when
// the transactions that they coordinated are decided, and when they may be
// dialled again. The readers of the survivors' links bring the news.
//
// A verdict needs the word of every survivor: what one of them says about a
// transaction travels on another connection than what the next one says about
// all of them.
type takeovers struct {
	mu    sync.Mutex // guards all below; nothing else is locked with it held
	alive signal.NodeSet
	nodes map[signal.NodeID]*takeover
}

// takeover is about one data node, from one connection until the next.
type takeover struct {
	failed    bool           // a survivor says that the node has failed
	completed bool           // a survivor says that all is done and the node may return
	decided   signal.NodeSet // survivors that say that its transactions are decided
	lost      bool           // the link is lost
	lostAt    time.Time
	pending   bool           // transactions may wait for their verdict
	awaited   signal.NodeSet // survivors that have not said that they are decided
	doubt     bool           // one of them was lost before
}

// verdict is what the transactions of a lost node get: with code 0 those that
// the survivors have not named were rolled back, else nobody can tell.
type verdict struct {
	node signal.NodeID
	code int
}

func newTakeovers(nodes []*dataNode) *takeovers {
	t := &takeovers{nodes: map[signal.NodeID]*takeover{}}
	for _, n := range nodes {
		t.nodes[n.id] = &takeover{}
	}
	return t
}

// connected begins a new connection to a node. What is still undecided of the
// last one will stay so.
func (t *takeovers) connected(node signal.NodeID) []verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.nodes[node]
	t.nodes[node] = &takeover{}
	if old.pending {
		return []verdict{{node, codeNoVerdict}}
	}
	return nil
}

// up makes a node one that can speak for others.
func (t *takeovers) up(node signal.NodeID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alive.Add(node)
}

// lose ends the connection to a node that was up.
func (t *takeovers) lose(node signal.NodeID, now time.Time) []verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alive = without(t.alive, node)
	own := t.nodes[node]
	own.lost, own.lostAt, own.pending = true, now, true
	own.awaited = t.alive
	for reporter := range own.decided.All() {
		own.awaited = without(own.awaited, reporter)
	}
	for _, other := range t.nodes {
		if other.pending && other.awaited.Has(node) {
			other.awaited = without(other.awaited, node)
			other.doubt = true
		}
	}
	return t.verdicts()
}

// verdicts takes the transactions off that are decided, or never will be. The
// caller holds mu.
func (t *takeovers) verdicts() []verdict {
	var all []verdict
	for node, to := range t.nodes {
		if !to.pending || to.awaited.Len() > 0 {
			continue
		}
		to.pending = false
		switch {
		case t.alive.Len() == 0:
			all = append(all, verdict{node, codeClusterLost})
		case to.doubt:
			all = append(all, verdict{node, codeNoVerdict})
		default:
			all = append(all, verdict{node, 0})
		}
	}
	return all
}

// overdue takes the transactions off that have waited for too long.
func (t *takeovers) overdue(node signal.NodeID, now time.Time) []verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.nodes[node]
	if !to.pending || now.Sub(to.lostAt) < verdictTimeout {
		return nil
	}
	to.pending = false
	return []verdict{{node, codeNoVerdict}}
}

// verdictDue is when overdue will have something; the zero time means never.
func (t *takeovers) verdictDue(node signal.NodeID) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to := t.nodes[node]; to.pending {
		return to.lostAt.Add(verdictTimeout)
	}
	return time.Time{}
}

// reportFailed is called when a survivor says that a node has failed. It tells
// whether there is such a data node.
func (t *takeovers) reportFailed(node signal.NodeID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	to, known := t.nodes[node]
	if known {
		to.failed = true
	}
	return known
}

// reportDecided is called when a survivor says that all transactions of a node
// are decided; with completed, that the node may return.
func (t *takeovers) reportDecided(reporter, node signal.NodeID, completed bool) ([]verdict, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	to, known := t.nodes[node]
	if !known || reporter == node {
		return nil, false
	}
	to.failed = true
	to.completed = to.completed || completed
	to.decided.Add(reporter)
	to.awaited = without(to.awaited, reporter)
	return t.verdicts(), true
}

// hasFailed tells whether a survivor has said so since the node was connected
// to.
func (t *takeovers) hasFailed(node signal.NodeID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[node].failed
}

// mayDialAt is when a node may be dialled unless there is news before. A time
// that is not after now means now.
func (t *takeovers) mayDialAt(node signal.NodeID) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.nodes[node]
	switch {
	case !to.lost || to.completed || t.alive.Len() == 0:
		return time.Time{}
	case to.failed:
		return to.lostAt.Add(mourningTimeout)
	default:
		return to.lostAt.Add(suspicionTimeout)
	}
}

func without(s signal.NodeSet, n signal.NodeID) signal.NodeSet {
	var rest signal.NodeSet
	for other := range s.All() {
		if other != n {
			rest.Add(other)
		}
	}
	return rest
}
