package ndb

import (
	"context"
	"errors"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// maxScansInTx is how many scans of one transaction may be open at once. They
// take no slots: transactions that waited for those of each other would wait for
// good.
const maxScansInTx = 8

// Errors of scans in transactions.
var (
	errTooManyScans = errors.New("ndb: too many scans of one transaction are open")
	errNoLock       = errors.New("ndb: the scan holds no lock of the row: it needs ExclusiveLock, and a row")
	errLockIsGone   = errors.New("ndb: the scan has ended, and its lock of the row with it")
)

// Scan starts a scan in the transaction: it sees what that has written, and may
// lock the rows. Commit, Rollback and Close of the transaction end it. See
// Client.Scan for all else.
func (tx *Tx) Scan(ctx context.Context, scan Scan) (*Scanner, error) {
	if tx.rec == nil {
		return nil, errTxOver
	}
	tx.forgetScans()
	if len(tx.scans) >= maxScansInTx {
		return nil, errTooManyScans
	}
	return tx.client.startScan(ctx, &scan, tx)
}

// scanRecord takes a record beside that of the transaction, for a scan with the
// transaction's ID.
func (tx *Tx) scanRecord(ctx context.Context) (rec *txRecord, buddy uint32, err error) {
	rec, err = tx.rec.link.acquireBeside(ctx, tx.rec.tc)
	if err != nil {
		return nil, 0, err
	}
	rec.begin(tx.rec.transID, nil)
	return rec, tx.rec.tcPointer, nil
}

// acquireBeside takes a free record of one coordinator instance, or seizes one.
func (l *link) acquireBeside(ctx context.Context, tc signal.TCRef) (*txRecord, error) {
	if rec := l.takeFree(tc); rec != nil {
		return rec, nil
	}
	rec, err := l.seize(ctx, tc.Block().Instance())
	if err != nil {
		return nil, err
	}
	if rec.tc != tc {
		l.release(rec)
		return nil, &Error{Status: StatusTemporary, Classification: ClassResource, Cause: errOtherInstance}
	}
	return rec, nil
}

var errOtherInstance = errors.New("the data node gave a record of another coordinator")

func (l *link) takeFree(tc signal.TCRef) *txRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, rec := range l.free {
		// Records that are free keep their coordinator.
		if rec.tc == tc {
			last := len(l.free) - 1
			l.free[i] = l.free[last]
			l.free = l.free[:last]
			rec.fresh = false
			return rec
		}
	}
	return nil
}

// takeOver is how an operation takes over the lock that a scan holds of a row.
type takeOver struct {
	scan               *scanState
	receiver, batch    int // whose rows the scan holds locks of
	scanInfo, fragment uint32
}

// held returns nil as long as the scan holds the lock.
func (t *takeOver) held() error {
	t.scan.rec.mu.Lock()
	defer t.scan.rec.mu.Unlock()
	switch {
	case t.scan.err != nil:
		return t.scan.err
	case t.scan.closing || t.scan.over || t.scan.receivers[t.receiver].batches != t.batch:
		return errLockIsGone
	}
	return nil
}

// Update changes columns of the row that Next has gone to, and keeps its lock
// until the transaction ends. The key columns of v, where it has any, do not
// count. The scan must be one with ExclusiveLock. The operation gathers with the
// others of the transaction, and Execute or Commit sends them; so does Next, when
// it must go on behind the rows that the scan has locked.
func (s *Scanner) Update(v *Values) *Operation {
	op := &Operation{kind: opUpdate}
	op.err = s.setTakeOver(op)
	if op.err == nil {
		op.err = v.err
	}
	if op.err == nil && !s.plan.def.takes(v.def) {
		op.err = errStale
	}
	if op.err == nil {
		op.attrInfo = v.appendWithoutKey(nil)
		if len(op.keyInfo)+len(op.attrInfo) > signal.MaxSectionBytes {
			op.err = errTooLarge
		}
	}
	return s.gather(op)
}

// Delete removes the row that Next has gone to; see Update.
func (s *Scanner) Delete() *Operation {
	op := &Operation{kind: opDelete}
	op.err = s.setTakeOver(op)
	return s.gather(op)
}

func (s *Scanner) gather(op *Operation) *Operation {
	if s.tx == nil || s.tx.rec == nil {
		return op // Its error says why; nothing could carry it.
	}
	return s.tx.add(op)
}

// setTakeOver makes op one on the current row, of the table as the scan has begun
// with it: the caller's projection may be older, and of a table that was dropped
// since. Where it was altered since, the data nodes still take the older version,
// also with values of newer columns. The key is copied: the batch may be gone
// when it is sent.
func (s *Scanner) setTakeOver(op *Operation) error {
	h := s.current
	op.table, op.version = s.scan.Table, s.plan.def
	switch {
	case s.tx == nil || s.scan.Lock != ExclusiveLock || h == nil:
		return errNoLock
	case s.tx.rec == nil:
		return errTxOver
	}
	key, lock := h.batch.lock(h.at)
	op.keyInfo = append([]byte(nil), key...)
	op.takeOver = &takeOver{
		scan: s.state, receiver: h.receiver, batch: s.state.batchOf(h.receiver),
		scanInfo: lock.scanInfo, fragment: lock.fragment,
	}
	return op.takeOver.held()
}

// takesOverFrom tells whether operations wait that take over locks of the scan.
func (tx *Tx) takesOverFrom(st *scanState) bool {
	for _, op := range tx.ops {
		if op.err == nil && op.takeOver != nil && op.takeOver.scan == st {
			return true
		}
	}
	return false
}

// forgetScans drops scans that are over.
func (tx *Tx) forgetScans() {
	open := tx.scans[:0]
	for _, st := range tx.scans {
		if !st.isOver() {
			open = append(open, st)
		}
	}
	clear(tx.scans[len(open):])
	tx.scans = open
}

// closeScans ends the scans that were closed while operations waited for their
// locks, which have been executed.
func (tx *Tx) closeScans() {
	for _, st := range tx.scans {
		if st.closeAfterExecute {
			st.close(nil)
		}
	}
}

// endScans ends all scans and waits for that: a transaction does not end before
// they do. What takes over their locks is executed first.
func (tx *Tx) endScans(ctx context.Context) error {
	for _, st := range tx.scans {
		if !tx.takesOverFrom(st) {
			continue
		}
		err := tx.sendable()
		if err == nil {
			err = tx.run(ctx, false)
		}
		if err != nil {
			return err
		}
	}
	for _, st := range tx.scans {
		st.close(nil)
	}
	ctx, cancel := tx.client.bounded(ctx)
	defer cancel()
	for _, st := range tx.scans {
		if err := st.awaitEnd(ctx); err != nil {
			return err
		}
	}
	tx.scans = nil
	return nil
}

// leave ends the transaction in the background, after its scans.
func (tx *Tx) leave() {
	after := &leaveAfter{rec: tx.rec}
	after.pending.Store(int32(len(tx.scans)) + 1)
	for _, st := range tx.scans {
		st.close(after)
	}
	after.done()
	tx.rec, tx.scans = nil, nil
}

// abandonScans ends the scans of a transaction that was abandoned.
func (tx *Tx) abandonScans() {
	for _, st := range tx.scans {
		st.close(nil)
	}
	tx.scans = nil
}
