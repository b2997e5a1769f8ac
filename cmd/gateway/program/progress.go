package program

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress is the last line of a terminal while rows move. Where there is no
// terminal it says nothing. Not safe for concurrent use.
type progress struct {
	w     io.Writer
	on    bool
	width int // of what stands there
	begun time.Time
	drawn time.Time
}

const drawEvery = 200 * time.Millisecond

func newProgress(w io.Writer) *progress {
	return &progress{w: w, on: isTerminal(w), begun: time.Now()}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// draw shows how far a transfer is: done of total bytes, which is 0 where nobody
// knows it, and some words.
func (p *progress) draw(done, total int64, words string) {
	if !p.on || time.Since(p.drawn) < drawEvery {
		return
	}
	p.drawn = time.Now()
	text := words
	if total > 0 {
		text = bar(done, total) + "  " + words
	}
	p.put(text)
}

const barWidth = 30

// bar is as in "[=====>    ]  56%".
func bar(done, total int64) string {
	part := min(float64(done)/float64(total), 1)
	full := int(part * barWidth)
	cells := strings.Repeat("=", full)
	if full < barWidth {
		cells += ">" + strings.Repeat(" ", barWidth-full-1)
	}
	return fmt.Sprintf("[%s] %3.0f%%", cells, 100*part)
}

// put replaces the line. An error of a terminal is nobody's concern.
func (p *progress) put(text string) {
	pad := max(p.width-len(text), 0)
	fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", pad))
	p.width = len(text)
}

// clear takes the line away, so that another one may be written.
func (p *progress) clear() {
	if p.on && p.width > 0 {
		p.put("")
		fmt.Fprint(p.w, "\r")
		p.width, p.drawn = 0, time.Time{}
	}
}

// rate is as in "52000 rows/s".
func (p *progress) rate(rows int64) string {
	return perSecond(rows, time.Since(p.begun))
}

func perSecond(rows int64, took time.Duration) string {
	return fmt.Sprintf("%.0f rows/s", float64(rows)/max(took.Seconds(), 0.001))
}

// size is as in "12.3 MB".
func size(bytes int64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
