package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// noItem is the index of the item to blame where there is none.
const noItem = -1

// writeAll does a batch as one transaction: trains of operations, and then the
// commit, each one round trip. A failure stays with its operation, so that after
// the train the first item that failed is known and not whichever was told of
// first; then all is rolled back. Memory is that of one train, and of the rows
// that are wanted.
func (s *Store) writeAll(ctx context.Context, b *batch) error {
	failed := noItem
	err := s.with(ctx, b.op+" all", 0, func(x *Session) error {
		t, err := x.beginType(employeeType, reflect.Value{}, true)
		if err != nil {
			return err
		}
		if b.keep != nil {
			if err := t.keep(b.keep); err != nil {
				return err
			}
		}
		for t.next(ctx) {
			failed, t.err = t.tryAll(ctx, b)
		}
		return t.tooLarge(b, t.keptResult(ctx))
	})
	if err != nil && failed != noItem {
		return &store.BatchError{Index: failed, Err: b.itemError(failed, err)}
	}
	return err
}

// tryAll is one try. failed is the item to blame for the error, if one is.
func (t *tries) tryAll(ctx context.Context, b *batch) (failed int, err error) {
	if b.keep == nil {
		return t.writeAll(ctx, b, nil)
	}
	k := &keeper{answer: b.keep}
	write := func() error {
		failed, err = t.writeAll(ctx, b, k)
		return err
	}
	err = t.keeping(ctx, k, write(), write)
	return failed, err
}

// writeAll does it, with k first where the batch keeps an answer.
func (t *tries) writeAll(ctx context.Context, b *batch, k *keeper) (failed int, err error) {
	if err := t.checkSize(b); err != nil {
		return noItem, err
	}
	if failed, err := t.checkValues(b); err != nil {
		return failed, err
	}
	tx, err := t.beginAll(ctx, k)
	if err != nil {
		return noItem, err
	}
	defer tx.Close()
	if k != nil {
		if err := t.keepFirst(ctx, tx, k); err != nil {
			return noItem, err
		}
	}
	train := newTrain(t, b, tx)
	for first := 0; first < b.size; first += trainRows {
		if failed, err := train.run(ctx, first, min(first+trainRows, b.size)); err != nil {
			return failed, err
		}
	}
	err = tx.Commit(ctx)
	return noItem, t.committed(tx.GCI(), err)
}

func (t *tries) beginAll(ctx context.Context, k *keeper) (*ndb.Tx, error) {
	if k != nil {
		return t.beginKeeping(ctx)
	}
	return t.client.Begin(ctx, nil)
}

// operationsPerRow is what each row of a batch of writes counts for in the limit
// of a transaction; see ndb.TransactionLimit.
func (m *mapping) operationsPerRow() int {
	n := 1
	for _, index := range m.table.Indexes() {
		if index.Unique {
			n++
		}
	}
	return n
}

func (t *tries) limit() (rows int, setting string) {
	limit := t.client.TransactionLimit()
	return limit.Operations / t.work.mapping.operationsPerRow(), limit.Setting
}

// checkSize refuses what one transaction cannot hold before anything is sent.
func (t *tries) checkSize(b *batch) error {
	if rows, setting := t.limit(); b.size > rows {
		return &store.BatchTooLargeError{Limit: rows, Setting: setting}
	}
	return nil
}

// tooLarge makes an ErrBatchTooLarge of errors by which the data nodes refuse a
// transaction for its size. It can be that the limit was lowered since the client
// connected, or that others have taken what there is.
func (t *tries) tooLarge(b *batch, err error) error {
	const noOperation, noLockOperation, tooMany, noLocalOperation = 233, 234, 261, 1217
	var e *ndb.Error
	if errors.As(err, &e) {
		switch e.Code {
		case noOperation, noLockOperation, tooMany, noLocalOperation:
			rows, setting := t.limit()
			if rows >= b.size {
				rows, setting = 0, ""
			}
			return &store.BatchTooLargeError{Limit: rows, Setting: setting, Cause: e}
		}
	}
	return err
}

// checkValues looks for an item that cannot be stored before anything is sent.
func (t *tries) checkValues(b *batch) (failed int, err error) {
	if b.kind == batchDelete {
		return noItem, nil
	}
	var row models.Employee
	for i := range b.size {
		set := b.fill(i, &row)
		if err := t.work.mapping.encode(t.work.values, set, reflect.ValueOf(&row).Elem()); err != nil {
			return i, err
		}
	}
	return noItem, nil
}

// train runs pieces of a batch in a transaction. Its memory is used again.
type train struct {
	*tries
	batch  *batch
	tx     *ndb.Tx
	values []*ndb.Values
	rows   []ndb.Row
	ops    []*ndb.Operation
}

func newTrain(t *tries, b *batch, tx *ndb.Tx) *train {
	n := min(trainRows, b.size)
	tr := &train{tries: t, batch: b, tx: tx, values: make([]*ndb.Values, n), ops: make([]*ndb.Operation, n)}
	for i := range tr.values {
		tr.values[i] = t.work.mapping.table.NewValues()
	}
	if b.rows != nil || b.kind == batchUpdate {
		tr.rows = make([]ndb.Row, n)
	}
	return tr
}

// run executes the items from first on up to end.
func (tr *train) run(ctx context.Context, first, end int) (failed int, err error) {
	var row models.Employee
	for i := first; i < end; i++ {
		at := i - first
		set := tr.batch.fill(i, &row)
		if err := tr.work.mapping.encode(tr.values[at], set, reflect.ValueOf(&row).Elem()); err != nil {
			return i, err
		}
		tr.ops[at] = tr.add(i, at, set).IgnoreError()
	}
	if err := tr.tx.Execute(ctx); err != nil {
		return noItem, err
	}
	for i := first; i < end; i++ {
		at := i - first
		err := tr.ops[at].Err()
		if isConditionFalse(err) {
			err = tr.mend(ctx, i, at)
		} else if err == nil && tr.batch.rows != nil {
			err = tr.decode(&tr.rows[at], &tr.batch.rows[i])
		}
		if err != nil {
			return i, err
		}
	}
	return noItem, nil
}

// add puts the operation of item i, whose values are set, on the train.
func (tr *train) add(i, at int, set []int) *ndb.Operation {
	v := tr.values[at]
	switch tr.batch.kind {
	case batchInsert:
		return tr.tx.Insert(v)
	case batchDelete:
		return tr.tx.Delete(v)
	}
	read := tr.work.mapping.read
	if !tr.session.store.sets(set) {
		return tr.tx.Read(v, read, &tr.rows[at], ndb.CommittedRead)
	}
	op := tr.tx.Update(v)
	if only := conditionOf(tr.batch.patch(i)); only != nil {
		op.If(only(tr.work.mapping))
	}
	if tr.batch.rows != nil {
		op.Returning(read, &tr.rows[at])
	}
	return op
}

func (tr *train) decode(from *ndb.Row, row *models.Employee) error {
	return tr.work.decoder.decode(tr.work.mapping, from, reflect.ValueOf(row).Elem())
}

// mend does an update by reading first, where its condition was false: that knows
// less of strange dates than EmployeePatch.Merge.
func (tr *train) mend(ctx context.Context, i, at int) error {
	v := tr.values[at] // as they were set for the update
	read := tr.tx.Read(v, tr.work.mapping.read, &tr.rows[at], ndb.ExclusiveLock).IgnoreError()
	if err := tr.execute(ctx, read); err != nil {
		return err
	}
	var row models.Employee
	if err := tr.decode(&tr.rows[at], &row); err != nil {
		return err
	}
	merged, err := tr.batch.patch(i).Merge(row)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if tr.batch.rows != nil {
		merged.ID = row.ID
		tr.batch.rows[i] = merged
	}
	return tr.execute(ctx, tr.tx.Update(v).IgnoreError())
}

// execute runs one operation, which is the only one that has gathered.
func (tr *train) execute(ctx context.Context, op *ndb.Operation) error {
	if err := tr.tx.Execute(ctx); err != nil {
		return err
	}
	return op.Err()
}
