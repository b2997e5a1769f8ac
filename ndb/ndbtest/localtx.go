package ndbtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// LocalTx is a transaction without signals, on the same rows and with the same
// locks as those of API nodes: for an SQL node in this process. Not safe for
// concurrent use. It must end with Commit or Rollback; Rollback after the end
// does nothing.
//
// Its errors are a *CodeError, with which the transaction goes on but for 266
// (a lock was waited for in vain), 893 (a unique index has the value), 1226 (a
// table was dropped) and 4009 (all data nodes are lost); or that of the context,
// which ends it; or ErrNoNode, or say that a value does not fit.
type LocalTx struct {
	cluster *Cluster
	txn     *txn
	dead    *CodeError // why it was aborted
	wait    func()     // ends the wait of the operation in progress
}

// CodeError is an error of the data nodes.
type CodeError struct {
	Code int
	// Index names the unique index of 893.
	Index string
}

// Error gives the code.
func (e *CodeError) Error() string {
	if e.Index != "" {
		return fmt.Sprintf("ndbtest: error %d, index %s", e.Code, e.Index)
	}
	return fmt.Sprintf("ndbtest: error %d", e.Code)
}

// ErrNoNode means that no data node is started, so that nothing was done.
var ErrNoNode = errors.New("ndbtest: no data node is started")

var errTxOver = errors.New("ndbtest: the transaction is over")

const codeClusterFailure = 4009

// localTransIDs is the high word of the transaction ids of LocalTx: no API node
// has such an ID.
const localTransIDs = 0xffff0000

// Begin starts a transaction.
func (c *Cluster) Begin() *LocalTx {
	tx := &LocalTx{cluster: c}
	c.do(func() {
		c.lastLocal++
		tx.txn = &txn{cluster: c, id: signal.TransID{Low: uint32(c.lastLocal), High: localTransIDs | uint32(c.lastLocal>>32)}}
		tx.txn.kill = func(code uint32) {
			tx.txn.abort()
			tx.die(&CodeError{Code: int(code)})
			tx.wake()
		}
		c.locals[tx] = struct{}{}
	})
	return tx
}

// die notes why the transaction was aborted.
func (tx *LocalTx) die(err *CodeError) {
	tx.dead = err
	delete(tx.cluster.locals, tx)
}

func (tx *LocalTx) wake() {
	if tx.wait != nil {
		tx.wait()
		tx.wait = nil
	}
}

// Get returns the row with that primary key, nil where there is none: the
// committed one or the transaction's own. With forUpdate it is locked.
func (tx *LocalTx) Get(ctx context.Context, r *Rows, key []any, forUpdate bool) ([]any, error) {
	keyInfo, err := r.encodeKey(key)
	if err != nil {
		return nil, err
	}
	op := &rowOp{table: r.table, kind: signal.OpRead, keyInfo: keyInfo}
	if forUpdate {
		op.kind, op.lock = signal.OpReadExclusive, lockExclusive
	}
	if ok, err := found(tx.run(ctx, op)); !ok || err != nil {
		return nil, err
	}
	var v *version
	var columns []dictinfo.Column
	tx.cluster.do(func() { v, columns = op.row.visible(tx.txn), r.table.desc.Columns })
	if v == nil {
		return nil, nil
	}
	return decode(columns, v), nil
}

// Insert adds a row: 630 where the primary key exists, 893 where a unique index
// has a value already.
func (tx *LocalTx) Insert(ctx context.Context, r *Rows, values []any) error {
	keyInfo, attrInfo, err := r.encodeRow(values, true)
	if err != nil {
		return err
	}
	return tx.run(ctx, &rowOp{table: r.table, kind: signal.OpInsert, lock: lockExclusive, keyInfo: keyInfo, attrInfo: attrInfo})
}

// Update replaces the columns of the row whose primary key is in values; those
// that are missing at the end stay. It is false where there is no such row.
func (tx *LocalTx) Update(ctx context.Context, r *Rows, values []any) (bool, error) {
	keyInfo, attrInfo, err := r.encodeRow(values, false)
	if err != nil {
		return false, err
	}
	return found(tx.run(ctx, &rowOp{table: r.table, kind: signal.OpUpdate, lock: lockExclusive, keyInfo: keyInfo, attrInfo: attrInfo}))
}

// Delete removes a row. It is false where there is no such row.
func (tx *LocalTx) Delete(ctx context.Context, r *Rows, key []any) (bool, error) {
	keyInfo, err := r.encodeKey(key)
	if err != nil {
		return false, err
	}
	return found(tx.run(ctx, &rowOp{table: r.table, kind: signal.OpDelete, lock: lockExclusive, keyInfo: keyInfo}))
}

// found turns the failure to find a row into false.
func found(err error) (bool, error) {
	var code *CodeError
	if errors.As(err, &code) && code.Code == codeNoRow {
		return false, nil
	}
	return err == nil, err
}

// run does an operation and waits for it.
func (tx *LocalTx) run(ctx context.Context, op *rowOp) error {
	done := make(chan struct{})
	var err error
	tx.cluster.do(func() {
		if err = tx.usable(op.table); err == nil {
			tx.txn.batch++ // each operation sees all before it
			tx.wait = func() { close(done) }
			op.txn, op.done = tx.txn, tx.wake
			op.run()
		}
	})
	if err != nil {
		return err
	}
	select {
	case <-done:
	case <-ctx.Done():
		tx.Rollback()
		return ctx.Err()
	}
	tx.cluster.do(func() { err = tx.outcome(op) })
	return err
}

// usable tells why nothing can be done with a table.
func (tx *LocalTx) usable(t *table) error {
	switch {
	case tx.dead != nil:
		return tx.dead
	case tx.txn.over:
		return errTxOver
	case t.dropped:
		return &CodeError{Code: codeNoSuchTable}
	case len(tx.cluster.liveNodes()) == 0:
		return ErrNoNode
	}
	return nil
}

func (tx *LocalTx) outcome(op *rowOp) error {
	switch {
	case tx.dead != nil:
		return tx.dead
	case op.failed == nil:
		return nil
	}
	e := &CodeError{Code: int(op.failed.code)}
	if index := tx.cluster.dictionary.tables[op.failed.detail]; index != nil && op.failed.code == codeUniqueViolated {
		e.Index = indexName(index.desc)
	}
	if op.failed.aborts {
		tx.txn.abort()
		tx.die(e)
	}
	return e
}

// Commit makes the changes visible to all, at once.
func (tx *LocalTx) Commit() error {
	err := errTxOver
	tx.cluster.do(func() {
		switch {
		case tx.dead != nil:
			err = tx.dead
		case !tx.txn.over:
			err = nil
			tx.txn.commit(tx.cluster.epochs.gci)
			delete(tx.cluster.locals, tx)
		}
	})
	return err
}

// Rollback drops the changes.
func (tx *LocalTx) Rollback() {
	tx.cluster.do(func() {
		if !tx.txn.over {
			tx.txn.abort()
		}
		tx.wait = nil
		delete(tx.cluster.locals, tx)
	})
}

// Over tells whether the transaction has ended, in whatever way.
func (tx *LocalTx) Over() (over bool) {
	tx.cluster.do(func() { over = tx.txn.over })
	return over
}
