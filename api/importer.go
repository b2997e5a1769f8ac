package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
)

const (
	// importWriters is how many goroutines of an import write at once, each a
	// chunk of at most chunkRows rows at a time.
	importWriters = 4
	chunkRows     = 512
	// chunkDelay is how long a row waits for others to come.
	chunkDelay = 100 * time.Millisecond

	progressEvery = time.Second

	// lingerTime is for how long the rest of a body is thrown away after an answer
	// that did not wait for it: a client that only sends, and is cut off at once,
	// may lose the answer.
	lingerTime  = 2 * time.Second
	lingerBytes = 32 << 10 // at a time
)

// errClientLeft ends an import whose client reads no more.
var errClientLeft = errors.New("the client has left")

// importer is an import while it runs.
//
//	read ── rows ──► distribute ── chunks, by id ──► write, importWriters times
//	  │                                                │
//	  └────── events: wrong lines, outcomes ───────────┴──► run ──► report ──► client
//
// Rows with the same id go the same way and one after another, so that the later
// line wins. Each stage waits for the next one, down to the client that sends.
type importer struct {
	s    *server
	x    *exchange
	rows streamRows
	opts importOptions
	body *idleBody

	// stopped ends what need not go on; chunks under way end by themselves.
	stopped context.Context
	stop    context.CancelFunc

	read      atomic.Int64 // rows
	served    atomic.Bool  // the road has answered once
	events    chan importEvent
	readEnded chan struct{} // closed once nothing reads the body
	ended     chan struct{} // closed once all rows that were read are written or given up

	// Of run alone.
	report   *report
	counts   importCounts
	unlisted int64
	end      importEnd
}

// importRow is a row with its place.
type importRow struct {
	line     int
	employee models.Employee
}

// importEvent is what became of some rows.
type importEvent struct {
	written, skipped int64
	faults           []*lineFault
	fatal            error // ends the import
	lastRead         bool  // by the reader, which has come to its end; what it has read is written
}

// importEnd is why an import did not come to its end.
type importEnd struct {
	line    int
	problem *problem
	cause   error // for the log
}

func newImporter(s *server, x *exchange, rows streamRows, conn *http.ResponseController, opts importOptions) *importer {
	m := &importer{
		s: s, x: x, rows: rows, opts: opts,
		body:   &idleBody{r: x.r, conn: conn, limit: s.streamIdle},
		events: make(chan importEvent, importWriters), readEnded: make(chan struct{}), ended: make(chan struct{}),
		report: newReport(x, conn),
	}
	m.stopped, m.stop = context.WithCancel(x.ctx)
	m.prepareHeader()
	return m
}

func (m *importer) prepareHeader() {
	h := m.x.w.Header()
	h.Set("Content-Type", ndjsonType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// run runs the import and its answer. An error says that nothing was done and
// nothing was answered.
func (m *importer) run() error {
	defer m.stop()
	m.start()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	ending, broken := m.s.stopping, m.report.broken
	for running := true; running; {
		select {
		case e := <-m.events:
			m.take(e)
		case <-m.ended:
			running = false
		case <-ticker.C:
			m.report.add(progressLine{lineProgress, m.countsNow(), m.seconds()})
			if err := m.x.stillAllowed(); err != nil {
				m.fail(importEnd{problem: toProblem(err)})
				m.stop()
			}
		case <-ending:
			ending = nil
			m.fail(importEnd{problem: stopping()})
			m.stop()
		case <-broken:
			broken = nil
			m.fail(importEnd{problem: newProblem(codeIncompleteBody, "the client has left"), cause: errClientLeft})
			m.stop()
		}
	}
	for len(m.events) > 0 {
		m.take(<-m.events)
	}
	m.waitForDisk()
	return m.finish()
}

// start starts the stages. The reader may wait for its client for a while after
// the others were stopped.
func (m *importer) start() {
	rows := make(chan importRow, chunkRows)
	go func() { // ends with the body, or soon after body.stop
		m.readRows(rows)
		close(rows)
		close(m.readEnded)
	}()
	var stages sync.WaitGroup
	var chunks [importWriters]chan []importRow
	for i := range chunks {
		chunks[i] = make(chan []importRow)
		stages.Go(func() { m.write(chunks[i]) }) // ends with distribute
	}
	stages.Go(func() { m.distribute(rows, chunks) }) // ends with readRows, or with stop
	go func() {                                      // ends with the stages
		stages.Wait()
		close(m.ended)
	}()
}

// tell tells run of an event, unless the import was stopped.
func (m *importer) tell(e importEvent) {
	select {
	case m.events <- e:
	case <-m.stopped.Done():
	}
}

// readRows reads the body.
func (m *importer) readRows(out chan<- importRow) {
	body, err := rowformat.NewReader(m.opts.encoding, m.body)
	if err != nil {
		m.tell(importEvent{fatal: m.bodyError(err), lastRead: true})
		return
	}
	defer body.Close() // it only gives memory back
	for r := newRowReader(m.opts.mediaType, body); ; {
		e, err := r.next()
		var fault *lineFault
		switch {
		case err == nil:
			m.read.Add(1)
			select {
			case out <- importRow{r.line(), e}:
				continue
			case <-m.stopped.Done():
				return
			}
		case errors.As(err, &fault):
			m.read.Add(1)
			m.tell(importEvent{faults: []*lineFault{fault}, lastRead: !m.opts.goOn})
			if m.opts.goOn && m.stopped.Err() == nil {
				continue
			}
			return
		case !errors.Is(err, io.EOF) && !errors.Is(err, errBodyStopped):
			m.tell(importEvent{fatal: m.bodyError(err), lastRead: true})
		}
		return
	}
}

// bodyError is the problem of a body that cannot be read to its end.
func (m *importer) bodyError(err error) error {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, rowformat.ErrExpansion):
		return newProblem(codeInvalidBody, err.Error())
	case errors.Is(err, rowformat.ErrCompression):
		return newProblem(codeInvalidBody, "the body is no "+m.opts.encoding+", or ends early")
	default:
		return bodyProblem(err)
	}
}
