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
	"github.com/ndbgate/ndbgate/store"
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

// chunk gathers rows for one writer.
type chunk struct {
	rows []importRow
	ids  map[int64]struct{}
}

// distribute gives the rows to the writers, in chunks without an id twice.
func (m *importer) distribute(in <-chan importRow, out [importWriters]chan []importRow) {
	var chunks [importWriters]chunk
	for i := range chunks {
		chunks[i].ids = make(map[int64]struct{}, chunkRows)
	}
	send := func(i int) {
		if len(chunks[i].rows) == 0 {
			return
		}
		select {
		case out[i] <- chunks[i].rows:
		case <-m.stopped.Done():
		}
		chunks[i].empty()
	}
	defer func() {
		for i := range chunks {
			send(i)
			close(out[i])
		}
	}()
	delay := time.NewTicker(chunkDelay)
	defer delay.Stop()
	for {
		select {
		case row, ok := <-in:
			if !ok {
				return
			}
			i := writerOf(row.employee.ID)
			c := &chunks[i]
			if _, twice := c.ids[row.employee.ID]; twice || len(c.rows) == chunkRows {
				send(i)
			}
			c.rows = append(c.rows, row)
			c.ids[row.employee.ID] = struct{}{}
		case <-m.stopped.Done():
			return
		case <-delay.C:
			for i := range chunks {
				if len(chunks[i].rows) == 0 {
					continue
				}
				select {
				case out[i] <- chunks[i].rows: // the writer has nothing else to do
					chunks[i].empty()
				default:
				}
			}
		}
	}
}

func (c *chunk) empty() {
	c.rows = nil
	clear(c.ids)
}

// writerOf spreads IDs, which often are one after another.
func writerOf(id int64) int { return int(uint64(id) * 0x9E3779B97F4A7C15 >> 32 % importWriters) }

// write writes chunks, one after another.
func (m *importer) write(chunks <-chan []importRow) {
	for rows := range chunks {
		if m.stopped.Err() == nil {
			m.writeChunk(rows)
		}
	}
}

// writeChunk writes rows, and tries again those that surely were not written
// because the road could not serve.
func (m *importer) writeChunk(rows []importRow) {
	var p *patience
	for {
		var e importEvent
		later, why := m.tryChunk(rows, &e)
		if len(later) == 0 {
			m.events <- e
			return
		}
		if p == nil {
			p = newPatience(m.s.streamPatience)
		}
		// At its first rows an import fails as soon as any other call.
		if !m.served.Load() || !p.wait(m.stopped) {
			e.fatal = why
			m.events <- e
			return
		}
		m.events <- e
		rows = later
	}
}

// tryChunk writes rows once, and returns those that another try may write with
// the reason.
func (m *importer) tryChunk(rows []importRow, e *importEvent) (later []importRow, why error) {
	employees := make([]models.Employee, len(rows))
	for i := range rows {
		employees[i] = rows[i].employee
	}
	ctx, cancel := context.WithTimeout(m.x.ctx, m.s.requestTimeout)
	defer cancel()
	var results []store.ItemResult
	if m.opts.onConflict == onConflictReplace {
		results = m.rows.SaveEach(ctx, employees)
	} else {
		results = m.rows.CreateEach(ctx, employees)
	}
	for i, r := range results {
		switch {
		case r.Err == nil:
			e.written++
		case m.opts.onConflict == onConflictSkip && errors.Is(r.Err, store.ErrConflict):
			e.skipped++
		case mayServeLater(r.Err):
			later, why = append(later, rows[i]), r.Err
		default:
			e.faults = append(e.faults, m.storeFault(&rows[i], r.Err))
		}
	}
	if len(later) < len(rows) {
		m.served.Store(true)
	}
	return later, why
}

// storeFault is what the road said of a row.
func (m *importer) storeFault(row *importRow, err error) *lineFault {
	f := &lineFault{line: row.line, id: row.employee.ID, problem: toProblem(err), unknown: errors.Is(err, store.ErrUnknownOutcome)}
	if f.problem.Code == codeInternal {
		m.s.log.Error("import: a row failed", "request_id", infoOf(m.x.r.Context()).id, "backend", m.x.road, "line", row.line, "error", err.Error())
	}
	return f
}
