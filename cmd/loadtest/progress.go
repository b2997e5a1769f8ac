package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/loadtest"
)

// progress shows what a run does: one line that is written over on a terminal,
// else a line for each cell.
type progress struct {
	process
	width    int // of the line that is there
	lastCell int
	shown    time.Time
	lastOps  int64
	lastAt   time.Duration
	rate     float64
}

func newProgress(p process) *progress { return &progress{process: p} }

// redrawEvery bounds how often the line changes.
const redrawEvery = 200 * time.Millisecond

func (p *progress) show(now loadtest.Progress) {
	if !p.terminal {
		if now.Cell != p.lastCell && now.Workload != "" {
			p.lastCell = now.Cell
			fmt.Fprintln(p.stderr, p.cell(now))
		}
		return
	}
	if time.Since(p.shown) < redrawEvery && now.Done != now.All {
		return
	}
	p.shown = time.Now()
	if now.Workload == "" {
		p.draw(fmt.Sprintf("%s: %d of %d", now.Doing, now.Done, now.All))
		return
	}
	if now.Cell != p.lastCell {
		p.lastCell, p.lastOps, p.lastAt, p.rate = now.Cell, 0, 0, 0
	}
	if now.Elapsed > p.lastAt {
		p.rate = float64(now.Ops-p.lastOps) / (now.Elapsed - p.lastAt).Seconds()
		p.lastOps, p.lastAt = now.Ops, now.Elapsed
	}
	line := fmt.Sprintf("%s  %s %.0f/s", p.cell(now), now.Doing, p.rate)
	if now.Errors > 0 {
		line += fmt.Sprintf("  %d errors", now.Errors)
	}
	p.draw(line + "  left: " + now.Left.Round(time.Second).String())
}

func (p *progress) cell(now loadtest.Progress) string {
	text := fmt.Sprintf("[%d/%d] %s %s", now.Cell, now.Cells, now.Workload, now.Backend)
	if now.Variant != "" {
		text += ", " + string(now.Variant)
	}
	text += fmt.Sprintf(", %d thread", now.Threads)
	if now.Threads != 1 {
		text += "s"
	}
	if now.Repeats > 1 {
		text += fmt.Sprintf(", repeat %d", now.Repeat)
	}
	return text
}

func (p *progress) draw(line string) {
	width := utf8.RuneCountInString(line)
	fmt.Fprint(p.stderr, "\r"+line+strings.Repeat(" ", max(p.width-width, 0)))
	p.width = width
}

// end takes the line away.
func (p *progress) end() {
	if p.width > 0 {
		fmt.Fprint(p.stderr, "\r"+strings.Repeat(" ", p.width)+"\r")
		p.width = 0
	}
}
