package api

import (
	"context"
	"errors"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

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
	if f.problem.Code == codeAlreadyExists {
		f.problem = newProblem(codeAlreadyExists, "on_conflict="+onConflictSkip+" passes over it, on_conflict="+onConflictReplace+" replaces it")
	}
	if f.problem.Code == codeInternal {
		m.s.log.Error("import: a row failed", "request_id", infoOf(m.x.r.Context()).id, "backend", m.x.road, "line", row.line, "error", err.Error())
	}
	return f
}
