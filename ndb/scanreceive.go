package ndb

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// receiveScan handles the signals that only scans get. It runs on the link's
// reader goroutine. Signals for scans that are no more are dropped; an error
// says that the link cannot go on.
func (l *link) receiveScan(m *signal.Message) error {
	switch m.GSN {
	case signal.GSNScanTabConf:
		var s signal.ScanTabConf
		if err := s.Decode(m); err != nil {
			return err
		}
		return l.withScan(s.Pointer, s.TransID, func(st *scanState) error { return st.onConf(&s) })
	case signal.GSNScanTabRef:
		var s signal.ScanTabRef
		if err := s.Decode(m); err != nil {
			return err
		}
		return l.withScan(s.Pointer, s.TransID, func(st *scanState) error {
			st.onRefused(newError(s.Error, 0), s.CloseNeeded)
			return nil
		})
	case signal.GSNKeyInfo20:
		var s signal.KeyInfo20
		if err := s.Decode(m); err != nil {
			return err
		}
		return l.withScan(s.Receiver, s.TransID, func(st *scanState) error {
			st.onKey(operationOf(s.Receiver), &s)
			return nil
		})
	}
	return nil
}

// withScan calls handle with the lock of the record held, where the record
// still runs that scan.
func (l *link) withScan(pointer uint32, id signal.TransID, handle func(*scanState) error) error {
	rec := l.api.records.find(pointer)
	if rec == nil {
		return nil
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.phase != phaseScanning || rec.transID != id {
		return nil
	}
	return handle(rec.scan)
}

// receiveData hands the words of TRANSID_AI to the operation or the scan that
// reads them.
func (l *link) receiveData(s *signal.TransIDAI) {
	rec := l.api.records.find(s.Pointer)
	if rec == nil {
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.transID != s.TransID {
		return
	}
	switch rec.phase {
	case phaseExecuting, phaseEnding:
		rec.onData(operationOf(s.Pointer), s.Attributes)
	case phaseScanning:
		rec.scan.onRow(operationOf(s.Pointer), s.Attributes)
	default: // Nobody waits for it.
	}
}

// All that follow are called with the record's lock held.

// receiver returns a receiver that waits for rows, or nil.
func (st *scanState) receiver(n int) *scanReceiver {
	if n >= len(st.receivers) || !st.receivers[n].inFlight {
		return nil
	}
	return &st.receivers[n]
}

func (st *scanState) onRow(n int, attributes []byte) {
	r := st.receiver(n)
	if r == nil || st.closing {
		return
	}
	r.batch.words = append(r.batch.words, attributes...)
	r.batch.ends = append(r.batch.ends, len(r.batch.words))
	r.gotWords += uint32(len(attributes) / word.SizeBytes)
	st.check(r)
}

func (st *scanState) onKey(n int, s *signal.KeyInfo20) {
	r := st.receiver(n)
	if r == nil || st.closing {
		return
	}
	scanInfo, fragment := s.TakeOver()
	r.batch.keys = append(r.batch.keys, s.Key...)
	r.batch.locks = append(r.batch.locks, rowLock{keyEnd: len(r.batch.keys), scanInfo: scanInfo, fragment: fragment})
	r.gotWords += uint32(len(s.Key) / word.SizeBytes)
	st.check(r)
}

// onConf takes the sizes of batches, and the pointers to what follows them. One
// for a receiver that has not asked makes no sense: nobody could tell which of
// its pointers the data nodes know.
func (st *scanState) onConf(s *signal.ScanTabConf) error {
	st.answered, st.ended = true, st.ended || s.EndOfData
	for i := range s.Len() {
		pointer, fragment, rows, words := s.Op(i)
		r := st.receiver(operationOf(pointer))
		if pointer>>recordShift != st.rec.index || r == nil || r.announced {
			return fmt.Errorf("%w: a batch for receiver %#x, which has not asked", signal.ErrMessage, pointer)
		}
		r.announced, r.wantRows, r.wantWords = true, int(rows), words
		if r.next = fragment; fragment.IsValid() {
			st.held++
		}
		st.check(r)
	}
	if s.EndOfData {
		for i := range st.receivers {
			// No batch comes for who was not told.
			if r := &st.receivers[i]; r.inFlight && !r.announced {
				r.announced, r.wantRows, r.wantWords = true, 0, 0
				st.check(r)
			}
		}
	}
	st.settle()
	return nil
}

// check makes a batch ready once all of it has come.
func (st *scanState) check(r *scanReceiver) {
	rows, keys := len(r.batch.ends), len(r.batch.locks)
	switch {
	case max(rows, keys) > st.batchRows:
		st.failBatch("more than %d rows", st.batchRows)
		return
	case !r.announced || r.gotWords < r.wantWords || st.closing:
		return
	case r.gotWords > r.wantWords:
		st.failBatch("%d words, announced were %d", r.gotWords, r.wantWords)
		return
	case st.withRows && rows != r.wantRows, st.withKeys && keys != r.wantRows:
		st.failBatch("%d rows with %d keys, announced were %d", rows, keys, r.wantRows)
		return
	}
	r.batch.rows = r.wantRows
	r.inFlight, r.ready = false, true
	st.inFlight--
	st.settle()
}

// failBatch gives up a scan whose rows are not those that were announced.
func (st *scanState) failBatch(format string, args ...any) {
	st.fail(&Error{
		Status: StatusPermanent, Classification: ClassInternal,
		Cause: fmt.Errorf("the batch of a scan has "+format, args...),
	})
}

func (st *scanState) onRefused(err *Error, closeNeeded bool) {
	st.answered = true
	if closeNeeded {
		st.closeDue = true
	} else {
		st.ended = true
	}
	st.fail(err)
}

// onLinkLost is called when the link to the scan's coordinator is lost: no
// signal of it will come any more.
func (st *scanState) onLinkLost() {
	st.ended = true
	st.fail(classify(4028))
}

// onNodeLost is called when the link to a data node is lost. Rows that were on
// their way may be lost with it, and nobody would tell.
func (st *scanState) onNodeLost() {
	if st.inFlight > 0 {
		st.fail(classify(4028))
	}
}
