package ndb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Errors of operations by a unique key that are never sent.
var (
	errNotUnique  = errors.New("ndb: the index is not a unique one of the table")
	errChangesKey = errors.New("ndb: a column of the primary key cannot be updated")
)

// ReadUnique reads a row by a unique index: the index columns of key choose the
// row. Even a CommittedRead takes a lock on the index for a moment. Like all
// operations by a unique index it finds the row by the index as it was before its
// batch, and comes to it behind the operations of the batch by primary key. See
// Read.
func (tx *Tx) ReadUnique(index *Index, key *Values, columns *Projection, row *Row, lock LockMode) *Operation {
	op := &Operation{kind: opRead, lock: lock}
	op.err = op.setUniqueRead(index, key, columns, row)
	return tx.add(op)
}

// UpdateUnique changes the columns that have a value, but for those of the
// unique index, which choose the row; it fails with ClassNoDataFound where there
// is none.
func (tx *Tx) UpdateUnique(index *Index, v *Values) *Operation {
	op := &Operation{kind: opUpdate}
	op.err = op.setUniqueWrite(index, v)
	return tx.add(op)
}

// DeleteUnique removes the row that the index columns of key choose; it fails
// with ClassNoDataFound where there is none.
func (tx *Tx) DeleteUnique(index *Index, key *Values) *Operation {
	op := &Operation{kind: opDelete}
	op.err = op.setUniqueWrite(index, key)
	return tx.add(op)
}

// ReadUnique reads one row by a unique index, as it was last committed, in one
// round trip; see Read.
func (c *Client) ReadUnique(ctx context.Context, index *Index, key *Values, columns *Projection, row *Row) error {
	op := newOperation(opRead)
	defer op.recycle()
	if err := op.setUniqueRead(index, key, columns, row); err != nil {
		return err
	}
	_, err := c.single(ctx, op)
	return err
}

// UpdateUnique changes one row, which the index columns of v choose, and
// commits, in one round trip; see Update.
func (c *Client) UpdateUnique(ctx context.Context, index *Index, v *Values) (GCI, error) {
	return c.singleUnique(ctx, opUpdate, index, v)
}

// DeleteUnique removes one row, which the index columns of key choose, and
// commits, in one round trip; see Delete.
func (c *Client) DeleteUnique(ctx context.Context, index *Index, key *Values) (GCI, error) {
	return c.singleUnique(ctx, opDelete, index, key)
}

func (c *Client) singleUnique(ctx context.Context, kind opKind, index *Index, v *Values) (GCI, error) {
	op := newOperation(kind)
	defer op.recycle()
	if err := op.setUniqueWrite(index, v); err != nil {
		return 0, err
	}
	return c.single(ctx, op)
}

// setUniqueKey takes the key that v holds. The coordinator is any node: where
// the row is, only the index knows.
func (op *Operation) setUniqueKey(index *Index, v *Values) error {
	if v.err != nil {
		return v.err
	}
	if index == nil {
		return errNotUnique
	}
	current, err := v.def.currentIndex(index)
	if err != nil {
		return err
	}
	if !current.Unique {
		return errNotUnique
	}
	op.table, op.version, op.index, op.preferred = v.table, v.def, current, nil
	if op.buf, err = v.appendKey(op.buf[:0], current.Columns); err != nil {
		return err
	}
	op.keyInfo = op.buf
	return nil
}

func (op *Operation) setUniqueRead(index *Index, key *Values, columns *Projection, row *Row) error {
	if err := op.setUniqueKey(index, key); err != nil {
		return err
	}
	if !key.def.takes(columns.def) {
		return errStale
	}
	row.begin(columns)
	op.row, op.attrInfo = row, columns.readList
	return nil
}

func (op *Operation) setUniqueWrite(index *Index, v *Values) error {
	if err := op.setUniqueKey(index, v); err != nil {
		return err
	}
	if op.kind == opDelete {
		op.attrInfo = nil
		return nil
	}
	keyBytes := len(op.buf)
	for i, s := range v.spans {
		c := v.def.columns[i]
		switch {
		case !s.set || slices.Contains(op.index.Columns, c):
		case c.PrimaryKey:
			return fmt.Errorf("%w: %s", errChangesKey, c.Name)
		default:
			op.buf = append(op.buf, v.attr(s)...)
		}
	}
	op.keyInfo, op.attrInfo = op.buf[:keyBytes], op.buf[keyBytes:]
	if len(op.buf) > signal.MaxSectionBytes {
		return errTooLarge
	}
	return nil
}
