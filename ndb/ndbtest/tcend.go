package ndbtest

import (
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is how transactions end without an operation, and how the cluster
// forgets them:
//
//   - TC_COMMITREQ commits, unless operations are in flight (238) or the record
//     scans (276); after an abort it repeats the abort's error;
//   - TCROLLBACKREQ rolls back, again and after an abort too; 232 while the
//     record scans;
//   - with another transaction id than the record's neither has an answer;
//   - TC_HBREP keeps a transaction from its inactivity timeout;
//   - TC_COMMIT_ACK removes the marker of a commit. One that is late when the
//     next transaction starts on the same record, or when the link ends, is
//     reported.

const (
	codeInFlight       = 238
	codeScanCommits    = 276
	codeRollbackDenied = 232
)

func (l *link) onTCCommitReq(m *signal.Message) {
	var req signal.TCCommitReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	rec := l.record(m)
	if rec == nil {
		return
	}
	refuse := func(code uint32) {
		rec.send(&signal.TCCommitRef{Pointer: rec.apiPointer, TransID: req.TransID, Error: code})
	}
	tx := rec.tx
	switch {
	case tx == nil && rec.last == req.TransID && rec.error != 0:
		rec.told = true
		refuse(rec.error)
	case rec.scan != nil && rec.scan.id == req.TransID:
		refuse(codeScanCommits)
	case tx == nil || tx.id != req.TransID:
	case tx.inFlight > 0:
		refuse(codeInFlight)
	default:
		if code := tx.cluster.refusal(l, "commit", nil); code != 0 {
			tx.abort()
			rec.error, rec.told = code, true
			refuse(code)
			return
		}
		if tx.commit() {
			conf := signal.TCCommitConf{Pointer: rec.apiPointer, Marker: tx.wrote, TransID: tx.id, GCI: tx.gci}
			rec.link.enqueue(&outgoing{message: toMessage(rec.tc.block(), rec.apiBlock, &conf), marker: rec.owes})
		}
	}
}

func (l *link) onTCRollbackReq(m *signal.Message) {
	var req signal.TCRollbackReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	rec := l.record(m)
	if rec == nil {
		return
	}
	switch {
	case rec.scan != nil && rec.scan.id == req.TransID:
		rec.send(&signal.TCRollbackRef{Pointer: rec.apiPointer, TransID: req.TransID, Error: codeRollbackDenied})
		return
	case rec.tx != nil && rec.tx.id == req.TransID:
		rec.tx.abort()
	case rec.tx != nil || rec.last != req.TransID:
		return
	}
	rec.told = true
	rec.send(&signal.TCRollbackConf{Pointer: rec.apiPointer, TransID: req.TransID})
}

func (l *link) onTCHbRep(m *signal.Message) {
	var req signal.TCHbRep
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	if rec := l.record(m); rec != nil && rec.tx != nil && rec.tx.id == req.TransID {
		rec.tx.touch()
	}
}

// marker is what the data nodes keep of a commit until it is acknowledged.
// Guarded by Cluster.mu.
type marker struct {
	id        signal.TransID
	api       *apiNode
	node      *dataNode    // which coordinated it, or took over
	block     signal.Block // of the coordinator
	apiBlock  signal.Block
	opPointer uint32 // of one of its operations
	since     time.Time
	rec       *tcRecord   // nil once that is lost
	told      atomic.Bool // the commit, to the API node: a hook may have kept it back; not guarded
}

// mark keeps a marker for a commit that has written.
func (c *Cluster) mark(tx *tcTransaction) {
	rec := tx.rec
	mk := &marker{
		id: tx.id, api: rec.link.api, node: rec.link.node, block: rec.tc.block(), apiBlock: rec.apiBlock,
		opPointer: tx.anyPointer, since: time.Now(), rec: rec,
	}
	c.markers[tx.id] = mk
	rec.owes = mk
}

func (l *link) onTCCommitAck(m *signal.Message) {
	var ack signal.TCCommitAck
	if err := ack.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	mk := l.node.cluster.markers[ack.TransID]
	if mk == nil || mk.api != l.api {
		return
	}
	if mk.node != l.node || mk.block != m.Receiver {
		l.violates(m.GSN, "TC_COMMIT_ACK goes to the block that told of the commit", effectMarkers,
			"transaction %x: to %#x of node %d, not %#x of node %d", ack.TransID, uint16(m.Receiver), l.node.id, uint16(mk.block), mk.node.id)
		return
	}
	l.node.cluster.forget(mk)
}

func (c *Cluster) forget(mk *marker) {
	delete(c.markers, mk.id)
	if mk.rec != nil && mk.rec.owes == mk {
		mk.rec.owes = nil
	}
}

const everyCommitAcknowledged = "every commit that has a marker is acknowledged"

// overdue reports that a record is used again before its commit was
// acknowledged.
func (mk *marker) overdue(rec *tcRecord) {
	c := rec.link.node.cluster
	rec.owes = nil
	if !mk.told.Load() {
		return
	}
	c.violate(&Violation{
		APINode: int(mk.api.id), Node: int(mk.node.id), Signal: signal.GSNTCKeyReq.String(),
		Rule: everyCommitAcknowledged, Effect: effectMarkers,
		Detail: "the next transaction began before TC_COMMIT_ACK",
	})
}

// lateAck is how long after a commit its acknowledgement is missing for sure,
// where the API node lives: one that was halted had no time for it.
const lateAck = time.Second

// checkMarkers reports commits that were never acknowledged.
func (c *Cluster) checkMarkers() {
	for _, mk := range c.markers {
		if mk.node == nil {
			continue
		}
		if l := mk.api.links[mk.node.id]; l != nil && l.heard.Sub(mk.since) > lateAck {
			c.reportMissing(mk)
		}
	}
}

func (c *Cluster) reportMissing(mk *marker) {
	if !mk.told.Load() {
		return
	}
	c.violate(&Violation{
		APINode: int(mk.api.id), Node: int(mk.node.id), Signal: signal.GSNTCCommitAck.String() + " is missing",
		Rule: everyCommitAcknowledged, Effect: effectMarkers,
	})
}

// dropMarkers forgets the commits that were told over a link that is lost.
func (c *Cluster) dropMarkers(l *link) {
	for _, mk := range c.markers {
		if mk.api != l.api || mk.node != l.node {
			continue
		}
		if l.node.alive() && l.heard.Sub(mk.since) > lateAck {
			c.reportMissing(mk)
		}
		c.forget(mk)
	}
}

// transIDOf reads the transaction id of a signal that has it in these words.
func transIDOf(m *signal.Message, i int) signal.TransID {
	if len(m.Data) < (i+2)*word.SizeBytes {
		return signal.TransID{}
	}
	return signal.TransID{Low: word.At(m.Data, i), High: word.At(m.Data, i+1)}
}
