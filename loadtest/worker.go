package loadtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// worker sends operations, one after the other.
type worker struct {
	span     *span
	session  target.Session
	data     *dataset
	choose   *chooser
	random   *rand.Rand
	workload *Workload
	variant  Variant
	rec      *recorder
	pulse    *pulse
	pacer    *pacer // nil: a closed loop
	maxLag   time.Duration
	seen     models.Employee // what find first has found
	failures int             // one after the other, of a target that is down
}

// pulse is what is known of a cell while it runs, by all of its workers.
type pulse struct {
	ops, errors atomic.Int64
	lastDone    atomic.Int64 // when an operation was done, or failed for other reasons than a target that is down
	lastDown    atomic.Value // string: why the target is down
}

// run works until the span ends, or the context.
func (w *worker) run(ctx context.Context) {
	if w.pacer != nil {
		w.openLoop(ctx)
		return
	}
	for ctx.Err() == nil && w.span.now() < w.span.end() {
		if !w.span.claim() {
			return
		}
		now := w.span.now()
		if !w.one(ctx, now, now) {
			return
		}
	}
}

var errMaxOps = errors.New("as many operations as were asked for")

// lateAfter is how late an operation may be sent and still be on time.
const lateAfter = 5 * time.Millisecond

func (w *worker) openLoop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		at := w.pacer.next()
		if at >= w.span.end() {
			return
		}
		if !w.span.claim() {
			return
		}
		waited := w.sleepUntil(ctx, timer, at)
		now := w.span.now()
		measured := at >= w.span.warmup
		lag := now - at
		switch {
		case now >= w.span.end() || lag > w.maxLag:
			if measured && ctx.Err() == nil {
				w.rec.counts.dropped++
			}
			continue
		case lag > lateAfter && measured && waited:
			w.rec.counts.lateTimer++
			w.rec.counts.late++
		case lag > lateAfter && measured:
			w.rec.counts.late++
		}
		if !w.one(ctx, at, now) {
			return
		}
	}
}

// sleepUntil waits for the time, and tells whether it had to.
func (w *worker) sleepUntil(ctx context.Context, timer *time.Timer, at time.Duration) bool {
	wait := at - w.span.now()
	if wait <= 0 {
		return false
	}
	timer.Reset(wait)
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-w.span.cutOff:
	}
	return true
}

// one does one operation. It returns false where the worker is to end.
func (w *worker) one(ctx context.Context, scheduled, sent time.Duration) bool {
	op, index := w.draw()
	rows, err := w.do(ctx, op)
	ended := w.span.now()
	switch {
	case errors.Is(err, errNoRows), errors.Is(err, errFullRows), errors.Is(err, errNoIDs):
		w.span.cut(err)
		return false
	case ctx.Err() != nil: // the error may be that of the context
		return false
	}
	w.rec.record(done{op: index, scheduled: scheduled, sent: sent, ended: ended, rows: rows, err: err})
	if err == nil {
		w.failures = 0
		w.pulse.ops.Add(1)
		w.pulse.lastDone.Store(int64(ended))
		return true
	}
	w.pulse.errors.Add(1)
	if !target.IsDown(err) {
		w.failures = 0
		w.pulse.lastDone.Store(int64(ended))
		return true
	}
	w.pulse.lastDown.Store(err.Error())
	return w.pause(ctx)
}

// pause waits the longer the more operations have failed, so that a target that
// refuses at once is not asked without end. It returns false where the worker is
// to end.
func (w *worker) pause(ctx context.Context) bool {
	wait := min(time.Millisecond<<min(w.failures, 7), 100*time.Millisecond)
	w.failures++
	if w.pacer != nil {
		return true // the schedule bounds what is sent
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-w.span.cutOff:
		return false
	}
}

func (w *worker) draw() (op Op, index int) {
	if len(w.workload.Mix) == 1 {
		return w.workload.Mix[0].Op, 0
	}
	place := w.random.IntN(w.workload.weight())
	for i, share := range w.workload.Mix {
		if place < share.Weight {
			return share.Op, i
		}
		place -= share.Weight
	}
	panic("loadtest: weights of a mix changed")
}

// listLimit is the most rows that a list asks for.
const listLimit = 100

func (w *worker) do(ctx context.Context, op Op) (rows int, err error) {
	switch op {
	case Insert:
		return 1, w.insert(ctx)
	case Select:
		return 1, w.session.Select(ctx, w.choose.id(), nil)
	case Update:
		return 1, w.update(ctx)
	case Delete:
		return 1, w.delete(ctx)
	case List:
		return w.session.List(ctx, cityName(w.random.Uint64()), listLimit)
	case Bulk:
		return w.insertMany(ctx)
	default:
		panic("loadtest: unknown operation " + string(op))
	}
}

func (w *worker) insert(ctx context.Context) error {
	id, err := w.data.newIDs(1)
	if err != nil {
		return err
	}
	e := row(w.data.seed, id)
	err = w.session.Insert(ctx, &e)
	switch {
	case err == nil:
		w.data.leave(id)
	case mayBeDone(err):
		w.data.doubt(id)
	}
	return err
}

// bulkRows is how many rows a batch has.
const bulkRows = 100

var errNoBatches = errors.New("the target has no batches")

func (w *worker) insertMany(ctx context.Context) (rows int, err error) {
	batches, ok := w.session.(target.Batches)
	if !ok {
		return 0, errNoBatches
	}
	first, err := w.data.newIDs(bulkRows)
	if err != nil {
		return 0, err
	}
	employees, ids := make([]models.Employee, bulkRows), make([]int64, bulkRows)
	for i := range employees {
		ids[i] = first + int64(i)
		employees[i] = row(w.data.seed, ids[i])
	}
	err = batches.InsertAll(ctx, employees)
	switch {
	case err == nil:
		w.data.leave(ids...)
	case mayBeDone(err):
		w.data.doubt(ids...)
	}
	return bulkRows, err
}

// mayBeDone tells whether a write that ended with the error may have been done
// all the same.
func mayBeDone(err error) bool {
	switch target.Kind(err) {
	case target.NotFound, target.Conflict, target.Invalid, target.Unavailable:
		return false
	default:
		return true
	}
}

func (w *worker) update(ctx context.Context) error {
	id := w.choose.id()
	if w.variant == FindFirst {
		if err := w.session.Select(ctx, id, &w.seen); err != nil {
			return err
		}
	}
	first, last := newNames(id, w.data.token.Add(1))
	return w.session.Update(ctx, id, first, last)
}

func (w *worker) delete(ctx context.Context) error {
	id, err := w.data.take()
	if err != nil {
		return err
	}
	if w.variant == FindFirst {
		err = w.session.Select(ctx, id, &w.seen)
	}
	if err == nil {
		err = w.session.Delete(ctx, id)
	}
	if err != nil && target.Kind(err) != target.NotFound {
		w.data.doubt(id)
	}
	return err
}
