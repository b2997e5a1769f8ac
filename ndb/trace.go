package ndb

import (
	"context"
	"time"
)

// Trace has calls that a Client makes when something happens. Each may be nil,
// which costs nothing. They must return soon, and must not call Close; no lock is
// held while they run. Several may run at once.
type Trace struct {
	// NodeChanged is called when a data node gets another state, or becomes
	// usable or not, as one API node of the client sees it. It runs on the
	// goroutine that keeps the connection.
	NodeChanged func(NodeInfo)

	// LinkLost is called when the connection to a data node that was usable is no
	// more. It runs on the goroutine that keeps the connection.
	LinkLost func(LinkLoss)

	// Call is called at the end of each call of the client that may go to the
	// cluster, with the context of that call, on its goroutine: a tracer finds its
	// span there. What Call, and nothing else, costs is a look at the clock at the
	// start and at the end.
	Call func(context.Context, Call)

	// Retried is called before an operation, or the start of a scan, is done once
	// more because its table has changed. It runs on the goroutine of the call.
	Retried func(context.Context, Retry)

	// Abandoned is called when a caller has left a transaction with something in
	// flight, because its context ended. The transaction is rolled back in the
	// background, unless its commit was asked for: then the cluster decides. It
	// runs on the goroutine of the call.
	Abandoned func(context.Context, Abandonment)

	// TableRead is called when the definition of a table was read from the
	// cluster, for the first time or again. It runs on the goroutine of the call
	// that needed it.
	TableRead func(TableRead)
}

// LinkLoss is the end of a connection.
type LinkLoss struct {
	Node, APINode int
	Up            time.Duration // since the node was connected to
	Err           error         // why
}

// Retry is an operation that is done once more.
type Retry struct {
	Op    CallOp
	Table *Table
	Err   error // what the cluster has said
}

// Abandonment is a transaction that its caller has left.
type Abandonment struct {
	Op            CallOp // that was in flight
	Table         *Table // nil where the call is about none, or about several
	Node, APINode int
	Err           error // what the caller gets; its status tells whether the outcome is known
}

// TableRead is a definition that was read.
type TableRead struct {
	Table      string        // as in "ndbtest/employee"
	Again      bool          // the client had one before
	SameShape  bool          // what was made for that one goes on working; true the first time
	RoundTrips int           // requests to the dictionary; 0 where that failed
	Took       time.Duration // all of them together
	Err        error         // why it could not be read, or nil
}

// CallOp is what a call does.
type CallOp uint8

// The calls.
const (
	CallRead CallOp = iota + 1
	CallInsert
	CallUpdate
	CallWrite
	CallDelete
	CallBegin
	CallExecute
	CallCommit
	CallRollback
	CallScan        // the start of a scan
	CallNext        // a Scanner.Next that took rows from the cluster; others do not count
	CallCount       // Count
	CallExists      // Exists
	CallBatch       // a Batch, from NewBatch to the end of Wait
	CallTable       // Table, where it was not known
	CallWaitDurable // WaitDurable and WaitAllDurable
)

var callNames = [...]string{
	CallRead: "read", CallInsert: "insert", CallUpdate: "update", CallWrite: "write", CallDelete: "delete",
	CallBegin: "begin", CallExecute: "execute", CallCommit: "commit", CallRollback: "rollback",
	CallScan: "scan", CallNext: "next", CallCount: "count", CallExists: "exists", CallBatch: "batch",
	CallTable: "table", CallWaitDurable: "wait durable",
}

// String names the call in lower case, as in "read".
func (op CallOp) String() string {
	if op == 0 || int(op) >= len(callNames) {
		return "unknown"
	}
	return callNames[op]
}

// Call is a call of the client that has ended.
type Call struct {
	Op            CallOp
	Table         *Table // nil where it is about none, or about several
	Node, APINode int    // the coordinator, and the client's own node; 0 where there was none, or several
	RoundTrips    int    // waits for the cluster, one after another; of a scan, requests for rows
	Retries       int    // how often it was done once more
	Operations    int    // sent, or rows of a scan that came
	Start         time.Time
	Took          time.Duration
	Err           error // what the caller gets
}

// callBegins is when a call begins, where somebody wants to know; else the zero
// time.
func (c *Client) callBegins() time.Time {
	if c.cfg.Trace.Call == nil {
		return time.Time{}
	}
	return time.Now()
}

// callEnds tells of a call, whose context it is, unless nobody wants to know. It
// fills in the times.
func (c *Client) callEnds(ctx context.Context, begun time.Time, call Call) {
	if begun.IsZero() {
		return
	}
	call.Start, call.Took = begun, time.Since(begun)
	c.cfg.Trace.Call(ctx, call)
}

// callOps has the calls of the kinds of operations.
var callOps = [...]CallOp{
	opRead: CallRead, opInsert: CallInsert, opUpdate: CallUpdate, opWrite: CallWrite, opDelete: CallDelete,
}

// trip is where a call went and what that took.
type trip struct {
	op             CallOp
	table          *Table
	link           *link // to the coordinator; nil where there was none
	waits, retries int
	left           bool // its transaction was abandoned
}

// began notes the coordinator. A record that was seized for the call took a round
// trip.
func (t *trip) began(rec *txRecord) {
	t.link = rec.link
	if rec.fresh {
		rec.fresh = false
		t.waits++
	}
}

// call is what a trip tells of its call.
func (t *trip) call(operations int, err error) Call {
	call := Call{Op: t.op, Table: t.table, RoundTrips: t.waits, Retries: t.retries, Operations: operations, Err: err}
	if t.link != nil {
		call.Node, call.APINode = int(t.link.node), int(t.link.api.id)
	}
	return call
}

// retry counts a call that is done once more because of err, and tells of it.
func (t *trip) retry(ctx context.Context, c *Client, err error) {
	t.retries++
	c.schemaRetries.Add(1)
	if c.cfg.Trace.Retried != nil {
		c.cfg.Trace.Retried(ctx, Retry{Op: t.op, Table: t.table, Err: err})
	}
}

// abandoned tells of a transaction over l that its caller has left.
func (t *trip) abandoned(ctx context.Context, c *Client, l *link, err error) {
	if c.cfg.Trace.Abandoned != nil {
		c.cfg.Trace.Abandoned(ctx, Abandonment{Op: t.op, Table: t.table, Node: int(l.node), APINode: int(l.api.id), Err: err})
	}
}

// traceRead tells of a definition that was read; old is nil the first time, def
// where that failed.
func (c *Client) traceRead(t *Table, old, def *definition, begun time.Time, err error) {
	if c.cfg.Trace.TableRead == nil {
		return
	}
	read := TableRead{Table: t.String(), Again: old != nil, Took: time.Since(begun), Err: err}
	if err == nil {
		read.SameShape, read.RoundTrips = old == nil || old.sameShape(def), def.requests
	}
	c.cfg.Trace.TableRead(read)
}
