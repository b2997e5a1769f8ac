package ndbtest

import (
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is the global checkpoints of DBDIH:
//
//   - a commit belongs to the epoch that is open: its GCI has the checkpoint in
//     the high half and the epoch within in the low half;
//   - WAIT_GCP_REQ is answered with WAIT_GCP_CONF when the checkpoint ends that
//     was open when it came; a data node that is not the master has room for 10,
//     refuses more with error 2, and all with error 1 when the master is lost;
//   - when all data nodes are lost at once, so are the commits of the checkpoint
//     that was open.

const (
	firstCheckpoint = 10
	maxWaiters      = 10 // of a node that is not the master
)

// checkpoints is the state of them. Guarded by Cluster.mu.
type checkpoints struct {
	gci  uint64 // of the epoch that is open
	undo []undoEntry
}

// undoEntry is what a row was before a commit that is not on disk yet.
type undoEntry struct {
	row *rowEntry
	old *version
}

type gcpWaiter struct {
	link      *link
	receiver  signal.Block
	requestID uint32
}

func (e *checkpoints) begin() { e.gci = firstCheckpoint << 32 }

func (c *Cluster) endEpoch() { c.epochs.gci++ }

// endCheckpoint ends the checkpoint that is open, and tells those who wait.
func (c *Cluster) endCheckpoint() {
	complete := c.epochs.gci >> 32 << 32
	c.epochs.gci = complete + 1<<32
	c.epochs.undo = nil
	for _, n := range c.nodes {
		waiters := n.waiters
		n.waiters = nil
		for _, w := range waiters {
			w.link.send(signal.BlockDBDIH, w.receiver, &signal.WaitGCPConf{RequestID: w.requestID, GCI: complete})
		}
	}
}

// Checkpoint ends the global checkpoint that is open: all commits so far are on
// disk.
func (c *Cluster) Checkpoint() { c.do(c.endCheckpoint) }

func (l *link) onWaitGCPReq(m *signal.Message) {
	var req signal.WaitGCPReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	w := gcpWaiter{l, req.Ref.Block(), req.RequestID}
	if !l.node.isMaster() && len(l.node.waiters) == maxWaiters {
		w.refuse(signal.WaitGCPTooMany)
		return
	}
	l.node.waiters = append(l.node.waiters, w)
}

func (w *gcpWaiter) refuse(code uint32) {
	w.link.send(signal.BlockDBDIH, w.receiver, &signal.WaitGCPRef{Error: code, RequestID: w.requestID})
}

// masterLost is called where the master has gone: it had all requests.
func (c *Cluster) masterLost() {
	for _, n := range c.nodes {
		for _, w := range n.waiters {
			w.refuse(signal.WaitGCPNoMaster)
		}
		n.waiters = nil
	}
}

func (n *dataNode) dropWaiters(l *link) {
	n.waiters = slices.DeleteFunc(n.waiters, func(w gcpWaiter) bool { return w.link == l })
}

// remember notes what a row was before it is committed.
func (c *Cluster) remember(r *rowEntry) {
	c.epochs.undo = append(c.epochs.undo, undoEntry{r, r.committed})
}

// loseOpenCheckpoint undoes the commits that are not on disk.
func (c *Cluster) loseOpenCheckpoint() {
	for _, u := range slices.Backward(c.epochs.undo) {
		if u.row.table.dropped {
			continue
		}
		u.row.restore(u.old)
	}
	c.epochs.undo = nil
}
