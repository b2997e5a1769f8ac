package chaos

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/internal/chaos/history"
)

const (
	// promise is what reads promise, as docs/consistency.md says.
	promise = history.OfEitherReplica

	rowLimit = 20 * time.Second // of the check of one row
	maxShown = 3                // wrong rows that are shown at length
)

// check judges every row, and what else was seen.
func (r *run) check() {
	for _, wrong := range r.load.rows.wrong {
		r.t.Errorf("must not be answered: %s", wrong)
	}
	begun := time.Now()
	verdicts := r.judge(r.load.rows.all, promise)
	shown := 0
	for i, row := range r.load.rows.all {
		switch verdicts[i] {
		case history.Wrong:
			if shown++; shown <= maxShown {
				r.show(row)
			} else {
				r.t.Errorf("row %d: its answers cannot all be true", row.id)
			}
		case history.Undecided:
			r.t.Errorf("row %d: not decided in %v", row.id, rowLimit)
		}
	}
	r.t.Logf("%d rows checked in %v", len(verdicts), time.Since(begun).Round(100*time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(r.faults.count)) {
		r.t.Logf("%3d × %s", r.faults.count[name], name)
	}
}

// judge checks rows, as many at a time as there are processors.
func (r *run) judge(rows []*row, reads history.Reads) []history.Verdict {
	verdicts := make([]history.Verdict, len(rows))
	deadline := time.Now().Add(checkLimit)
	next := make(chan int)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() { // ends when all rows are given out
			for i := range next {
				verdicts[i] = history.Check(rows[i].ops, reads, min(rowLimit, time.Until(deadline)))
			}
		})
	}
	for i := range rows {
		next <- i
	}
	close(next)
	running.Wait()
	return verdicts
}

// show prints the smallest part of a row's history that cannot be true, and draws
// it.
func (r *run) show(row *row) {
	part := history.Shrink(row.ops, promise, time.Second)
	var lines strings.Builder
	for _, o := range part {
		ret := fmt.Sprintf("%.3f", o.Return.Seconds())
		if o.Outcome == history.Unknown {
			ret = "…"
		}
		fmt.Fprintf(&lines, "\n  %9.3f s – %s s  client %d: %v", o.Call.Seconds(), ret, o.Client, o)
	}
	path := filepath.Join(r.dir, fmt.Sprintf("row-%d.html", row.id))
	if err := history.Draw(part, promise, time.Second, path); err != nil {
		path = err.Error()
	}
	r.t.Errorf("row %d: of %d operations these cannot all be true (drawn: %s):%s", row.id, len(row.ops), path, &lines)
}
