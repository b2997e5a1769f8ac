package ndbtest

import (
	"bytes"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is one operation on one row, as DBLQH, DBACC and DBTUP do it
// together:
//
//   - it locks the row, and for a write the rows of the unique indexes that the
//     write changes, waiting where it must;
//   - writes see what those before them in the batch have done; reads, and lookups
//     in a unique index, see everything as it was before the batch;
//   - a row that was deleted, and read with a lock in the same batch behind that, can
//     be neither inserted (630) nor written (626) by that transaction any more;
//   - an insert needs all key columns among its values (839), no row (630), and
//     gives columns without value their default or NULL, or fails with 839;
//   - an update must not name key columns (897); one of nothing succeeds;
//   - a write is an insert where there is no row, else it changes the given
//     columns;
//   - values of the wrong size are 829, so is NULL for a NOT NULL column; unknown
//     columns are 4395 in a write and 879 in a read; a key that cannot be one is
//     626, as is a row that is not there;
//   - what a unique index has already is 893, which aborts the transaction even
//     where it ignores errors.

// opError is why an operation failed.
type opError struct {
	code   uint32
	detail uint32
	aborts bool // the transaction, whatever the operation's abort option
}

func failure(code uint32) *opError { return &opError{code: code} }

// The errors of operations.
const (
	codeNoRow          = 626
	codeRowExists      = 630
	codeLocked         = 635
	codeBadValue       = 829
	codeKeyMissing     = 839
	codeUnknownRead    = 879
	codeUniqueViolated = 893
	codeKeyUpdated     = 897
	codeUnknownWrite   = 4395
	codeLockTimeout    = 266
)

// rowOp is one operation. done is called once, with the answer or the failure
// in place, unless the transaction ends before.
type rowOp struct {
	txn         *txn
	table       *table
	index       *table // keyInfo is of this unique index; nil: of table
	kind        signal.Operation
	lock        lockMode // lockNone: a committed read
	simple      bool     // the lock is given back at once
	noWait      bool
	interpreted bool
	keyInfo     []byte
	attrInfo    []byte
	done        func()
	link        *link // of who asked; nil: it is not an API node

	finished bool
	resolved bool // keyInfo is of table by now
	row      *rowEntry
	answer   []byte // whole words
	failed   *opError
	taken    []*rowEntry // locks that the transaction has for this operation
}

// run does the operation, or as much as it can without waiting: it is called
// again when the lock that it waits for is held, and begins anew with what it
// holds.
func (op *rowOp) run() {
	if op.txn.over || !op.try() || op.txn.over { // a violation ends it
		return
	}
	op.finished = true
	if op.failed != nil || op.simple {
		for _, r := range op.taken {
			op.txn.unlock(r)
		}
		op.taken = nil
	}
	op.done()
}

// fail ends the operation.
func (op *rowOp) fail(err *opError) (finished bool) {
	op.failed, op.answer = err, nil
	return true
}

func (op *rowOp) try() (finished bool) {
	if op.index != nil && !op.resolved && !op.resolve() {
		return op.failed != nil
	}
	key, ok := op.table.normalise(op.keyInfo)
	switch {
	case !ok:
		return op.fail(failure(codeNoRow))
	case op.kind == signal.OpInsert || op.kind == signal.OpWrite:
		op.row = op.table.entry(key, op.keyInfo)
	default:
		op.row = op.table.rows[key]
		if op.row == nil {
			return op.fail(failure(codeNoRow))
		}
	}
	if op.lock != lockNone && !op.acquire(op.row, op.lock) {
		return op.failed != nil
	}
	return op.execute()
}

// resolve finds the key of the base table through the index. It is false where
// that waits or fails.
func (op *rowOp) resolve() bool {
	key, ok := op.index.normalise(op.keyInfo)
	entry := op.index.rows[key]
	if !ok || entry == nil {
		op.fail(failure(codeNoRow))
		return false
	}
	if !op.acquire(entry, lockShared) {
		return false
	}
	v := entry.visibleToReads(op.txn)
	if v == nil {
		op.fail(failure(codeNoRow))
		return false
	}
	op.resolved, op.keyInfo = true, v.values[len(v.values)-1]
	return true
}

// acquire is false where the operation waits, or fails because it must not.
func (op *rowOp) acquire(r *rowEntry, mode lockMode) bool {
	if op.noWait && op.txn.wouldWait(r, mode) {
		op.fail(failure(codeLocked))
		return false
	}
	if !r.lock.holds(op.txn, lockShared) && !slices.Contains(op.taken, r) {
		op.taken = append(op.taken, r)
	}
	return op.txn.acquire(r, mode, op.run)
}

// execute does the work with the lock of the row held.
func (op *rowOp) execute() (finished bool) {
	v := op.row.visible(op.txn)
	if op.reads() {
		v = op.row.visibleToReads(op.txn)
	}
	if v == nil && op.kind != signal.OpInsert && op.kind != signal.OpWrite {
		return op.fail(failure(codeNoRow))
	}
	if op.interpreted {
		return op.executeProgram(v)
	}
	switch op.kind {
	case signal.OpRead, signal.OpReadExclusive:
		op.row.ghost = op.row.ghost || op.lock != lockNone && !op.simple && op.row.visible(op.txn) == nil
		var err *opError
		op.answer, err = op.row.appendRead(op.answer[:0], v, op.attrInfo)
		if err != nil {
			return op.fail(err)
		}
		return true
	case signal.OpInsert:
		if v != nil || op.row.ghost {
			return op.fail(failure(codeRowExists))
		}
		return op.write(nil, op.attrInfo)
	case signal.OpUpdate:
		return op.write(v, op.attrInfo)
	case signal.OpWrite:
		if v == nil && op.row.ghost {
			return op.fail(failure(codeNoRow))
		}
		return op.write(v, op.attrInfo)
	default:
		return op.replace(v, nil)
	}
}

// reads tells whether the operation writes nothing.
func (op *rowOp) reads() bool { return op.kind == signal.OpRead || op.kind == signal.OpReadExclusive }

// write makes a new version out of the old one, nil for none, and values.
func (op *rowOp) write(old *version, attrInfo []byte) (finished bool) {
	values, err := op.newValues(old, attrInfo)
	if err != nil {
		return op.fail(err)
	}
	return op.replace(old, &version{values: values})
}

// replace puts a new version, or none, in the place of the old one, once the
// rows of the unique indexes are locked.
func (op *rowOp) replace(old, v *version) (finished bool) {
	changes, held := op.indexChanges(old, v)
	if !held || op.failed != nil {
		return op.failed != nil
	}
	for _, change := range changes {
		change.row.change(op.txn, change.version)
	}
	op.row.change(op.txn, v)
	return true
}

// indexChange is what a write does to a row of a unique index.
type indexChange struct {
	row     *rowEntry
	version *version // nil: it is deleted
}

// indexChanges locks the rows of the unique indexes that lead to the old version
// or will lead to the new one. held is false where it waits.
func (op *rowOp) indexChanges(old, v *version) (changes []indexChange, held bool) {
	for _, index := range op.table.unique {
		oldKey := index.keyOf(op.table, old)
		newKey := index.keyOf(op.table, v)
		oldNormal, _ := index.normalise(oldKey)
		newNormal, _ := index.normalise(newKey)
		if (oldKey == nil) == (newKey == nil) && oldNormal == newNormal {
			continue
		}
		if oldKey != nil {
			if entry := index.rows[oldNormal]; entry != nil {
				if !op.acquire(entry, lockExclusive) {
					return nil, false
				}
				changes = append(changes, indexChange{row: entry})
			}
		}
		if newKey == nil {
			continue
		}
		entry := index.entry(newNormal, newKey)
		if !op.acquire(entry, lockExclusive) {
			return nil, false
		}
		if entry.visible(op.txn) != nil {
			op.fail(&opError{code: codeUniqueViolated, detail: index.desc.ID, aborts: true})
			return nil, true
		}
		changes = append(changes, indexChange{entry, index.newEntry(newKey, op.row.keyInfo)})
	}
	return changes, true
}

// keyOf is the key of the unique index for a version of a row of the base
// table: nil where there is no version or a column is NULL.
func (t *table) keyOf(base *table, v *version) []byte {
	if v == nil {
		return nil
	}
	key := []byte{}
	for _, id := range t.columns {
		value := v.value(id)
		if value == nil {
			return nil
		}
		key = appendPadded(key, value)
	}
	return key
}

// newEntry is a row of a unique index: the columns of its key, and the key of
// the base table.
func (t *table) newEntry(key, baseKey []byte) *version {
	values, _ := t.splitKey(key)
	return &version{values: append(values, bytes.Clone(baseKey))}
}
