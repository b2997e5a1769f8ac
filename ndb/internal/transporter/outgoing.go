package transporter

import (
	"sync"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

const (
	// reserveBytes is what a full queue still takes of signals that finish
	// work, and once more of heartbeats.
	reserveBytes = 64 << 10
	// keepBufferBytes bounds the buffer that is kept for the next write.
	keepBufferBytes = 1 << 20
)

// outgoing is the queue of what leaves. Whoever finds it without a writer takes
// the pen, and writes until it is empty or hands the pen on: at most one
// goroutine writes, and what others append meanwhile leaves in its next write.
type outgoing struct {
	maxBytes int

	mu      sync.Mutex // guards all below
	pending []byte     // whole messages
	spare   []byte     // empty, to become pending
	calls   int        // how many appended to pending
	signals int        // how many are in pending
	taken   int        // bytes of the write in progress
	penHeld bool
	crowded bool // several callers had gathered at the last write
	err     error
}

// limitFor is how much may wait where a signal is appended. New work stops
// first; what lets the data nodes free their records comes next; without
// heartbeats they would drop us.
func (q *outgoing) limitFor(gsn signal.GSN) int {
	switch gsn {
	case signal.GSNAPIRegReq:
		return q.maxBytes + 2*reserveBytes
	case signal.GSNTCCommitAck, signal.GSNTCCommitReq, signal.GSNTCRollbackReq, signal.GSNTCReleaseReq, signal.GSNScanNextReq:
		return q.maxBytes + reserveBytes
	default:
		return q.maxBytes
	}
}

// check tells why n more bytes cannot be appended. The caller holds mu.
func (q *outgoing) check(n, limit int) error {
	if q.err != nil {
		return q.err
	}
	if q.taken+len(q.pending)+n > limit {
		return ErrQueueFull
	}
	return nil
}

// appended makes grown the pending messages. The caller holds mu. It must write
// where it gets the pen.
func (q *outgoing) appended(grown []byte, signals int) (pen, crowded bool) {
	q.pending = grown
	q.signals += signals
	q.calls++
	if q.penHeld {
		return false, false
	}
	q.penHeld = true
	return true, q.crowded
}

// copyIn appends messages, or nothing of them.
func (q *outgoing) copyIn(messages []byte, signals int) (pen, crowded bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(len(messages), q.maxBytes); err != nil {
		return false, false, err
	}
	pen, crowded = q.appended(append(q.pending, messages...), signals)
	return pen, crowded, nil
}

// encode appends what f does. Its size is not known before: up to one message
// more than the limit.
func (q *outgoing) encode(signals int, f func(dst []byte) []byte) (pen, crowded bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(0, q.maxBytes); err != nil {
		return false, false, err
	}
	pen, crowded = q.appended(f(q.pending), signals)
	return pen, crowded, nil
}

// takePen takes the pen where nobody has it.
func (q *outgoing) takePen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.penHeld {
		return false
	}
	q.penHeld = true
	return true
}

// next gives the holder of the pen what to write. It takes back the buffer of
// the last write, if any. With nothing to write the pen is put down.
func (q *outgoing) next(written []byte) (buf []byte, signals int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cap(written) > 0 && cap(written) <= keepBufferBytes {
		q.spare = written[:0]
	}
	if len(q.pending) == 0 || q.err != nil {
		q.taken, q.penHeld = 0, false
		return nil, 0
	}
	buf, signals = q.pending, q.signals
	q.crowded = q.calls > 1
	q.pending, q.spare = q.spare, nil
	q.taken, q.calls, q.signals = len(buf), 0, 0
	return buf, signals
}

// wrote tells how much of the write in progress is done.
func (q *outgoing) wrote(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken -= n
}

// putDownIfEmpty puts the pen down where there is nothing to write.
func (q *outgoing) putDownIfEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) > 0 {
		return false
	}
	q.penHeld = false
	return true
}

// close makes all later appends fail with err, and drops what is pending.
func (q *outgoing) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.pending, q.spare, q.calls, q.signals = nil, nil, 0, 0
	}
}

func (q *outgoing) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}
