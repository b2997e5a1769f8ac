package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// batchSpan is how many rows a batch of the failure test has.
const batchSpan = 2000

// batchWriter creates and deletes the same rows by batches without end, and notes
// what must be there.
type batchWriter struct {
	g       *gateway
	partial bool
	spans   *atomic.Int64 // of all writers: where the next rows are

	mu                     sync.Mutex // guards all below
	retired                []*rowSpan // that are not touched any more
	now                    *rowSpan
	done, refused, unknown int // batches; of partial ones, those of which any item is so
	unexpected             []string
	slowestAll             time.Duration
}

// rowSpan is the rows of one batch.
type rowSpan struct {
	first int
	rows  []rowState
	whole bool // all are there or none, if it is not known which
}

type rowState uint8

const (
	rowAbsent rowState = iota
	rowThere
	rowUnknown
)

// run ends with stop.
func (w *batchWriter) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			w.step()
		}
	}
}

func (w *batchWriter) step() {
	w.mu.Lock()
	if w.now == nil {
		w.now = &rowSpan{first: batchFirstID + int(w.spans.Add(1)-1)*batchSpan, rows: make([]rowState, batchSpan), whole: !w.partial}
	}
	span := w.now
	w.mu.Unlock()
	method, body, after := "batchCreate", creations, rowThere
	if span.rows[0] == rowThere {
		method, body, after = "batchDelete", ids, rowAbsent
	}
	more := ""
	if w.partial {
		more = `,"partial":true`
	}
	begun := time.Now()
	a, err := w.g.batch(method, body(span.first, batchSpan, more), "Prefer: return=minimal")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slowestAll = max(w.slowestAll, time.Since(begun))
	if err != nil {
		w.unexpected = append(w.unexpected, err.Error())
		w.forget(span)
		return
	}
	w.learn(span, a, after)
}

// learn notes the outcome of a batch.
func (w *batchWriter) learn(span *rowSpan, a batchAnswer, after rowState) {
	switch {
	case a.status == http.StatusOK && !w.partial:
		w.done++
		for i := range span.rows {
			span.rows[i] = after
		}
	case a.status == http.StatusOK:
		w.learnItems(span, a, after)
	case a.status == http.StatusGatewayTimeout && a.Code == "outcome_unknown":
		w.unknown++
		w.forget(span)
	case a.status == http.StatusServiceUnavailable, a.status == http.StatusGatewayTimeout && a.Code == "timeout":
		w.refused++
	default:
		w.unexpected = append(w.unexpected, fmt.Sprintf("%d %s", a.status, a.Code))
	}
}

// learnItems notes the outcomes of the items of a partial batch. Unless all are
// done the rows are not touched again.
func (w *batchWriter) learnItems(span *rowSpan, a batchAnswer, after rowState) {
	for i, item := range a.Results {
		switch {
		case item.Problem == nil:
			span.rows[i] = after
		case item.Problem.Code == "outcome_unknown":
			span.rows[i] = rowUnknown
		case item.Problem.Code != "unavailable" && item.Problem.Code != "timeout":
			w.unexpected = append(w.unexpected, fmt.Sprintf("item %d: %d %s", i, item.Status, item.Problem.Code))
		}
	}
	switch {
	case a.Unknown > 0:
		w.unknown++
	case a.Failed > 0:
		w.refused++
	default:
		w.done++
	}
	if a.Done < batchSpan {
		w.retire(span)
	}
}

// retire puts the rows aside.
func (w *batchWriter) retire(span *rowSpan) { w.retired, w.now = append(w.retired, span), nil }

// forget puts the rows aside, of which nothing is known.
func (w *batchWriter) forget(span *rowSpan) {
	for i := range span.rows {
		span.rows[i] = rowUnknown
	}
	w.retire(span)
}

func (w *batchWriter) counts() (done, refused, unknown int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done, w.refused, w.unknown
}

// waitForDone returns once n more batches were done.
func (w *batchWriter) waitForDone(t *testing.T, n int) {
	t.Helper()
	first, _, _ := w.counts()
	await(t, fmt.Sprintf("%d more batches are done", n), waitLimit, func() (bool, string) {
		done, _, _ := w.counts()
		return done >= first+n, fmt.Sprintf("%d of them", done-first)
	})
}

// verify compares all rows with what the gateway has said of them.
func (w *batchWriter) verify(t *testing.T, db *sql.DB) {
	for _, text := range w.unexpected {
		t.Errorf("unexpected: %s", text)
	}
	spans := w.retired
	if w.now != nil {
		spans = append(spans, w.now)
	}
	for _, span := range spans {
		span.verify(t, db)
	}
}

func (s *rowSpan) verify(t *testing.T, db *sql.DB) {
	stored := storedIDs(t, db, int64(s.first), int64(s.first+batchSpan-1))
	if n := len(stored); s.whole && n != 0 && n != batchSpan {
		t.Errorf("rows from %d on: %d of %d are there, want all or none", s.first, n, batchSpan)
	}
	for i, state := range s.rows {
		if there := stored[int64(s.first+i)]; state == rowThere && !there || state == rowAbsent && there {
			t.Errorf("row %d: is there: %t, which is not what the gateway said", s.first+i, there)
		}
	}
}

func TestBatches_KillDataNodes_AllOrNothingAndTrue(t *testing.T) {
	dsns := killableCluster(t)
	db := openTable(t, dsns)
	g := serve(t, dsns)
	t.Cleanup(func() { clusterScript(t, "up") }) // Whatever happens, leave a whole cluster.
	var spans atomic.Int64
	var writers []*batchWriter
	stop := make(chan struct{})
	var running sync.WaitGroup
	for _, road := range roads {
		for _, partial := range []bool{false, true} {
			w := &batchWriter{g: g.on(road), partial: partial, spans: &spans}
			writers = append(writers, w)
			running.Go(func() { w.run(stop) }) // ends with stop
		}
	}
	stopAll := sync.OnceFunc(func() {
		close(stop)
		running.Wait()
	})
	defer stopAll()
	allServe := func() {
		for _, w := range writers {
			w.waitForDone(t, 3)
		}
	}
	allServe()
	for _, node := range []string{"2", "3"} {
		clusterScript(t, "kill-node", node)
		allServe()
		clusterScript(t, "start-node", node)
		allServe()
	}
	stopAll()
	for _, w := range writers {
		done, refused, unknown := w.counts()
		t.Logf("%s, partial %t: %d batches done, %d refused, %d unknown; the slowest took %v", w.g.road, w.partial, done, refused, unknown, w.slowestAll)
		w.verify(t, db)
	}
}
