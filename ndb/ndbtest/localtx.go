package ndbtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// LocalTx is a transaction without signals, on the same rows and with the same
// locks as those of API nodes: for an SQL node in this process. Not safe for
// concurrent use. It must end with Commit or Rollback; Rollback after the end
// does nothing.
//
// Its errors are a *CodeError, with which the transaction goes on but for 266
// (a lock was waited for in vain) and 893 (a unique index has the value); or
// that of the context, which ends it; or say that a value does not fit.
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

var errTxOver = errors.New("ndbtest: the transaction is over")

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
			tx.dead = &CodeError{Code: int(code)}
			tx.wake()
		}
	})
	return tx
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
	if err := tx.run(ctx, op); err != nil {
		var code *CodeError
		if errors.As(err, &code) && code.Code == codeNoRow {
			return nil, nil
		}
		return nil, err
	}
	var values []any
	tx.cluster.do(func() {
		if v := op.row.visible(tx.txn); v != nil {
			values = r.table.decode(v)
		}
	})
	return values, nil
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
	err := errTxOver
	tx.cluster.do(func() {
		switch {
		case tx.dead != nil:
			err = tx.dead
			return
		case tx.txn.over:
			return
		case op.table.dropped:
			err = &CodeError{Code: codeNoSuchTable}
			return
		}
		err = nil
		tx.wait = func() { close(done) }
		op.txn, op.done = tx.txn, tx.wake
		op.run()
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
		tx.dead = e
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
	})
}

// LocalScan says which rows a LocalRows gives.
type LocalScan struct {
	// Index is the name of an ordered index, whose order the rows have. Empty
	// means all rows in no order.
	Index string
	// Low and High bound the first columns of the index; empty ones leave that
	// side open. nil values are NULL, which comes first.
	Low, High             []any
	LowStrict, HighStrict bool
	Reverse               bool
	// ForUpdate locks each row before it is returned.
	ForUpdate bool
}

// LocalRows gives the rows of a scan. It sees the transaction's own changes. Not
// safe for concurrent use.
type LocalRows struct {
	tx      *LocalTx
	rows    *Rows
	scan    LocalScan
	index   *orderedIndex
	cursors []*cursor
	heads   []indexEntry // of each cursor; its row is nil at the end
}

// Scan begins to read rows. Nothing is locked yet.
func (tx *LocalTx) Scan(r *Rows, scan LocalScan) (*LocalRows, error) {
	s := &LocalRows{tx: tx, rows: r, scan: scan}
	var err error
	tx.cluster.do(func() { err = s.begin() })
	return s, err
}

func (s *LocalRows) begin() error {
	t := s.rows.table
	ranges := []keyRange{{}}
	for _, index := range t.ordered {
		if indexName(index.desc) == s.scan.Index {
			s.index = index
		}
	}
	switch {
	case s.index == nil && s.scan.Index != "":
		return fmt.Errorf("ndbtest: no ordered index %s", s.scan.Index)
	case s.index != nil:
		r := &ranges[0]
		var err error
		if r.lower, err = s.index.encodeSide(s.scan.Low, s.scan.LowStrict); err != nil {
			return err
		}
		if r.upper, err = s.index.encodeSide(s.scan.High, s.scan.HighStrict); err != nil {
			return err
		}
	}
	for _, f := range t.fragments {
		s.cursors = append(s.cursors, newCursor(t, f, s.index, ranges, s.scan.Reverse))
		s.heads = append(s.heads, indexEntry{})
		s.advance(len(s.cursors) - 1)
	}
	return nil
}

func (index *orderedIndex) encodeSide(values []any, strict bool) (side, error) {
	s := side{strict: strict && len(values) > 0}
	if len(values) > len(index.columns) {
		return s, fmt.Errorf("ndbtest: a bound of %d columns", len(values))
	}
	for i, v := range values {
		c := &index.base.desc.Columns[index.columns[i]]
		if v == nil {
			s.values = append(s.values, nil)
			continue
		}
		value, err := row.AppendValue(nil, row.FormBare, c, numberFor(c, v))
		if err != nil {
			return s, fmt.Errorf("ndbtest: %w", err)
		}
		s.values = append(s.values, value)
	}
	return s, nil
}

// advance moves a cursor on.
func (s *LocalRows) advance(i int) {
	r, v, _ := s.cursors[i].next()
	s.heads[i] = indexEntry{r, v}
}

// Next returns the next row, nil after the last one.
func (s *LocalRows) Next(ctx context.Context) ([]any, error) {
	for {
		var e indexEntry
		var values []any
		over := false
		s.tx.cluster.do(func() {
			if over = s.tx.txn.over; over {
				return
			}
			if e = s.take(); e.row != nil && !s.scan.ForUpdate {
				values = s.decode(e)
			}
		})
		switch {
		case over && s.tx.dead != nil:
			return nil, s.tx.dead
		case over:
			return nil, errTxOver
		case e.row == nil || values != nil:
			return values, nil
		case !s.scan.ForUpdate:
			continue
		}
		op := &rowOp{table: s.rows.table, kind: signal.OpReadExclusive, lock: lockExclusive, keyInfo: e.row.keyInfo}
		if ok, err := found(s.tx.run(ctx, op)); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		s.tx.cluster.do(func() { values = s.decode(e) })
		if values != nil {
			return values, nil
		}
	}
}

// take returns the first entry in the order of the scan.
func (s *LocalRows) take() indexEntry {
	best := -1
	for i, head := range s.heads {
		if head.row == nil {
			continue
		}
		if best < 0 || s.index != nil && (s.index.compare(head, s.heads[best]) < 0) != s.scan.Reverse {
			best = i
		}
	}
	if best < 0 {
		return indexEntry{}
	}
	e := s.heads[best]
	s.advance(best)
	return e
}

// decode returns the row, or nil where what the transaction sees of it is not
// what lay in the index.
func (s *LocalRows) decode(e indexEntry) []any {
	v := e.row.visible(s.tx.txn)
	if v == nil || e.version != nil && e.version != v {
		return nil
	}
	return s.rows.table.decode(v)
}
