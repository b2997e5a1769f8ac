package ndbtest

import (
	"bytes"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is TCKEYREQ and TCINDXREQ, up to the operation on the row:
//
//   - some of them stop a data node: a commit without execute, a table id beyond
//     the pool or of an ordered index, a missing key section, a transaction id
//     that is in use elsewhere;
//   - on a record with an open transaction, another transaction id or a second
//     start has the API node dropped;
//   - without a start, on a record that has no transaction: 202; what belongs to
//     a transaction that was aborted meanwhile is passed over;
//   - 280 and 281 while the node or the cluster shuts down, 299 in the single
//     user mode of another API node;
//   - unknown table 284, other major version 241, empty key 208, too many
//     operations 261: all abort the transaction whatever the abort option;
//   - an operation through a unique index locks the index's row with it.

const (
	codeNoStart        = 202
	codeEmptyKey       = 208
	codeOtherVersion   = 241
	codeTooManyOps     = 261
	codeNoSuchTable    = 284
	codeSingleUserMode = 299
)

// Words of TCKEYREQ.
const (
	keyReqTableWord = 3
	keyReqInfoWord  = 4
	keyReqWords     = 8
)

func (l *link) onTCKeyReq(m *signal.Message) {
	if !l.survives(m) {
		return
	}
	req := &signal.TCKeyReq{}
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	rec := l.record(m)
	if rec == nil {
		return // no answer, ever
	}
	tx, ok := rec.transaction(req)
	if !ok {
		return
	}
	tx.receive(m, req)
}

// survives checks what a data node does not.
func (l *link) survives(m *signal.Message) bool {
	violated := func(rule string, format string, args ...any) bool {
		l.violates(m.GSN, rule, effectStops, format, args...)
		return false
	}
	if len(m.Data) < keyReqWords*word.SizeBytes {
		return violated("TCKEYREQ has its words", "%d bytes", len(m.Data))
	}
	tableID, flags := word.At(m.Data, keyReqTableWord), signal.KeyFlags(word.At(m.Data, keyReqInfoWord))
	switch {
	case flags&signal.FlagCommit != 0 && flags&signal.FlagExecute == 0:
		return violated("a commit comes with execute", "request info %#x", uint32(flags))
	case tableID >= maxTableID:
		return violated("table ids are of the dictionary", "id %d", tableID)
	case l.node.cluster.dictionary.ordered[tableID] != nil:
		return violated("key operations are not for ordered indexes", "id %d", tableID)
	case m.NumSections == 0:
		return violated("a key operation has a key section", "table id %d", tableID)
	}
	return true
}

// transaction returns the transaction that an operation belongs to, and starts
// it where that is asked for. It is not ok for an operation that was answered,
// or must not be.
func (rec *tcRecord) transaction(req *signal.TCKeyReq) (*tcTransaction, bool) {
	c, start := rec.link.node.cluster, req.Flags&signal.FlagStart != 0
	switch {
	case rec.tx != nil && (start || rec.tx.id != req.TransID):
		rec.link.violates(signal.GSNTCKeyReq, "a record has one transaction at a time", effectEjected,
			"transaction %x on a record with %x open, start %t", req.TransID, rec.tx.id, start)
		return nil, false
	case rec.tx != nil:
		return rec.tx, true
	case rec.scan != nil:
		rec.refuse(req.TransID, codeNoStart)
		return nil, false
	case !start && rec.last == req.TransID && rec.error != 0:
		if !rec.told {
			rec.told = true
			rec.refuse(req.TransID, rec.error)
		}
		return nil, false // of a transaction that was aborted
	case !start:
		rec.refuse(req.TransID, codeNoStart)
		return nil, false
	}
	if !rec.mayStart(req.TransID) {
		return nil, false
	}
	rec.last, rec.error, rec.told = req.TransID, 0, false
	n := rec.link.node
	switch {
	case n.level >= signal.StartLevelStopping1:
		rec.refuse(req.TransID, n.stoppingCode())
		return nil, false
	case c.singleUser != nil && c.singleUser != rec.link.api:
		rec.refuse(req.TransID, codeSingleUserMode)
		return nil, false
	}
	rec.tx = newTransaction(rec, req.TransID)
	c.addLive(req.TransID, func(l *liveTransaction) { l.main = rec })
	return rec.tx, true
}

// mayStart checks that a transaction id is not in use.
func (rec *tcRecord) mayStart(id signal.TransID) bool {
	c := rec.link.node.cluster
	switch {
	case c.live[id] != nil && (c.live[id].main != nil || c.live[id].buddy != rec):
		rec.link.violates(signal.GSNTCKeyReq, transIDsAreUnique, effectStops, "%x is open", id)
		return false
	case c.markers[id] != nil:
		rec.link.violates(signal.GSNTCKeyReq, transIDsAreUnique, effectStops, "%x is not acknowledged", id)
		return false
	case rec.owes != nil:
		rec.owes.overdue(rec)
	}
	return true
}

// refuse answers an operation of a transaction that is not open.
func (rec *tcRecord) refuse(id signal.TransID, code uint32) {
	if rec.last == id {
		rec.error, rec.told = code, true
	}
	rec.send(&signal.TCRollbackRep{Pointer: rec.apiPointer, TransID: id, Error: code})
}

// receive takes an operation of an open transaction.
func (tx *tcTransaction) receive(m *signal.Message, req *signal.TCKeyReq) {
	c := tx.rec.link.node.cluster
	tx.touch()
	tx.ops++
	tx.anyPointer = req.OpPointer
	if tx.batchEnds {
		tx.batch++
	}
	tx.executed = req.Flags&signal.FlagExecute != 0
	tx.batchEnds = tx.executed
	tx.commits = req.Flags&signal.FlagCommit != 0
	t := c.dictionary.tables[req.TableID]
	switch {
	case len(m.Sections[0]) == 0:
		tx.abortWith(codeEmptyKey, 0)
	case t == nil || req.UniqueIndex && t.base == nil:
		tx.abortWith(codeNoSuchTable, 0)
	case dictinfo.MajorVersion(t.desc.Version) != dictinfo.MajorVersion(req.TableVersion):
		tx.abortWith(codeOtherVersion, 0)
	case tx.ops > c.opt.maxOperations:
		tx.abortWith(codeTooManyOps, 0)
	default:
		tx.start(req, tx.operation(m, req, t))
	}
}

// operation is what req asks for, with the failure in place where a test wants
// one.
func (tx *tcTransaction) operation(m *signal.Message, req *signal.TCKeyReq, t *table) *rowOp {
	op := &rowOp{
		txn: &tx.txn, table: t, kind: req.Operation, lock: lockOf(req), link: tx.rec.link,
		keyInfo: m.Sections[0], attrInfo: m.Sections[1],
		interpreted: req.Flags&signal.FlagInterpreted != 0,
		noWait:      req.Flags&signal.FlagNoWait != 0,
		simple:      req.Flags&signal.FlagSimple != 0,
	}
	if req.UniqueIndex {
		op.index, op.table = t, t.base
	}
	if req.Flags&signal.FlagScanInfo != 0 && !tx.scanned(req, op) {
		tx.rec.link.violates(signal.GSNTCKeyReq, "a take-over names a row whose lock a scan of the transaction holds", effectIgnored,
			"scan info %#x, fragment %d", req.ScanInfo, req.Distribution)
	}
	if code := tx.cluster.refusal(tx.rec.link, operationNames[req.Operation], op.table); code != 0 {
		op.failed = failure(code)
	}
	return op
}

// scanned tells whether a scan of the transaction holds the lock that an
// operation takes over.
func (tx *tcTransaction) scanned(req *signal.TCKeyReq, op *rowOp) bool {
	for _, rec := range tx.rec.link.records {
		if rec.scan == nil || rec.scan.buddy != tx.rec {
			continue
		}
		for _, fs := range rec.scan.fragments {
			for _, h := range fs.held {
				info := signal.KeyInfo20{ScanInfo: h.scanInfo, Fragment: uint32(h.row.fragment.number)}
				scanInfo, distribution := info.TakeOver()
				if scanInfo == req.ScanInfo && distribution == req.Distribution && bytes.Equal(h.row.keyInfo, op.keyInfo) {
					return true
				}
			}
		}
	}
	return false
}

func lockOf(req *signal.TCKeyReq) lockMode {
	switch {
	case req.Operation != signal.OpRead:
		return lockExclusive
	case req.Flags&signal.FlagDirty != 0:
		return lockNone
	}
	return lockShared
}
