package ndb

import (
	"context"
	"errors"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// DefaultBatchWindow is how many transactions of a Batch are in flight at most
// where BatchOptions does not say.
const DefaultBatchWindow = 512

// trainOps is how many operations for one node leave together at most.
const trainOps = 64

// BatchOptions change how a Batch works.
type BatchOptions struct {
	// Window is how many transactions may be in flight at once. The default is
	// DefaultBatchWindow. Config.MaxTransactions bounds it too.
	Window int
	// Result is called once for every operation, with the number that the call
	// which added it returned, and with the error as of a single operation. It
	// runs on the goroutine that uses the Batch, inside its calls.
	Result func(n int, err error)
}

// Batch runs many transactions of one operation each, with many of them in
// flight: the way to move many rows that do not depend on each other. Each
// operation has its own outcome. Calls block while the window is full, so
// memory is bounded. Not safe for concurrent use.
type Batch struct {
	client   *Client
	ctx      context.Context
	opts     BatchOptions
	done     chan *txRecord
	inFlight map[*txRecord]struct{}
	trains   map[*link]*train
	items    []*batchItem // free ones
	next     int
	gci      GCI // the latest
	cancel   context.CancelFunc
	caller   context.Context // that ctx comes from
	begun    time.Time       // zero where nobody wants to know
	trip     trip
}

// batchItem is one operation on its way.
type batchItem struct {
	n  int
	op Operation
}

// train is what gathers for one node.
type train struct {
	out     transporter.Batch
	records []*txRecord
}

// NewBatch returns a Batch whose operations all end with the context: those in
// flight then have an unknown outcome, those that were not sent were not done.
// Wait must be called at the end.
func (c *Client) NewBatch(ctx context.Context, opts BatchOptions) *Batch {
	if opts.Window <= 0 {
		opts.Window = DefaultBatchWindow
	}
	if opts.Result == nil {
		opts.Result = func(int, error) {}
	}
	caller := ctx
	ctx, cancel := context.WithCancel(ctx)
	return &Batch{
		client: c, ctx: ctx, cancel: cancel, opts: opts, caller: caller, begun: c.callBegins(), trip: trip{op: CallBatch},
		done:     make(chan *txRecord, opts.Window),
		inFlight: make(map[*txRecord]struct{}, opts.Window),
		trains:   map[*link]*train{},
	}
}

// Insert adds a row; see Client.Insert. The values may be used again at once.
func (b *Batch) Insert(v *Values) (n int) { return b.write(opInsert, v) }

// Update changes a row; see Client.Update. The values may be used again at once.
func (b *Batch) Update(v *Values) (n int) { return b.write(opUpdate, v) }

// Write inserts or changes a row; see Client.Write. The values may be used again
// at once.
func (b *Batch) Write(v *Values) (n int) { return b.write(opWrite, v) }

// Delete removes a row; see Client.Delete. The key may be used again at once.
func (b *Batch) Delete(key *Values) (n int) { return b.write(opDelete, key) }

// Read reads a row; see Client.Read. The key may be used again at once; the row
// is the operation's until its result is given.
func (b *Batch) Read(key *Values, columns *Projection, row *Row) (n int) {
	item := b.newItem(opRead)
	return b.start(item, item.op.setRead(key, columns, row))
}

func (b *Batch) write(kind opKind, v *Values) int {
	item := b.newItem(kind)
	return b.start(item, item.op.setWrite(v))
}

func (b *Batch) newItem(kind opKind) *batchItem {
	item := &batchItem{}
	if last := len(b.items) - 1; last >= 0 {
		item, b.items = b.items[last], b.items[:last]
	}
	item.n, item.op.kind = b.next, kind
	b.next++
	return item
}

// start sends the operation, or puts it on its node's train.
func (b *Batch) start(item *batchItem, err error) int {
	n := item.n
	if err == nil && b.ctx.Err() != nil {
		err = notSent(b.ctx.Err())
	}
	if err != nil {
		b.finish(item, err)
		return n
	}
	for len(b.inFlight) >= b.opts.Window && b.ctx.Err() == nil {
		b.await()
	}
	b.collect()
	if b.ctx.Err() != nil {
		b.finish(item, notSent(b.ctx.Err()))
		return n
	}
	rec, err := b.record(&item.op)
	if err != nil {
		b.finish(item, b.client.explain(&item.op, err))
		return n
	}
	b.board(rec, item)
	return n
}

// record takes a record, waiting for this batch's own where there is no other.
func (b *Batch) record(op *Operation) (*txRecord, error) {
	for {
		ctx, cancel := ended, func() {} // do not wait for what only we can give back
		if len(b.inFlight) == 0 {
			ctx, cancel = b.client.bounded(b.ctx)
		}
		rec, err := b.client.beginOn(ctx, op)
		cancel()
		if err == nil || len(b.inFlight) == 0 || !errors.Is(err, context.Canceled) || b.ctx.Err() != nil {
			return rec, err
		}
		b.await()
	}
}

// ended is a context for a try that may not wait.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// board puts the operation on the train of its node.
func (b *Batch) board(rec *txRecord, item *batchItem) {
	rec.item = item
	rec.setSink(b.done)
	item.op.alone[0] = &item.op
	if err := rec.prepare(item.op.alone[:], true); err != nil {
		rec.leave()
		b.client.learn(b.ctx, &item.op, err)
		b.finish(item, err)
		return
	}
	b.inFlight[rec] = struct{}{}
	t := b.trains[rec.link]
	if t == nil {
		t = &train{}
		t.out.Reset(rec.link.conn)
		b.trains[rec.link] = t
	}
	op := &item.op
	req := op.request(rec, 0)
	req.Flags |= placeFlags(true, true, true)
	rec.started = true
	if len(op.attrInfo) == 0 {
		transporter.Append(&t.out, signal.BlockAPI, &req, op.keyInfo)
	} else {
		transporter.Append(&t.out, signal.BlockAPI, &req, op.keyInfo, op.attrInfo)
	}
	t.records = append(t.records, rec)
	if len(t.records) >= trainOps {
		b.depart(rec.link, t)
	}
}

// depart sends a train. Where the link's queue is full it waits for answers,
// which make room; where the link is lost, nothing of it was done.
func (b *Batch) depart(l *link, t *train) {
	err := t.out.Send()
	for errors.Is(err, transporter.ErrQueueFull) && len(b.inFlight) > len(t.records) && b.ctx.Err() == nil {
		b.take()
		err = t.out.Send()
	}
	if err != nil {
		for _, rec := range t.records {
			b.refuse(rec, err)
		}
		delete(b.trains, l)
		return
	}
	b.trip.waits++
	t.records = t.records[:0]
}

// refuse ends an operation that was not sent.
func (b *Batch) refuse(rec *txRecord, cause error) {
	if _, ok := b.inFlight[rec]; !ok {
		return
	}
	delete(b.inFlight, rec)
	item := rec.item
	rec.started = false
	err := rec.unsentToSink(cause)
	rec.leave()
	b.finish(item, b.client.explain(&item.op, err))
}

func (b *Batch) departAll() {
	for l, t := range b.trains {
		if len(t.records) > 0 {
			b.depart(l, t)
		}
	}
}

// await sends what gathers and waits for one answer.
func (b *Batch) await() {
	b.departAll()
	if len(b.inFlight) > 0 {
		b.take()
	}
}

// take waits for one answer; when the context ends it gives up all that are
// missing.
func (b *Batch) take() {
	select {
	case rec := <-b.done:
		b.land(rec)
	case <-b.ctx.Done():
		b.abandonAll()
	}
}

// collect takes the answers that have come, without waiting.
func (b *Batch) collect() {
	for {
		select {
		case rec := <-b.done:
			b.land(rec)
		default:
			return
		}
	}
}

// land gives the result of a record whose transaction is over.
func (b *Batch) land(rec *txRecord) {
	if _, ok := b.inFlight[rec]; !ok {
		return // It was refused, and its link was lost at that moment.
	}
	delete(b.inFlight, rec)
	item := rec.item
	gci, err := rec.outcome()
	b.gci = max(b.gci, gci)
	rec.leave()
	if err == nil {
		err = item.op.err
	}
	if err == nil && item.op.row != nil {
		err = item.op.row.decode()
	}
	b.client.learn(b.ctx, &item.op, err)
	b.finish(item, b.client.explain(&item.op, err))
}

// abandonAll leaves all that is in flight to itself; what was not sent was not
// done.
func (b *Batch) abandonAll() {
	for _, t := range b.trains {
		for _, rec := range t.records {
			b.refuse(rec, b.ctx.Err())
		}
	}
	clear(b.trains)
	for rec := range b.inFlight {
		item := rec.item
		over, err := rec.abandonInFlight(b.ctx.Err())
		if over {
			continue // Its answer is in the channel.
		}
		delete(b.inFlight, rec)
		trip := trip{op: callOps[item.op.kind], table: item.op.table}
		trip.abandoned(b.caller, b.client, rec.link, err)
		b.finish(item, b.client.explain(&item.op, err))
	}
	b.collect()
}

// finish gives the result and takes the item back.
func (b *Batch) finish(item *batchItem, err error) {
	n := item.n
	*item = batchItem{op: Operation{buf: item.op.buf[:0]}}
	b.items = append(b.items, item)
	b.opts.Result(n, err)
}

// GCI is the latest global checkpoint of the commits whose results were given,
// UnknownGCI where that of one is not known; see Client.WaitDurable. It is 0 where
// nothing was written.
func (b *Batch) GCI() GCI { return b.gci }

// Wait waits until every operation has its result.
func (b *Batch) Wait() {
	b.departAll()
	for len(b.inFlight) > 0 {
		b.await()
	}
	b.cancel()
	if !b.begun.IsZero() {
		b.client.callEnds(b.caller, b.begun, b.trip.call(b.next, b.caller.Err()))
	}
}
