package ndb

import (
	"context"
	"errors"
	"math"
	"sync"
)

// GCI names a global checkpoint. A commit belongs to one, and is on disk once
// that is; see Client.WaitDurable.
type GCI uint64

// UnknownGCI is the checkpoint of a commit that a node told which had taken over
// for the coordinator: it does not say which.
const UnknownGCI GCI = math.MaxUint64

// Read reads one row by its primary key as it was last committed, without a
// lock, in one round trip. The key columns of key choose the row; row is filled
// with columns. It fails with ClassNoDataFound where there is no such row.
func (c *Client) Read(ctx context.Context, key *Values, columns *Projection, row *Row) error {
	op := newOperation(opRead)
	defer op.recycle()
	if err := op.setRead(key, columns, row); err != nil {
		return err
	}
	_, err := c.single(ctx, op)
	return err
}

// Insert adds a row and commits, in one round trip. It fails with
// ClassConstraint where the key exists. Columns without a value take their
// default or NULL.
func (c *Client) Insert(ctx context.Context, v *Values) (GCI, error) {
	return c.singleWrite(ctx, opInsert, v)
}

// Update changes the columns that have a value, but for those of the key, which
// choose the row, and commits, in one round trip. It fails with
// ClassNoDataFound where there is no such row.
func (c *Client) Update(ctx context.Context, v *Values) (GCI, error) {
	return c.singleWrite(ctx, opUpdate, v)
}

// Write inserts the row, or changes the columns that have a value where the key
// exists, and commits, in one round trip.
func (c *Client) Write(ctx context.Context, v *Values) (GCI, error) {
	return c.singleWrite(ctx, opWrite, v)
}

// Delete removes the row that the key columns of key choose and commits, in one
// round trip. It fails with ClassNoDataFound where there is no such row.
func (c *Client) Delete(ctx context.Context, key *Values) (GCI, error) {
	return c.singleWrite(ctx, opDelete, key)
}

func (c *Client) singleWrite(ctx context.Context, kind opKind, v *Values) (GCI, error) {
	op := newOperation(kind)
	defer op.recycle()
	if err := op.setWrite(v); err != nil {
		return 0, err
	}
	return c.single(ctx, op)
}

// single runs a transaction of one operation.
func (c *Client) single(ctx context.Context, op *Operation) (GCI, error) {
	begun := c.callBegins()
	op.trip.op, op.trip.table = callOps[op.kind], op.table
	gci, err := c.singleAgain(ctx, op)
	if op.trip.left {
		op.trip.abandoned(ctx, c, op.trip.link, err)
	}
	if !begun.IsZero() {
		c.callEnds(ctx, begun, op.trip.call(1, err))
	}
	return gci, err
}

// singleAgain is trySingle, and once more where the cluster says that the table
// has changed and the values still fit: what is refused so has done nothing.
func (c *Client) singleAgain(ctx context.Context, op *Operation) (GCI, error) {
	caller := ctx
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	gci, err := c.trySingle(ctx, op)
	if err == nil || !isStaleSchema(err) {
		return gci, err
	}
	same, refreshErr := op.table.refresh(ctx, op.version, &op.trip)
	if refreshErr != nil || !same {
		return 0, err
	}
	op.trip.retry(caller, c, err)
	op.version = op.table.def.Load()
	if op.index != nil {
		if op.index, refreshErr = op.version.currentIndex(op.index); refreshErr != nil {
			return 0, err
		}
	}
	return c.trySingle(ctx, op)
}

func (c *Client) trySingle(ctx context.Context, op *Operation) (GCI, error) {
	rec, err := c.beginOn(ctx, op)
	if err != nil {
		return 0, c.explain(op, err)
	}
	op.trip.began(rec)
	op.err = nil
	if err := rec.execute(op.alone[:], true); err != nil {
		rec.leave()
		return 0, c.explain(op, err)
	}
	op.trip.waits++
	abandoned, err := rec.wait(ctx)
	if abandoned {
		op.trip.left = true
		return 0, c.explain(op, err)
	}
	gci := GCI(rec.commitGCI())
	rec.leave()
	if err == nil {
		err = op.err
	}
	if err == nil && op.row != nil {
		err = op.row.decode()
	}
	return gci, c.explain(op, err)
}

// learn reads the definition of an operation's table again where err says that
// it is old. Where that fails, the next operation will say so.
func (c *Client) learn(ctx context.Context, op *Operation, err error) {
	if isStaleSchema(err) {
		_, _ = op.table.refresh(ctx, op.version, new(trip))
	}
}

// errOtherCluster says that a definition was read before all data nodes were
// lost. What is there now may be another cluster, and its IDs those of other
// objects: a data node that gets one stops.
func errOtherCluster() *Error {
	return &Error{Code: 241, Status: StatusTemporary, Classification: ClassSchema, Cause: errClusterLost}
}

var errClusterLost = errors.New("the cluster was lost since the table was read")

// Codes that say that the table is not what the client thinks.
func isStaleSchema(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 241, 283, 284, 285, 1225, 1226, 1227, 1231, 1232, 910:
		return true
	}
	return false
}

// explain says in an error of this package what was done.
func (c *Client) explain(op *Operation, err error) error {
	var e *Error
	if err == nil || op == nil || op.table == nil || !errors.As(err, &e) {
		return err
	}
	if e.Op == "" {
		e.Op = opNames[op.kind] + " " + op.table.String()
	}
	return err
}

var operations = sync.Pool{New: func() any {
	op := &Operation{}
	op.alone[0] = op
	return op
}}

func newOperation(kind opKind) *Operation {
	op := operations.Get().(*Operation)
	op.kind = kind
	return op
}

// recycle makes op free for others. No record knows it any more: its batch is
// over, or was abandoned.
func (op *Operation) recycle() {
	*op = Operation{buf: op.buf[:0], alone: op.alone}
	operations.Put(op)
}
