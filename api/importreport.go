package api

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxListedErrors is how many wrong lines an import lists; it counts all.
const maxListedErrors = 1000

// Types of the lines of an import's answer.
const (
	lineProgress = "progress"
	lineError    = "line_error"
	lineSummary  = "summary"
)

// importCounts is what became of the rows of an import so far.
type importCounts struct {
	Rows    int64 `json:"rows"`    // read, good or not
	Written int64 `json:"written"` // created or replaced
	Skipped int64 `json:"skipped"` // their ids exist
	Failed  int64 `json:"failed"`  // surely not written
	Unknown int64 `json:"unknown"` // may be written or not
}

type progressLine struct {
	Type string `json:"type"`
	importCounts
	Seconds seconds `json:"seconds"`
}

type errorLine struct {
	Type  string   `json:"type"`
	Line  int      `json:"line"`        // from 1 on; of CSV the one in which the record begins
	ID    int64    `json:"id,omitzero"` // where the line has one
	Error *problem `json:"error"`
}

type summaryLine struct {
	Type     string `json:"type"`
	Complete bool   `json:"complete"` // every line of the body was looked at
	importCounts
	Unlisted   int64    `json:"unlisted"` // of failed and unknown, those without a line of their own
	Seconds    seconds  `json:"seconds"`
	Durability string   `json:"durability,omitempty"`
	Line       int      `json:"line,omitzero"` // that ended the import
	Error      *problem `json:"error,omitempty"`
}

// seconds has three decimals in JSON.
type seconds float64

// MarshalJSON implements json.Marshaler.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s), 'f', 3, 64), nil
}

// report is the answer of an import while it runs. A goroutine of its own writes
// it, so that an import does not wait for a client that sends everything before
// it reads anything: what waits is bounded, because errors are, and of progress
// only the last line is kept.
type report struct {
	w    http.ResponseWriter
	conn *http.ResponseController

	mu       sync.Mutex // guards all below
	waiting  []byte
	progress []byte
	started  bool
	closed   bool

	wake   chan struct{} // holds one
	broken chan struct{} // closed once nothing can be written any more
	done   chan struct{} // closed when the goroutine has ended
}

func newReport(x *exchange, conn *http.ResponseController) *report {
	r := &report{
		w: x.w, conn: conn,
		wake: make(chan struct{}, 1), broken: make(chan struct{}), done: make(chan struct{}),
	}
	setDeadline(conn.SetWriteDeadline, 0)
	go r.run() // ends with close
	return r
}

// add adds a line, which sooner or later is sent. A progress line takes the
// place of one that still waits.
func (r *report) add(line any) {
	text := encodeLine(line)
	r.mu.Lock()
	if _, ok := line.(progressLine); ok {
		r.progress = text
	} else {
		r.waiting = append(r.waiting, text...)
	}
	r.started = true
	r.mu.Unlock()
	r.signal()
}

func (r *report) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// hasStarted tells whether anything of the answer was sent or will be.
func (r *report) hasStarted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

// close sends what waits, within the limit, and ends the report.
func (r *report) close(limit time.Duration) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	setDeadline(r.conn.SetWriteDeadline, limit)
	r.signal()
	<-r.done
	setDeadline(r.conn.SetWriteDeadline, 0)
}

func (r *report) run() {
	defer close(r.done)
	for range r.wake {
		text, last := r.take()
		if len(text) > 0 {
			if _, err := r.w.Write(text); err != nil {
				close(r.broken)
				break
			}
			_ = r.conn.Flush() // an error shows at the next write
		}
		if last {
			return
		}
	}
	for range r.wake { // nobody reads: wait for close
		if _, last := r.take(); last {
			return
		}
	}
}

// take returns what is to be sent, and whether nothing will come behind it.
func (r *report) take() (text []byte, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text = r.waiting
	if !r.closed { // else the summary says more
		text = append(text, r.progress...)
	}
	r.waiting, r.progress = nil, nil
	return text, r.closed
}
