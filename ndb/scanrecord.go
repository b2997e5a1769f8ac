package ndb

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// scanState is a scan as the transaction record knows it on which it runs. The
// record's lock guards it, even when the record has gone on to something else.
// One caller takes batches of rows; the reader goroutines of all links bring
// them.
//
// Data nodes that are asked for the wrong thing stop, or drop us, so that three
// rules hold:
//   - A fragment pointer goes out once.
//   - After the close nothing goes out.
//   - Nothing goes out to a scan that is no more. The data nodes end one by
//     themselves when its last fragment is done. So the close goes out while we
//     hold a fragment pointer, without which they wait, or where a ScanTabRef
//     asks for it; until then it waits for the next batch.
type scanState struct {
	rec       *txRecord
	receivers []scanReceiver
	withRows  bool // what is read has words, so that TRANSID_AI comes for each row
	withKeys  bool // KEYINFO20 comes for each row
	batchRows int  // more rows in a batch are not what was asked for
	news      chan struct{}

	inFlight  int  // receivers whose batch is on its way
	held      int  // fragment pointers that have come and did not go out
	answered  bool // SCAN_TABCONF or SCAN_TABREF came
	ended     bool // the data nodes are done with the scan
	over      bool // no signal of it matters any more, and the record is given back
	closing   bool // nobody wants more rows
	closeDue  bool // SCAN_TABREF asked for the close
	closeSent bool
	since     time.Time // when it began to close, or the close was sent
	err       *Error
	then      *leaveAfter // waits for the end

	asked [1]signal.FragmentPointer // memory of ask

	closeAfterExecute bool // the caller's alone: see Scanner.Close
}

// newScanState returns a scan that startScan can start.
func newScanState(receivers, batchRows int, withRows, withKeys bool) *scanState {
	return &scanState{
		receivers: make([]scanReceiver, receivers), batchRows: batchRows, withRows: withRows, withKeys: withKeys,
		news: make(chan struct{}, 1),
	}
}

// startScan sends the request for a scan, on a record with an open transaction
// of which the coordinator does not know yet. The record then belongs to the
// scan, and goes back to its link by itself; also after an error, which says
// that nothing was sent. The IDs in the request must be of the given epoch of
// the cluster.
func (rec *txRecord) startScan(st *scanState, req *signal.ScanTabReq, epoch uint64) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	st.rec = rec
	switch {
	case rec.orphaned:
		st.end()
		return notSent(ErrNoNode)
	case rec.link.api.client.cluster.epoch.Load() != epoch:
		st.end()
		return errOtherCluster()
	}
	req.TC, req.TCPointer, req.TransID = rec.tc, rec.tcPointer, rec.transID
	for i := range st.receivers {
		st.receivers[i].inFlight = true
		req.Receivers = append(req.Receivers, rec.pointer(i))
	}
	st.inFlight = len(st.receivers)
	rec.scan, rec.phase = st, phaseScanning
	if err := transporter.Send(rec.link.conn, signal.BlockAPI, req, req.Sections()...); err != nil {
		st.end()
		return notSent(err)
	}
	return nil
}

// anyReceiver stands for all of them.
const anyReceiver = -1

// take waits for a batch of the given receiver, or of any, and puts it into b;
// the receiver goes on with the memory of b. It returns the receiver, or
// anyReceiver where nothing is on its way. An error of the scan comes before
// rows.
func (st *scanState) take(ctx context.Context, receiver int, b *scanBatch) (from int, err error) {
	for {
		st.rec.mu.Lock()
		from, coming := st.find(receiver)
		var scanErr error
		switch {
		case st.err != nil:
			scanErr = st.err
		case st.closing:
			scanErr = errScanIsOver
		}
		if scanErr == nil && from != anyReceiver {
			r := &st.receivers[from]
			*b, r.batch, r.ready = r.batch, *b, false
			r.batch.reset()
		}
		st.rec.mu.Unlock()
		switch {
		case scanErr != nil:
			return anyReceiver, scanErr
		case from != anyReceiver || !coming:
			return from, nil
		}
		if err := st.await(ctx); err != nil {
			return anyReceiver, err
		}
	}
}

// find returns a receiver with a batch that is ready. Without one, it tells
// whether one will come.
func (st *scanState) find(receiver int) (from int, coming bool) {
	first, last := receiver, receiver
	if receiver == anyReceiver {
		first, last = 0, len(st.receivers)-1
	}
	for i := first; i <= last; i++ {
		r := &st.receivers[i]
		if r.ready {
			return i, true
		}
		coming = coming || r.inFlight
	}
	return anyReceiver, coming
}

// await waits until something has changed.
func (st *scanState) await(ctx context.Context) error {
	select {
	case <-st.news:
		return nil
	case <-ctx.Done():
		return &Error{Status: StatusTemporary, Classification: ClassTimeout, Cause: ctx.Err()}
	}
}

// awaitAnswer waits until the data nodes have accepted the scan or refused it.
func (st *scanState) awaitAnswer(ctx context.Context) error {
	for {
		st.rec.mu.Lock()
		answered, err := st.answered, st.err
		st.rec.mu.Unlock()
		switch {
		case err != nil:
			return err
		case answered:
			st.notify() // for take, which may wait for what else has come
			return nil
		}
		if err := st.await(ctx); err != nil {
			return err
		}
	}
}

// awaitEnd waits until the record is given back. The scan must be closing.
func (st *scanState) awaitEnd(ctx context.Context) error {
	for {
		if st.isOver() {
			return nil
		}
		if err := st.await(ctx); err != nil {
			return err
		}
	}
}

// isOver tells whether the record is given back.
func (st *scanState) isOver() bool {
	st.rec.mu.Lock()
	defer st.rec.mu.Unlock()
	return st.over
}

// batchOf is the number of the receiver's latest batch.
func (st *scanState) batchOf(receiver int) int {
	st.rec.mu.Lock()
	defer st.rec.mu.Unlock()
	return st.receivers[receiver].batches
}

// ask asks for the next batch of a receiver, and tells whether there is one. The
// last one of it must have been taken, and its row locks are let go. Why that
// fails is for take to tell.
func (st *scanState) ask(receiver int) (asked bool) {
	st.rec.mu.Lock()
	defer st.rec.mu.Unlock()
	r := &st.receivers[receiver]
	if st.closing || st.ended || st.over || r.ready || r.inFlight || !r.next.IsValid() {
		return false
	}
	// The lock stays held, so that no close overtakes.
	st.asked[0], r.next = r.next, signal.FragmentPointer{}
	st.held--
	rec := st.rec
	req := signal.ScanNextReq{TC: rec.tc, TCPointer: rec.tcPointer, TransID: rec.transID, Fragments: st.asked[:]}
	if err := transporter.Send(rec.link.conn, signal.BlockAPI, &req); err != nil {
		// Only a link that is down, or as good as that, takes no such signal. The
		// data nodes clean up.
		st.err, st.closing = classify(4028), true
		st.err.Cause = err
		rec.link.conn.Fail(err)
		return false
	}
	r.inFlight, r.announced, r.gotWords = true, false, 0
	r.batches++
	st.inFlight++
	return true
}

// close ends the scan in the background, and may be called again. What waits
// for its end is done then, or at once where that was before; nil is nothing.
func (st *scanState) close(then *leaveAfter) {
	st.rec.mu.Lock()
	over := st.over
	if !over {
		st.closing = true
		if then != nil {
			st.then = then
		}
		st.settle()
	}
	st.rec.mu.Unlock()
	if over && then != nil {
		then.done()
	}
}

// leaveAfter leaves the record of a transaction once all its scans have ended.
type leaveAfter struct {
	rec     *txRecord
	pending atomic.Int32
}

func (a *leaveAfter) done() {
	if a.pending.Add(-1) == 0 {
		a.rec.leave()
	}
}

// All that follow are called with the record's lock held.

// settle does what follows from any change.
func (st *scanState) settle() {
	if st.closing && st.since.IsZero() {
		st.since = time.Now()
	}
	switch {
	case st.over:
	case st.ended && (st.closing || st.inFlight == 0):
		st.end()
		return
	case st.closing && !st.closeSent && (st.held > 0 || st.closeDue):
		st.closeSent, st.since = true, time.Now()
		rec := st.rec
		req := signal.ScanNextReq{TC: rec.tc, TCPointer: rec.tcPointer, TransID: rec.transID, Close: true}
		if err := transporter.Send(rec.link.conn, signal.BlockAPI, &req); err != nil {
			rec.link.conn.Fail(err) // The scan ends with the link.
		}
	}
	st.notify()
}

// end gives the record back.
func (st *scanState) end() {
	st.over = true
	st.rec.scan = nil
	st.rec.free()
	if st.then != nil {
		// A transaction's lock may be taken within that of its scan, never the
		// other way round.
		st.then.done()
	}
	st.notify()
}

// fail ends the scan for its caller. The data nodes may have to be asked to
// close it.
func (st *scanState) fail(err *Error) {
	if st.err == nil {
		st.err = err
	}
	st.closing = true
	st.settle()
}

func (st *scanState) notify() {
	select {
	case st.news <- struct{}{}:
	default: // There is a token already.
	}
}
