package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ndbgate/ndbgate/store"
)

const (
	ndjsonType = "application/x-ndjson"
	csvType    = "text/csv"
)

// Limits of streams, which have no deadline as a whole. What they do in the
// database at a time has that of a request.
const (
	defaultMaxStreams     = 8
	defaultStreamIdle     = time.Minute
	defaultStreamPatience = 30 * time.Second

	// maxLineBytes is the longest line, or record of CSV, of an import.
	maxLineBytes = 64 << 10

	firstStreamPause = 100 * time.Millisecond // between tries of a road that cannot serve
	maxStreamPause   = 2 * time.Second
)

// streamRows is what streams need of a road.
type streamRows interface {
	store.Employees
	store.Batches
	store.Streams
}

// stopping is why streams end when the gateway stops.
func stopping() *problem {
	return newProblem(codeStopping, "what was done until now stays done; go on by another gateway, or once this one is back").withHeader("Retry-After", retryAfterSeconds)
}

// streaming adapts a handler that streams by a road. At most maxStreams of them
// run at once. The handler answers by itself, or returns an error before it has
// begun to.
func (s *server) streaming(h func(x *exchange, rows streamRows) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: w, r: r, ctx: context.WithoutCancel(r.Context()), begun: time.Now()}
		w.Header().Set("Vary", s.vary)
		s.finish(x, s.stream(x, h))
	}
}

func (s *server) stream(x *exchange, h func(x *exchange, rows streamRows) error) error {
	if err := s.chooseRoad(x); err != nil {
		return err
	}
	for _, name := range []string{compareHeader, idempotencyHeader} {
		if _, given := x.r.Header[name]; given {
			return refuseHeader(name, "unsupported", "is not for calls that stream")
		}
	}
	rows, ok := x.store.(streamRows)
	if !ok {
		return errors.New("the backend " + x.road + " has no streams")
	}
	select {
	case <-s.stopping:
		return stopping()
	default:
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return newProblem(codeTooManyStreams, "the gateway takes "+strconv.Itoa(cap(s.streams))+" at a time; nothing was done, try again later").
			withHeader("Retry-After", retryAfterSeconds)
	}
	return h(x, rows)
}

// idleBody is the body of a stream: each read may take a time of its own, and
// another goroutine may end the reading.
type idleBody struct {
	r     *http.Request
	conn  *http.ResponseController
	limit time.Duration

	mu      sync.Mutex // guards stopped, and with it the deadline of reads
	stopped bool
}

// errBodyStopped is the error of reads after stop.
var errBodyStopped = errors.New("the body is read no further")

func (b *idleBody) Read(p []byte) (int, error) {
	if !b.begin() {
		return 0, errBodyStopped
	}
	n, err := b.r.Body.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && b.isStopped() {
		err = errBodyStopped
	}
	return n, err
}

func (b *idleBody) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopped {
		setDeadline(b.conn.SetReadDeadline, b.limit)
	}
	return !b.stopped
}

func (b *idleBody) isStopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped
}

// stop ends all later reads, and one that waits after a while: a body of which a
// read was cut off cannot be read any more.
func (b *idleBody) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopped {
		b.stopped = true
		setDeadline(b.conn.SetReadDeadline, lingerTime)
	}
}

// setDeadline sets a deadline from now on; 0 means none. Some writers of tests
// have no connection; every real one can do it.
func setDeadline(set func(time.Time) error, in time.Duration) {
	var at time.Time
	if in != 0 {
		at = time.Now().Add(in)
	}
	_ = set(at)
}

// bodyProblem tells what is wrong where a body ended with the error.
func bodyProblem(err error) *problem {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return newProblem(codeBodyTimeout, "nothing came for too long")
	}
	return newProblem(codeIncompleteBody, "rows behind its last whole line are lost")
}

// patience is the tries of one piece of work of a stream at a road that cannot
// serve for a while.
type patience struct {
	until time.Time
	pause time.Duration
}

func newPatience(d time.Duration) *patience {
	return &patience{until: time.Now().Add(d), pause: firstStreamPause}
}

// wait waits before another try, and tells whether there is to be one.
func (p *patience) wait(ctx context.Context) bool {
	if time.Now().Add(p.pause).After(p.until) {
		return false
	}
	timer := time.NewTimer(p.pause)
	defer timer.Stop()
	p.pause = min(2*p.pause, maxStreamPause)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// mayServeLater tells an error of a road that promises that nothing was done,
// and that a later try may help.
func mayServeLater(err error) bool {
	return !errors.Is(err, store.ErrUnknownOutcome) &&
		(errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded))
}

// encodeLine makes a line of NDJSON.
func encodeLine(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("api: a line that cannot be encoded: " + err.Error())
	}
	return append(text, '\n')
}
