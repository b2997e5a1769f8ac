package ndb

import (
	"errors"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// LockMode says what a read does about other transactions. Of its own one, a read
// in any mode sees what earlier batches have written, and not what its own batch
// writes: Execute those first, or use Operation.Returning.
type LockMode uint8

// The lock modes.
const (
	// CommittedRead takes no lock and never waits: it gives the row as it was
	// last committed, or as this transaction has written it.
	CommittedRead LockMode = iota
	// SharedLock waits for writers and keeps them out until the transaction ends.
	SharedLock
	// ExclusiveLock waits for all others and keeps them out until the
	// transaction ends.
	ExclusiveLock
)

type opKind uint8

const (
	opRead opKind = iota
	opInsert
	opUpdate
	opWrite
	opDelete
)

var opNames = [...]string{opRead: "read", opInsert: "insert", opUpdate: "update", opWrite: "write", opDelete: "delete"}

func (k opKind) writes() bool { return k != opRead }

// Operation is one step of a transaction: it reads or writes one row. It
// belongs to its transaction, and its result is there once the batch that
// carried it was executed.
type Operation struct {
	kind        opKind
	lock        LockMode
	ignoreError bool
	noWait      bool
	interpreted bool // attrInfo has the five parts of a program.Interpreted
	hasProgram  bool // beside a mere acceptance
	table       *Table
	index       *Index // the key is that of a unique index; else nil
	version     *definition
	buf         []byte // what keyInfo and attrInfo are built in
	keyInfo     []byte
	attrInfo    []byte
	preferred   []signal.NodeID // nodes that hold the row, the best coordinator first
	alone       [1]*Operation   // op itself, for a batch of one
	row         *Row            // what a read fills; nil for plain writes
	takeOver    *takeOver       // of a lock that a scan holds; nil for most
	trip        trip            // where it went, where it is alone in its transaction
	err         error
}

// Err is why the operation failed, or nil. A committed read of a row that is
// not there fails with ClassNoDataFound, and so does every operation whose
// errors its transaction ignores; other failures end the whole transaction and
// are the error of Execute or Commit.
func (op *Operation) Err() error { return op.err }

// Row is what a read has read; it is nil for writes that read nothing.
func (op *Operation) Row() *Row { return op.row }

// IgnoreError makes a failure the operation's own: the others, and a commit
// that was asked for with them, go on.
func (op *Operation) IgnoreError() *Operation {
	op.ignoreError = true
	return op
}

// NoWait makes a read with a lock fail at once, with code 635, where another
// transaction has locked the row. Writes always wait.
func (op *Operation) NoWait() *Operation {
	if op.kind.writes() {
		op.err = errNoWait
		return op
	}
	op.noWait = true
	return op
}

// committedRead tells whether the answer comes from the row's node, apart from
// the coordinator's. Reads over a unique index lock instead: the coordinator
// would lose a committed read's row.
func (op *Operation) committedRead() bool {
	return op.kind == opRead && op.lock == CommittedRead && op.index == nil
}

// request is the operation as number i of a batch, without the flags that tell
// its place in the batch and in the transaction.
func (op *Operation) request(rec *txRecord, i int) signal.TCKeyReq {
	req := signal.TCKeyReq{
		TC:           rec.tc,
		UniqueIndex:  op.index != nil,
		TCPointer:    rec.tcPointer,
		OpPointer:    rec.pointer(i),
		TableID:      op.version.id,
		TableVersion: op.version.version,
		TransID:      rec.transID,
	}
	if !op.version.onDisk {
		req.Flags |= signal.FlagNoDisk
	}
	if op.index != nil {
		req.TableID, req.TableVersion = op.index.id, op.index.version
	}
	switch op.kind {
	case opRead:
		op.addReadFlags(&req)
	case opInsert:
		req.Operation = signal.OpInsert
	case opUpdate:
		req.Operation = signal.OpUpdate
	case opWrite:
		req.Operation = signal.OpWrite
	case opDelete:
		req.Operation = signal.OpDelete
	}
	if op.ignoreError {
		req.Flags |= signal.FlagIgnoreError
	}
	if op.noWait {
		req.Flags |= signal.FlagNoWait
	}
	if op.interpreted {
		req.Flags |= signal.FlagInterpreted
	}
	if op.takeOver != nil {
		req.Flags |= signal.FlagScanInfo | signal.FlagDistributionKey
		req.ScanInfo, req.Distribution = op.takeOver.scanInfo, op.takeOver.fragment
	}
	return req
}

func (op *Operation) addReadFlags(req *signal.TCKeyReq) {
	switch {
	case op.lock == ExclusiveLock:
		req.Operation = signal.OpReadExclusive
	case op.lock == SharedLock:
		req.Operation = signal.OpRead
	case op.index != nil:
		req.Operation = signal.OpRead
		req.Flags |= signal.FlagSimple | signal.FlagReadCommittedBase | signal.FlagIgnoreError
	default:
		req.Operation = signal.OpRead
		req.Flags |= signal.FlagDirty | signal.FlagSimple | signal.FlagIgnoreError
	}
}

// setKey takes the key that v holds, and with it the table and the node.
func (op *Operation) setKey(v *Values) error {
	if v.err != nil {
		return v.err
	}
	op.table, op.version = v.table, v.def
	var err error
	if op.buf, err = v.appendKey(op.buf[:0], v.def.key); err != nil {
		return err
	}
	op.keyInfo = op.buf
	op.preferred = v.def.nodesOf(op.keyInfo)
	return nil
}

func (op *Operation) setRead(key *Values, columns *Projection, row *Row) error {
	if err := op.setKey(key); err != nil {
		return err
	}
	if !key.def.takes(columns.def) {
		return errStale
	}
	row.begin(columns)
	op.row, op.attrInfo = row, columns.readList
	return nil
}

func (op *Operation) setWrite(v *Values) error {
	if err := op.setKey(v); err != nil {
		return err
	}
	switch op.kind {
	case opInsert, opWrite:
		op.attrInfo = v.attrs
	case opUpdate:
		keyBytes := len(op.buf)
		op.buf = v.appendWithoutKey(op.buf)
		op.keyInfo, op.attrInfo = op.buf[:keyBytes], op.buf[keyBytes:]
	default:
		op.attrInfo = nil
	}
	if len(op.keyInfo)+len(op.attrInfo) > maxOperationBytes {
		return errTooLarge
	}
	return nil
}

// maxOperationBytes is how much the key and the values of one operation may
// take.
const maxOperationBytes = signal.MaxSectionBytes

// Errors of operations that are never sent.
var (
	errStale    = errors.New("ndb: the columns to read are those of another table, or of one that has changed")
	errNoWait   = errors.New("ndb: only reads can do without waiting for a lock")
	errTooLarge = errors.New("ndb: the values of one operation take more than a message holds")
)
