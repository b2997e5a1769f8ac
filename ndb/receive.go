package ndb

import (
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// receiveTC handles one signal of a transaction. It runs on the link's reader
// goroutine, and the record may belong to another link. Signals for records or
// transactions that are no more are dropped.
func (l *link) receiveTC(m *signal.Message) error {
	switch m.GSN {
	case signal.GSNTCKeyConf:
		return l.receiveKeyConf(m)
	case signal.GSNTransIDAI:
		var s signal.TransIDAI
		if err := s.Decode(m); err != nil {
			return err
		}
		l.receiveData(&s)
	case signal.GSNTCKeyRef, signal.GSNTCIndxRef:
		var s signal.TCKeyRef
		if err := s.Decode(m); err != nil {
			return err
		}
		l.withRecord(s.OpPointer, s.TransID, func(rec *txRecord) {
			rec.onRefused(operationOf(s.OpPointer), newError(s.Error, s.Detail))
		})
	case signal.GSNTCRollbackRep:
		var s signal.TCRollbackRep
		if err := s.Decode(m); err != nil {
			return err
		}
		l.rolledBack(&s)
	case signal.GSNTCCommitConf:
		var s signal.TCCommitConf
		if err := s.Decode(m); err != nil {
			return err
		}
		if s.Marker {
			l.acknowledge(m.Sender, s.TransID)
		}
		l.withRecord(s.Pointer, s.TransID, func(rec *txRecord) { rec.onCommitted(s.GCI) })
	case signal.GSNTCCommitRef:
		var s signal.TCCommitRef
		if err := s.Decode(m); err != nil {
			return err
		}
		l.withRecord(s.Pointer, s.TransID, func(rec *txRecord) { rec.onCommitRefused(newError(s.Error, 0)) })
	case signal.GSNTCRollbackConf:
		var s signal.TCRollbackConf
		if err := s.Decode(m); err != nil {
			return err
		}
		l.withRecord(s.Pointer, s.TransID, (*txRecord).onRollbackConfirmed)
	case signal.GSNTCRollbackRef:
		// It commits at this moment; the answer to that will come.
	default:
		return l.receiveTakeover(m)
	}
	return nil
}

// receiveTakeover handles what the node says that took over for a lost
// coordinator, and the seizing and releasing of records.
func (l *link) receiveTakeover(m *signal.Message) error {
	switch m.GSN {
	case signal.GSNTCKeyFailConf:
		var s signal.TCKeyFailConf
		if err := s.Decode(m); err != nil {
			return err
		}
		if s.Marker {
			l.acknowledge(m.Sender, s.TransID)
		}
		l.withRecord(s.OpPointer, s.TransID, func(rec *txRecord) { rec.onTakeover(nil) })
	case signal.GSNTCKeyFailRef:
		var s signal.TCKeyFailRef
		if err := s.Decode(m); err != nil {
			return err
		}
		l.withRecord(s.OpPointer, s.TransID, func(rec *txRecord) { rec.onTakeover(classify(4031)) })
	case signal.GSNTCSeizeConf:
		var s signal.TCSeizeConf
		if err := s.Decode(m); err != nil {
			return err
		}
		if rec := l.api.records.find(s.Pointer); rec != nil && rec.link == l {
			rec.onSeized(s.TC, s.TCPointer)
		}
	case signal.GSNTCSeizeRef:
		var s signal.TCSeizeRef
		if err := s.Decode(m); err != nil {
			return err
		}
		if rec := l.api.records.find(s.Pointer); rec != nil && rec.link == l {
			rec.onSeizeRefused(classify(int(s.Error)))
		}
	default:
		// Sent on the node's own account: nothing that we need to know.
	}
	return nil
}

func (l *link) receiveKeyConf(m *signal.Message) error {
	var s signal.TCKeyConf
	if err := s.Decode(m); err != nil {
		return err
	}
	if s.Committed && s.Marker {
		l.acknowledge(m.Sender, s.TransID)
	}
	pointer := s.Pointer
	if pointer == signal.RNIL && s.Len() > 0 {
		pointer, _ = s.Op(0)
	}
	l.withRecord(pointer, s.TransID, func(rec *txRecord) { rec.onKeyConf(&s) })
	return nil
}

// withRecord calls handle with the lock of the record held, where the record
// is still in that transaction.
func (l *link) withRecord(pointer uint32, id signal.TransID, handle func(*txRecord)) {
	rec := l.api.records.find(pointer)
	if rec == nil {
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.transID == id && (rec.phase == phaseExecuting || rec.phase == phaseEnding) {
		handle(rec)
	}
}

// rolledBack ends a transaction. It may have nothing in flight: a node failed,
// or it was idle for too long.
func (l *link) rolledBack(s *signal.TCRollbackRep) {
	rec := l.api.records.find(s.Pointer)
	if rec == nil {
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case rec.transID != s.TransID:
	case rec.phase == phaseOpen:
		rec.aborted = newError(s.Error, s.Detail)
	case rec.phase == phaseExecuting, rec.phase == phaseEnding:
		rec.onRolledBack(newError(s.Error, s.Detail))
	}
}

// acknowledge lets the coordinator forget a commit: without it, the data nodes
// run out of markers. It goes to the block that sent the answer, whatever has
// become of the record.
func (l *link) acknowledge(sender signal.Block, id signal.TransID) {
	tc, err := signal.NewTCRef(signal.NewBlockRef(sender, l.node))
	if err == nil {
		err = transporter.Send(l.conn, signal.BlockAPI, &signal.TCCommitAck{TC: tc, TransID: id})
	}
	if err != nil {
		l.conn.Fail(err) // The markers go with the link.
	}
}

func (rec *txRecord) onSeized(tc signal.TCRef, tcPointer uint32) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase == phaseSeizing {
		rec.tc, rec.tcPointer = tc, tcPointer
		rec.finish(phaseFree)
	}
}

func (rec *txRecord) onSeizeRefused(err *Error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase != phaseSeizing {
		return
	}
	if rec.abandoned {
		rec.link.discard(rec)
		return
	}
	rec.err = err
	rec.finish(phaseFree)
}

// All that follow are called with the record's lock held.

func (rec *txRecord) onKeyConf(s *signal.TCKeyConf) {
	for i := range s.Len() {
		pointer, length := s.Op(i)
		n := operationOf(pointer)
		if n >= len(rec.ops) {
			continue
		}
		st := &rec.ops[n]
		st.confirmed = true
		if node, ok := signal.ReadNode(length); ok {
			st.readNode = node
			if !st.answered && !st.refused && !rec.link.api.isConnected(node) {
				rec.refuse(st, classify(4119))
			}
		} else {
			st.wantWords = length
		}
		rec.check(st)
	}
	if s.Committed {
		rec.committed, rec.gci = true, s.GCI
	}
	rec.checkBatch()
}

func (rec *txRecord) onData(n int, attributes []byte) {
	if n >= len(rec.ops) {
		return
	}
	st := &rec.ops[n]
	if st.op != nil && st.op.row != nil {
		st.op.row.receive(attributes)
	}
	st.answered = true
	st.gotWords += uint32(len(attributes) / wordBytes)
	rec.check(st)
	rec.checkBatch()
}

func (rec *txRecord) onRefused(n int, err *Error) {
	if n >= len(rec.ops) {
		return
	}
	st := &rec.ops[n]
	rec.refuse(st, err)
	rec.check(st)
	rec.checkBatch()
}

func (rec *txRecord) refuse(st *opState, err *Error) {
	st.refused = true
	if st.op != nil {
		st.op.err = err
	}
}

// check counts an operation once it is complete.
func (rec *txRecord) check(st *opState) {
	var complete bool
	switch {
	case st.dirty:
		// TCKEYCONF and the row, or its refusal, come apart and in any order.
		complete = st.confirmed && (st.answered || st.refused)
	case st.refused:
		complete = true
	default:
		complete = st.confirmed && st.gotWords >= st.wantWords
	}
	if complete && !st.complete {
		st.complete = true
		rec.waiting--
	}
}

func (rec *txRecord) checkBatch() {
	if rec.phase != phaseExecuting || rec.waiting > 0 || rec.commit && !rec.committed {
		return
	}
	if rec.commit {
		rec.finish(phaseFree)
		return
	}
	rec.finish(phaseOpen)
}

// onRolledBack ends the transaction: nothing of it was done.
func (rec *txRecord) onRolledBack(err *Error) {
	rec.err = err
	rec.finish(phaseFree)
}

func (rec *txRecord) onRollbackConfirmed() {
	if rec.phase == phaseEnding && !rec.commit || rec.abandoned {
		rec.finish(phaseFree)
	}
}

func (rec *txRecord) onCommitted(gci uint64) {
	rec.committed, rec.gci = true, gci
	rec.finish(phaseFree)
}

func (rec *txRecord) onCommitRefused(err *Error) {
	rec.err = err
	rec.finish(phaseOpen) // A rollback, by the owner or by itself, leaves the record clean.
}

// orphan is called when the link of the record is lost. What is in flight
// waits for the node that takes over.
func (rec *txRecord) orphan() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.orphaned = true
	switch rec.phase {
	case phaseSeizing:
		rec.err = notSent(ErrNoNode)
		rec.finish(phaseFree)
	case phaseEnding:
		if !rec.commit {
			rec.finish(phaseFree) // The rollback happens without us.
		}
	case phaseExecuting:
		if !rec.commit || !rec.writes {
			// Nothing of it can have been committed.
			rec.err = classify(4010)
			rec.finish(phaseFree)
		}
	case phaseScanning:
		rec.scan.onLinkLost()
	case phaseFree, phaseOpen:
		// Its owner finds out at the next step.
	}
}

// onTakeover is the verdict on a transaction whose coordinator was lost: nil
// means committed.
func (rec *txRecord) onTakeover(err *Error) {
	if err == nil {
		rec.committed, rec.gci = true, uint64(UnknownGCI)
		for i := range rec.ops {
			if st := &rec.ops[i]; st.reads && !st.complete {
				err = classify(4115)
			}
		}
	}
	rec.err = err
	rec.finish(phaseFree)
}

// onNodeLost ends what can only come from a node that is no more.
func (rec *txRecord) onNodeLost(node signal.NodeID) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase == phaseScanning {
		rec.scan.onNodeLost()
	}
	if rec.phase != phaseExecuting {
		return
	}
	for i := range rec.ops {
		st := &rec.ops[i]
		if st.readNode == node && !st.answered && !st.refused {
			rec.refuse(st, classify(4119))
			rec.check(st)
		}
	}
	rec.checkBatch()
}

// onVerdictMissing ends an orphaned transaction of which the survivors have
// said nothing: by the rules of the take-over it was rolled back, or with
// nobody left to tell its outcome is unknown.
func (rec *txRecord) onVerdictMissing(err *Error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if !rec.orphaned || rec.phase != phaseExecuting && rec.phase != phaseEnding {
		return
	}
	if rec.committed {
		err = classify(4115) // The coordinator had told that; only a row has not come.
	}
	rec.err = err
	rec.finish(phaseFree)
}
