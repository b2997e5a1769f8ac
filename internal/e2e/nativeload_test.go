package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// nativeLoad is goroutines that insert, read, update and delete rows of their own
// through package ndb, and note what they were told.
type nativeLoad struct {
	client    *ndb.Client
	table     *ndb.Table
	id, first *ndb.Column
	all       *ndb.Projection

	next atomic.Int64
	slow atomic.Bool      // take turns at the ticks of pace
	pace <-chan time.Time // also between tries while nothing can be done

	mu      sync.Mutex // guards all below
	rows    []expected
	acked   int
	refused int
	unknown int
	slowest time.Duration
	wrong   []string   // what must not happen
	changed *sync.Cond // after each acknowledged write
}

// expected is what a row should be after its writes.
type expected struct {
	id    int64
	state string // the column first, or absent
	maybe string // what it may be as well, after a write of unknown outcome; else the same
}

const (
	absent            = "(absent)"
	nativeCallTimeout = 5 * time.Second
	nativeFirstID     = firstID + 2_000_000
)

func startNativeLoad(t *testing.T, client *ndb.Client, writers int) (l *nativeLoad, stop func()) {
	t.Helper()
	table, err := client.Table(t.Context(), "ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	l = &nativeLoad{client: client, table: table, id: column(t, table, "id"), first: column(t, table, "first")}
	if l.all, err = table.Select("id", "first"); err != nil {
		t.Fatal(err)
	}
	l.changed = sync.NewCond(&l.mu)
	ticker := time.NewTicker(time.Millisecond)
	l.pace = ticker.C
	done := make(chan struct{})
	var running sync.WaitGroup
	for range writers {
		running.Go(func() { // ends with done
			w := &nativeWriter{nativeLoad: l, values: table.NewValues()}
			for {
				select {
				case <-done:
					return
				default:
					w.oneRow()
				}
			}
		})
	}
	return l, sync.OnceFunc(func() {
		close(done)
		running.Wait()
		ticker.Stop()
	})
}

// nativeWriter is one goroutine of a load.
type nativeWriter struct {
	*nativeLoad
	values *ndb.Values
	row    ndb.Row
}

// oneRow writes one row until a write is not acknowledged: inserts it, reads it,
// updates it, and deletes every fourth.
func (w *nativeWriter) oneRow() {
	id := nativeFirstID + w.next.Add(1)
	e := expected{id: id, state: absent, maybe: absent}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rows = append(w.rows, e)
	}()
	if !w.write(&e, "new", w.client.Insert) {
		return
	}
	w.read(&e)
	if w.write(&e, "changed", w.client.Update) && id%4 == 0 {
		w.write(&e, absent, w.client.Delete)
	}
}

// write does one write that leaves the row in a state, and tells whether it was
// acknowledged.
func (w *nativeWriter) write(e *expected, state string, op func(context.Context, *ndb.Values) (ndb.GCI, error)) bool {
	w.values.Reset()
	w.values.Int64(w.id, e.id)
	if state != absent {
		w.values.String(w.first, state)
	}
	err := w.timed(func(ctx context.Context) error {
		_, err := op(ctx, w.values)
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		e.state, e.maybe = state, state
		w.acked++
		w.changed.Broadcast()
	case ndb.SurelyNotDone(err):
		w.refused++
	default:
		e.maybe = state
		w.unknown++
	}
	return err == nil
}

func (w *nativeWriter) read(e *expected) {
	w.values.Reset()
	w.values.Int64(w.id, e.id)
	err := w.timed(func(ctx context.Context) error { return w.client.Read(ctx, w.values, w.all, &w.row) })
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if !ndb.MayRetry(err) {
			w.wrong = append(w.wrong, fmt.Sprintf("read of the acknowledged row %d: %v", e.id, err))
		}
		return
	}
	if got, err := w.row.String(1); got != e.state {
		w.wrong = append(w.wrong, fmt.Sprintf("row %d: read %q (%v), want %q", e.id, got, err, e.state))
	}
}

func (w *nativeWriter) timed(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), nativeCallTimeout)
	defer cancel()
	begun := time.Now()
	err := call(ctx)
	took := time.Since(begun)
	if err != nil || w.slow.Load() {
		<-w.pace
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slowest = max(w.slowest, took)
	return err
}

// waitFor returns once n more writes were acknowledged.
func (l *nativeLoad) waitFor(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	defer context.AfterFunc(ctx, l.changed.Broadcast)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for goal := l.acked + n; l.acked < goal; l.changed.Wait() {
		if ctx.Err() != nil {
			t.Fatalf("only %d of %d writes were acknowledged in %v", n-(goal-l.acked), n, 2*waitLimit)
		}
	}
}

// verify compares what was told with what is stored.
func (l *nativeLoad) verify(t *testing.T) {
	t.Helper()
	rows := make([]ndb.Row, len(l.rows))
	bad := 0
	batch := l.client.NewBatch(t.Context(), ndb.BatchOptions{Result: func(n int, err error) {
		got := absent
		var e *ndb.Error
		switch {
		case err == nil:
			got, err = rows[n].String(1)
		case errors.As(err, &e) && e.Classification == ndb.ClassNoDataFound:
			err = nil
		}
		if want := l.rows[n]; err != nil || got != want.state && got != want.maybe {
			if bad++; bad <= 5 {
				t.Errorf("row %d is %q, want %q or %q (%v)", want.id, got, want.state, want.maybe, err)
			}
		}
	}})
	v := l.table.NewValues()
	for i, e := range l.rows {
		v.Reset()
		batch.Read(v.Int64(l.id, e.id), l.all, &rows[i])
	}
	batch.Wait()
	for _, wrong := range l.wrong[:min(len(l.wrong), 5)] {
		t.Error(wrong)
	}
	if limit := nativeCallTimeout + time.Second; l.slowest > limit {
		t.Errorf("slowest call took %v, more than %v", l.slowest, limit)
	}
	t.Logf("%d rows, %d wrong; writes acknowledged %d, refused %d, unknown %d; slowest %v", len(l.rows), bad, l.acked, l.refused, l.unknown, l.slowest)
}

func column(t *testing.T, table *ndb.Table, name string) *ndb.Column {
	t.Helper()
	c, err := table.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
