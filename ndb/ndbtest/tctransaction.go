package ndbtest

import (
	"bytes"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is the life of a transaction at its coordinator:
//
//   - operations that are done are confirmed up to three at a time, committed
//     reads one by one; the data come from the node that has the row, over its
//     own link;
//   - operations by a unique index are done after the others of their batch;
//   - a failed committed read is refused by the row's node besides;
//   - another failure aborts the transaction (TCROLLBACKREP), or with the option
//     to ignore errors is the operation's alone (TCKEYREF, or TCINDXREF);
//   - a commit that was asked for happens when all operations are done, and is
//     told with the last confirmation, even where all of them failed;
//   - a commit that has written leaves a marker until TC_COMMIT_ACK;
//   - lock waits that take too long abort the transaction with 266.

const (
	confirmedTogether = 3
	uncommittedMarker = 1 << 17 // of TCKEYCONF's count: set, with no meaning, while a writing transaction is open
	keyConfCountWord  = 2
	simpleReadDetail  = 2 // of TCKEYREF for a committed read
	rowInstance       = 1 // of DBLQH and DBTUP
	blockDBLQH        = 0xf7
	blockDBTUP        = 0xf9
)

// tcTransaction is an open transaction. Guarded by Cluster.mu.
type tcTransaction struct {
	txn
	rec        *tcRecord
	ops        int      // so far
	inFlight   int      // operations that wait for a lock
	executed   bool     // the batch has come to its end
	batchEnds  bool     // with the last operation that came
	commits    bool     // which asks for the commit
	indexed    []*rowOp // of the batch, by a unique index: they come last
	locks      bool     // some operation has locked or written
	confirmed  []conf   // not told yet
	anyPointer uint32   // of one of its operations
	idle       *timer
	nodes      map[*dataNode]bool // that take part
}

type conf struct {
	pointer, length uint32
	single          bool // told by itself
}

func newTransaction(rec *tcRecord, id signal.TransID) *tcTransaction {
	tx := &tcTransaction{rec: rec, txn: txn{cluster: rec.link.node.cluster, id: id}, nodes: map[*dataNode]bool{}}
	tx.kill = func(code uint32) { tx.abortWith(code, 0) }
	return tx
}

// touch restarts the time that a transaction may idle.
func (tx *tcTransaction) touch() {
	if tx.idle != nil {
		tx.idle.stop()
	}
	if tx.cluster.opt.inactive == 0 {
		return
	}
	tx.idle = tx.cluster.after(tx.cluster.opt.inactive, func() {
		if tx.inFlight > 0 {
			tx.touch()
			return
		}
		rec := tx.rec
		tx.abort()
		rec.error, rec.told = codeLockTimeout, false // the next operation learns of it
	})
}

// start runs an operation, or ends it where it has failed already. One by a
// unique index comes to its row behind all others of its batch, as the index has
// to be looked at first.
func (tx *tcTransaction) start(req *signal.TCKeyReq, op *rowOp) {
	tx.inFlight++
	op.done = func() { tx.done(req, op) }
	switch {
	case op.failed != nil:
		op.done()
	case op.index != nil:
		tx.indexed = append(tx.indexed, op)
		op.keep()
	default:
		op.run()
		if !op.finished {
			op.keep()
		}
	}
	if !tx.executed {
		return
	}
	indexed := tx.indexed
	tx.indexed = nil
	for _, op := range indexed {
		op.run()
	}
}

// keep copies what is of the message, which is gone when the operation goes on.
func (op *rowOp) keep() {
	op.keyInfo, op.attrInfo = bytes.Clone(op.keyInfo), bytes.Clone(op.attrInfo)
}

// done is called when an operation is.
func (tx *tcTransaction) done(req *signal.TCKeyReq, op *rowOp) {
	tx.inFlight--
	serving := tx.servingNode(op)
	dirty := op.lock == lockNone
	if !dirty && op.failed == nil {
		tx.locks = tx.locks || !op.simple
		tx.join(op)
	}
	switch {
	case dirty:
		tx.answerCommittedRead(req, op, serving)
	case op.failed != nil && (op.failed.aborts || req.Flags&signal.FlagIgnoreError == 0):
		tx.abortWith(op.failed.code, op.failed.detail)
		return
	case op.failed != nil:
		tx.rec.send(&signal.TCKeyRef{
			UniqueIndex: req.UniqueIndex, OpPointer: req.OpPointer, TransID: tx.id,
			Error: op.failed.code, Detail: op.failed.detail,
		})
	default:
		if len(op.answer) > 0 {
			tx.sendRow(req.OpPointer, op.answer, serving)
		}
		tx.confirm(conf{pointer: req.OpPointer, length: uint32(len(op.answer) / word.SizeBytes)})
	}
	tx.proceed()
}

// answerCommittedRead: the row comes from the node that has it, which says also
// where there is none. Without columns nothing comes at all.
func (tx *tcTransaction) answerCommittedRead(req *signal.TCKeyReq, op *rowOp, serving *dataNode) {
	tx.confirm(conf{req.OpPointer, signal.CommittedReadLength(serving.id), true})
	if op.failed == nil {
		if len(op.answer) > 0 {
			tx.sendRow(req.OpPointer, op.answer, serving)
		}
		return
	}
	ref := signal.TCKeyRef{OpPointer: req.OpPointer, TransID: tx.id, Error: op.failed.code, Detail: simpleReadDetail}
	tx.linkTo(serving).send(signal.Block(blockDBLQH).WithInstance(rowInstance), tx.rec.apiBlock, &ref)
}

func (tx *tcTransaction) sendRow(pointer uint32, words []byte, serving *dataNode) {
	ai := signal.TransIDAI{Pointer: pointer, TransID: tx.id, Attributes: words}
	tx.linkTo(serving).send(signal.Block(blockDBTUP).WithInstance(rowInstance), tx.rec.apiBlock, &ai)
}

// linkTo is the API node's link to a data node, or where it has none, that to
// the coordinator.
func (tx *tcTransaction) linkTo(n *dataNode) *link {
	if l := tx.rec.link.api.links[n.id]; l != nil && l.registered {
		return l
	}
	return tx.rec.link
}

// servingNode is the node that reads a row: for committed reads of tables with
// read backup the coordinator's where it has a replica, else the primary's.
func (tx *tcTransaction) servingNode(op *rowOp) *dataNode {
	own := tx.rec.link.node
	replicas := op.replicas()
	if op.table.desc.ReadBackup && op.lock != lockExclusive && (op.lock == lockNone || op.simple) {
		for _, id := range replicas {
			if id == own.id {
				return own
			}
		}
	}
	if n := tx.cluster.primary(replicas); n != nil {
		return n
	}
	return own
}

func (op *rowOp) replicas() []signal.NodeID {
	if op.row != nil {
		return op.row.fragment.replicas
	}
	return op.table.fragmentOf(op.keyInfo).replicas
}

// join notes the nodes that take part: for a write all that have the row, for a
// locking read the primary's.
func (tx *tcTransaction) join(op *rowOp) {
	replicas := op.replicas()
	if op.reads() {
		if n := tx.cluster.primary(replicas); n != nil {
			tx.nodes[n] = true
		}
		return
	}
	for _, id := range replicas {
		if n := tx.cluster.node(int(id)); n.started() {
			tx.nodes[n] = true
		}
	}
}

func (tx *tcTransaction) confirm(c conf) {
	if len(tx.confirmed) == confirmedTogether || len(tx.confirmed) > 0 && (c.single || tx.confirmed[0].single) {
		tx.tell(false)
	}
	tx.confirmed = append(tx.confirmed, c)
}

// proceed commits, or tells what is done, when nothing waits any more.
func (tx *tcTransaction) proceed() {
	if !tx.executed || tx.inFlight > 0 {
		return
	}
	tx.executed = false
	if tx.commits {
		if code := tx.cluster.refusal(tx.rec.link, "commit", nil); code != 0 {
			tx.abortWith(code, 0)
		} else if tx.commit() {
			tx.tell(true)
		}
		return
	}
	if len(tx.confirmed) > 0 {
		tx.tell(false)
	}
}

// tell sends TCKEYCONF for what is confirmed.
func (tx *tcTransaction) tell(committed bool) {
	s := signal.TCKeyConf{Pointer: tx.rec.apiPointer, TransID: tx.id, Committed: committed}
	if committed {
		s.GCI, s.Marker = tx.gci, tx.wrote
	}
	for _, c := range tx.confirmed {
		s.AddOp(c.pointer, c.length)
	}
	tx.confirmed = tx.confirmed[:0]
	m := toMessage(tx.rec.tc.block(), tx.rec.apiBlock, &s)
	if !committed && len(tx.changes) > 0 {
		word.Put(m.Data, keyConfCountWord, word.At(m.Data, keyConfCountWord)|uncommittedMarker)
	}
	o := &outgoing{message: m}
	if committed {
		o.marker = tx.rec.owes
	}
	tx.rec.link.enqueue(o)
}

// commit ends the transaction. It is false where the node dies of it.
func (tx *tcTransaction) commit() bool {
	tx.wrote = len(tx.changes) > 0
	n := tx.rec.link.node
	if tx.wrote && n.diesAt(BeforeCommit) {
		return false
	}
	if tx.locks || tx.wrote {
		tx.gci = tx.cluster.epochs.gci
	}
	if tx.wrote {
		tx.cluster.mark(tx)
	}
	tx.txn.commit(tx.gci)
	tx.close(0)
	return !tx.wrote || !n.diesAt(AfterCommit)
}

// abort ends the transaction without telling.
func (tx *tcTransaction) abort() {
	tx.txn.abort()
	tx.close(0)
}

// abortWith ends the transaction and tells why.
func (tx *tcTransaction) abortWith(code, detail uint32) {
	tx.txn.abort()
	tx.close(code)
	tx.rec.told = true
	tx.rec.send(&signal.TCRollbackRep{Pointer: tx.rec.apiPointer, TransID: tx.id, Error: code, Detail: detail})
}

func (tx *tcTransaction) close(code uint32) {
	if tx.idle != nil {
		tx.idle.stop()
	}
	tx.cluster.dropLive(tx.id, func(l *liveTransaction) { l.main = nil })
	tx.rec.tx, tx.rec.last, tx.rec.error = nil, tx.id, code
}
