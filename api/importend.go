package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// take counts an event, and lists wrong lines.
func (m *importer) take(e importEvent) {
	m.counts.Written += e.written
	m.counts.Skipped += e.skipped
	m.s.streamMetrics.rows(m.x.road, "written", e.written)
	m.s.streamMetrics.rows(m.x.road, "skipped", e.skipped)
	ends := e.fatal != nil
	for _, f := range e.faults {
		ends = m.takeFault(f) || ends
	}
	if e.fatal != nil {
		m.fail(importEnd{problem: m.problemOf(e.fatal), cause: e.fatal})
	}
	if ends && !e.lastRead {
		m.stop()
	}
}

// problemOf is the problem of an error that ends the import. Where a road could not
// serve any more it must not promise, as for other calls, that nothing was done.
func (m *importer) problemOf(err error) *problem {
	p := toProblem(err)
	if mayServeLater(err) && m.served.Load() {
		return newProblem(p.Code, "the rows that are counted as written are stored; the import can be sent again to go on")
	}
	return p
}

// takeFault tells whether the import ends with it.
func (m *importer) takeFault(f *lineFault) (ends bool) {
	outcome := "failed"
	if f.unknown {
		outcome = "unknown"
		m.counts.Unknown++
	} else {
		m.counts.Failed++
	}
	m.s.streamMetrics.rows(m.x.road, outcome, 1)
	f.problem = m.named(f.problem)
	wrong := m.counts.Failed + m.counts.Unknown
	if wrong <= maxListedErrors {
		m.report.add(errorLine{lineError, f.line, f.id, f.problem})
	} else {
		m.unlisted++
	}
	switch {
	case !m.opts.goOn:
		m.fail(importEnd{line: f.line, problem: f.problem})
		return true
	case wrong > m.opts.maxErrors:
		m.fail(importEnd{line: f.line, problem: newProblem(codeTooManyErrors, fmt.Sprintf("max_errors allows %d", m.opts.maxErrors))})
		return true
	}
	return false
}

// fail has the import end early, with what was read written; the first reason
// counts. Nothing more is read.
func (m *importer) fail(end importEnd) {
	if m.end.problem == nil {
		m.end = end
		m.end.problem = m.named(end.problem)
	}
	m.body.stop()
}

// named gives a problem the ID of the request.
func (m *importer) named(p *problem) *problem {
	copied := *p
	copied.RequestID = infoOf(m.x.r.Context()).id
	return &copied
}

func (m *importer) countsNow() importCounts {
	counts := m.counts
	counts.Rows = m.read.Load()
	return counts
}

func (m *importer) seconds() seconds { return seconds(time.Since(m.x.begun).Seconds()) }

// waitForDisk waits until all that was written is on disk, where that was asked.
func (m *importer) waitForDisk() {
	if m.opts.disk == nil || m.counts.Written+m.counts.Unknown == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(m.x.ctx, m.s.requestTimeout)
	defer cancel()
	if err := m.opts.disk.WaitDurable(ctx); err != nil {
		m.opts.durability = inMemory
		m.fail(importEnd{problem: toProblem(&notOnDiskError{err}), cause: err})
	}
}

// finish sends the summary. An import that has failed before it has done or
// answered anything is answered like any other call.
func (m *importer) finish() error {
	counts := m.countsNow()
	failed := m.end.problem != nil
	if failed && !m.report.hasStarted() && counts.Written+counts.Skipped+counts.Unknown == 0 {
		m.report.close(m.s.streamIdle)
		m.x.w.Header().Del("Content-Type")
		if m.end.cause != nil {
			return m.end.cause
		}
		return m.end.problem
	}
	m.report.add(summaryLine{
		Type: lineSummary, Complete: !failed, importCounts: counts, Unlisted: m.unlisted,
		Seconds: m.seconds(), Durability: m.opts.durability, Line: m.end.line, Error: m.end.problem,
	})
	m.report.close(m.s.streamIdle)
	if failed {
		m.note(counts)
	}
	return nil
}

// note tells log and metrics of an import that ended early.
func (m *importer) note(counts importCounts) {
	info := infoOf(m.x.r.Context())
	info.problem = m.end.problem.Code
	attrs := []slog.Attr{
		slog.String("request_id", info.id), slog.String("backend", m.x.road), slog.String("code", string(m.end.problem.Code)),
		slog.Int64("rows", counts.Rows), slog.Int64("written", counts.Written), slog.Int64("unknown", counts.Unknown),
	}
	if m.end.cause != nil && !errors.As(m.end.cause, new(*problem)) {
		attrs = append(attrs, slog.String("error", m.end.cause.Error()))
	}
	m.s.log.LogAttrs(m.x.ctx, slog.LevelWarn, "import ended early", attrs...)
}

// linger sends the answer, and throws away what still comes of the body for a
// while.
func (m *importer) linger() {
	_ = m.body.conn.Flush() // an error means that the client has left
	<-m.readEnded           // soon: the body was read to its end, or stopped
	until := time.Now().Add(lingerTime)
	for some := make([]byte, lingerBytes); time.Now().Before(until); {
		setDeadline(m.body.conn.SetReadDeadline, lingerTime)
		if _, err := m.x.r.Body.Read(some); err != nil {
			return
		}
	}
	// The client goes on sending. net/http sees that, and closes the connection in
	// a way in which the answer is not lost; not so after a read that timed out.
	setDeadline(m.body.conn.SetReadDeadline, lingerTime)
}
