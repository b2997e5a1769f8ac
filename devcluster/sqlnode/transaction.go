package sqlnode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// Codes of the cluster that are treated on their own here.
const (
	codeRowExists   = 630
	codeLockTimeout = 266
)

// transaction is a transaction as the engine knows it. In the cluster it begins
// with its first operation, and when it has ended there, because a lock was
// waited for in vain or because a statement has failed, the next operation begins
// another. It is for one goroutine at a time.
type transaction struct {
	cluster  *ndbtest.Cluster
	local    *ndbtest.LocalTx // nil: nothing to commit or roll back
	readOnly bool
}

func (t *transaction) String() string   { return "transaction" }
func (t *transaction) IsReadOnly() bool { return t.readOnly }

// tx returns the transaction in which the statement runs.
func tx(ctx *sql.Context) *transaction {
	return ctx.GetTransaction().(*transaction)
}

func (t *transaction) begin() *ndbtest.LocalTx {
	if t.local == nil {
		t.local = t.cluster.Begin()
	}
	return t.local
}

// ended forgets the cluster's transaction where the error has ended it.
func (t *transaction) ended(err error) error {
	if err != nil && t.local != nil && t.local.Over() {
		t.local = nil
	}
	return err
}

// get returns the row with that primary key, nil if there is none. With forUpdate
// an existing row is locked first.
func (t *transaction) get(ctx context.Context, tab *table, key []any, forUpdate bool) (sql.Row, error) {
	values, err := t.begin().Get(ctx, tab.rows, key, forUpdate)
	if values == nil || err != nil {
		return nil, t.ended(err)
	}
	return tab.engineRow(values), nil
}

// insert adds a row. The error is a *duplicateError if the primary key is taken;
// the transaction goes on then, and has the existing row locked.
func (t *transaction) insert(ctx context.Context, tab *table, row sql.Row) error {
	for {
		err := t.ended(t.begin().Insert(ctx, tab.rows, storedRow(row)))
		var code *ndbtest.CodeError
		if !errors.As(err, &code) || code.Code != codeRowExists {
			return err
		}
		existing, err := t.get(ctx, tab, tab.keyOf(row), true)
		if err != nil {
			return err
		}
		if existing != nil {
			return &duplicateError{key: tab.keyOf(row), existing: existing}
		}
		// It was deleted in between.
	}
}

// update replaces a row by another, whose primary key may be a new one. The error
// is a *duplicateError if that is taken.
func (t *transaction) update(ctx context.Context, tab *table, old, row sql.Row) error {
	if !tab.sameKey(old, row) {
		if err := t.insert(ctx, tab, row); err != nil {
			return err
		}
		return t.remove(ctx, tab, old)
	}
	_, err := t.begin().Update(ctx, tab.rows, storedRow(row))
	return t.ended(err)
}

// remove deletes a row.
func (t *transaction) remove(ctx context.Context, tab *table, row sql.Row) error {
	_, err := t.begin().Delete(ctx, tab.rows, tab.keyOf(row))
	return t.ended(err)
}

func (t *transaction) scan(tab *table, scan ndbtest.LocalScan) (*ndbtest.LocalRows, error) {
	return t.begin().Scan(tab.rows, scan)
}

// commit makes the changes visible to all.
func (t *transaction) commit() error {
	if t.local == nil {
		return nil
	}
	err := t.local.Commit()
	t.local = nil
	return err
}

// rollback drops the changes and the locks.
func (t *transaction) rollback() {
	if t.local != nil {
		t.local.Rollback()
		t.local = nil
	}
}

// duplicateError means that a row with the same primary key exists.
type duplicateError struct {
	key      []any
	existing sql.Row // locked by the transaction that got this error
}

func (e *duplicateError) Error() string { return "duplicate primary key " + e.entry() }

// entry is the key as MySQL prints it.
func (e *duplicateError) entry() string {
	values := make([]string, len(e.key))
	for i, v := range e.key {
		values[i] = fmt.Sprint(v)
	}
	return strings.Join(values, "-")
}
