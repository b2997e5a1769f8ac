package loadtest

import "time"

// Progress is what a run does at the moment.
type Progress struct {
	Doing string // loading rows, warming up, measuring, ...
	// Of rows, while Doing is about them.
	Done, All int64

	Cell, Cells int // from 1 on; 0: none yet
	Workload    string
	Backend     string
	Variant     Variant
	Threads     int
	Repeat      int
	Repeats     int

	Elapsed, Length time.Duration // of the cell, with its warm-up
	Ops, Errors     int64         // of the cell
	// Left is how long the rest of the run takes at least.
	Left time.Duration
}

// told tells how many rows of n are done.
func (r *runner) told(doing string, done, n int64) {
	if r.config.Progress == nil {
		return
	}
	r.progressMu.Lock()
	defer r.progressMu.Unlock()
	r.config.Progress(Progress{Doing: doing, Done: done, All: n, Cell: len(r.report.Cells), Cells: len(r.cells)})
}

// tell tells how the cell is getting on.
func (m *measurement) tell() {
	if m.config.Progress == nil {
		return
	}
	doing := "warming up"
	now := m.span.now()
	if now >= m.span.warmup {
		doing = "measuring"
	}
	length := m.config.Warmup + m.config.Duration
	m.progressMu.Lock()
	defer m.progressMu.Unlock()
	m.config.Progress(Progress{
		Doing: doing, Cell: m.index + 1, Cells: len(m.cells), Workload: m.cell.workload.Name, Backend: m.cell.road.Name,
		Variant: m.cell.variant, Threads: m.cell.threads, Repeat: m.cell.repeat, Repeats: m.config.Repeats,
		Elapsed: now, Length: length, Ops: m.pulse.ops.Load(), Errors: m.pulse.errors.Load(),
		Left: length*time.Duration(len(m.cells)-m.index) - now,
	})
}
