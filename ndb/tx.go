package ndb

import (
	"context"
	"errors"
	"slices"
)

// errTxOver is the answer to a step of a transaction that has ended.
var errTxOver = errors.New("ndb: the transaction is over")

// Tx is a transaction. Its operations gather until Execute or Commit sends all
// of them in one round trip. It is not safe for concurrent use.
//
// Every transaction must end with Commit, Rollback or Close; Close after the
// others does nothing, so it can be deferred.
type Tx struct {
	client *Client
	rec    *txRecord // nil once the transaction is over
	ops    []*Operation
	scans  []*scanState // that may still be open
	trip   trip         // of the step that is being taken
	gci    GCI
}

// Begin starts a transaction. It waits for a free slot until the context ends.
// The coordinator is the node that holds the row of hint, a key; nil means any
// node. Nothing is sent yet.
func (c *Client) Begin(ctx context.Context, hint *Values) (*Tx, error) {
	op := &Operation{}
	if hint != nil {
		if err := op.setKey(hint); err != nil {
			return nil, err
		}
	}
	begun := c.callBegins()
	op.trip.op, op.trip.table = CallBegin, op.table
	tx, err := c.begin(ctx, op)
	if !begun.IsZero() {
		c.callEnds(ctx, begun, op.trip.call(0, err))
	}
	return tx, err
}

func (c *Client) begin(ctx context.Context, op *Operation) (*Tx, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	rec, err := c.beginOn(ctx, op)
	if err != nil {
		return nil, err
	}
	op.trip.began(rec)
	return &Tx{client: c, rec: rec}, nil
}

// beginOn takes a record of the coordinator that suits op, and starts a
// transaction on it.
func (c *Client) beginOn(ctx context.Context, op *Operation) (*txRecord, error) {
	api, err := c.nextAPINode()
	if err != nil {
		return nil, err
	}
	if err := api.admit.acquire(ctx); err != nil {
		return nil, err
	}
	rec, err := api.record(ctx, op)
	if err != nil {
		api.admit.release()
		return nil, err
	}
	rec.begin(api.nextTransID(), api.admit)
	return rec, nil
}

// record takes a record at the best coordinator. A node that refuses is passed
// over: a record that was never seized has no transaction.
func (a *apiNode) record(ctx context.Context, op *Operation) (*txRecord, error) {
	preferred := op.preferred
	for tries := len(a.nodes); ; tries-- {
		l, err := a.coordinator(preferred)
		if err != nil {
			return nil, err
		}
		rec, err := l.acquire(ctx)
		if err == nil || tries <= 1 || ctx.Err() != nil || !MayRetry(err) {
			return rec, err
		}
		preferred = nil
	}
}

// Read reads a row by its primary key. The key columns of key choose the row;
// columns chooses what is read into row, whose memory is used again. A row must
// not be used by two operations at once.
func (tx *Tx) Read(key *Values, columns *Projection, row *Row, lock LockMode) *Operation {
	op := &Operation{kind: opRead, lock: lock}
	op.err = op.setRead(key, columns, row)
	return tx.add(op)
}

// Insert adds a row; it fails with ClassConstraint where the key exists.
// Columns without a value take their default or NULL.
func (tx *Tx) Insert(v *Values) *Operation { return tx.addWrite(opInsert, v) }

// Update changes the columns that have a value, but for those of the key, which
// choose the row; it fails with ClassNoDataFound where there is none.
func (tx *Tx) Update(v *Values) *Operation { return tx.addWrite(opUpdate, v) }

// Write inserts the row, or changes the columns that have a value where the key
// exists.
func (tx *Tx) Write(v *Values) *Operation { return tx.addWrite(opWrite, v) }

// Delete removes the row that the key columns of key choose; it fails with
// ClassNoDataFound where there is none.
func (tx *Tx) Delete(key *Values) *Operation { return tx.addWrite(opDelete, key) }

func (tx *Tx) addWrite(kind opKind, v *Values) *Operation {
	op := &Operation{kind: kind}
	op.err = op.setWrite(v)
	return tx.add(op)
}

func (tx *Tx) add(op *Operation) *Operation {
	tx.ops = append(tx.ops, op)
	return op
}

// Execute sends the operations that have gathered and waits for their results.
// The transaction stays open, with its locks. An error other than a context's
// means that the cluster has rolled the transaction back.
func (tx *Tx) Execute(ctx context.Context) error {
	if err := tx.sendable(); err != nil || len(tx.ops) == 0 {
		return err
	}
	return tx.traced(ctx, CallExecute, func() error { return tx.run(ctx, false) })
}

// traced does a step of the transaction, and tells of it.
func (tx *Tx) traced(ctx context.Context, op CallOp, step func() error) error {
	begun := tx.client.callBegins()
	tx.trip = trip{op: op, table: oneTable(tx.ops), link: tx.rec.link}
	operations := len(tx.ops)
	err := step()
	if tx.trip.left {
		tx.trip.abandoned(ctx, tx.client, tx.trip.link, err)
	}
	if !begun.IsZero() {
		tx.client.callEnds(ctx, begun, tx.trip.call(operations, err))
	}
	return err
}

// oneTable is the table of the operations, nil where there are several.
func oneTable(ops []*Operation) *Table {
	if len(ops) == 0 || slices.ContainsFunc(ops, func(op *Operation) bool { return op.table != ops[0].table }) {
		return nil
	}
	return ops[0].table
}

// Commit sends the operations that have gathered and commits the transaction
// with the last of them, in one round trip. Afterwards the transaction is over.
func (tx *Tx) Commit(ctx context.Context) error {
	if err := tx.sendable(); err != nil {
		tx.Close()
		return err
	}
	return tx.traced(ctx, CallCommit, func() error {
		if err := tx.endScans(ctx); err != nil {
			tx.Close()
			return err
		}
		if len(tx.ops) > 0 {
			return tx.run(ctx, true)
		}
		return tx.end(ctx, true)
	})
}

// Rollback undoes the transaction. Afterwards it is over, whatever is returned.
func (tx *Tx) Rollback(ctx context.Context) error {
	tx.ops = nil
	if tx.rec == nil {
		return errTxOver
	}
	return tx.traced(ctx, CallRollback, func() error {
		if err := tx.endScans(ctx); err != nil {
			tx.Close()
			return err
		}
		return tx.end(ctx, false)
	})
}

// Close ends a transaction that is not over: it is rolled back in the
// background.
func (tx *Tx) Close() {
	tx.ops = nil
	if tx.rec != nil {
		tx.leave()
	}
}

// GCI is the global checkpoint that a commit belongs to; see
// Client.WaitDurable. It is 0 for transactions that only read.
func (tx *Tx) GCI() GCI { return tx.gci }

// sendable returns what is wrong with the operations before any is sent.
func (tx *Tx) sendable() error {
	if tx.rec == nil {
		return errTxOver
	}
	for _, op := range tx.ops {
		if op.err == nil && op.takeOver != nil {
			op.err = op.takeOver.held()
		}
		if op.err != nil {
			return op.err
		}
	}
	if len(tx.ops) > maxBatchOps {
		return &Error{Code: 261, Status: StatusPermanent, Classification: ClassApplication}
	}
	return nil
}

// run executes the gathered operations, and with commit ends the transaction.
func (tx *Tx) run(ctx context.Context, commit bool) error {
	ctx, cancel := tx.client.bounded(ctx)
	defer cancel()
	ops := tx.ops
	tx.ops = nil
	if err := tx.rec.execute(ops, commit); err != nil {
		tx.Close()
		tx.learn(ctx, ops, err)
		return err
	}
	err := tx.await(ctx, ops, commit)
	if err == nil {
		tx.closeScans()
	}
	return err
}

func (tx *Tx) end(ctx context.Context, commit bool) error {
	ctx, cancel := tx.client.bounded(ctx)
	defer cancel()
	over, err := tx.rec.end(commit)
	if over || err != nil {
		tx.Close()
		return err
	}
	return tx.await(ctx, nil, true)
}

// await waits for what was sent. A failure ends the transaction, as does over.
func (tx *Tx) await(ctx context.Context, ops []*Operation, over bool) error {
	tx.trip.waits++
	abandoned, err := tx.rec.wait(ctx)
	if abandoned {
		tx.trip.left = true
		tx.rec = nil
		tx.abandonScans()
		return err
	}
	tx.gci = GCI(tx.rec.commitGCI())
	if err != nil || over {
		tx.Close()
	}
	tx.learn(ctx, ops, err)
	for _, op := range ops {
		if err == nil && op.err == nil && op.row != nil {
			op.err = op.row.decode()
		}
		op.err = tx.client.explain(op, op.err)
	}
	return err
}

// learn reads the definitions again where the cluster says that they are old, so
// that the transaction can be begun anew with values that fit.
func (tx *Tx) learn(ctx context.Context, ops []*Operation, err error) {
	for _, op := range ops {
		tx.client.learn(ctx, op, err)
		tx.client.learn(ctx, op, op.err)
	}
}
