package ndb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// model is what the rows of a random run should be: the column first of each
// row by the row's number.
type model map[int64]string

const randomRows = 8

// TestRandomOperations runs generated sequences of operations and compares every
// result and the rows with a plain map. On ndbtest, which is where it runs by
// default, a signal that would stop or eject a real data node fails it.
func TestRandomOperations_GiveWhatAMapGives(t *testing.T) {
	w := newWorkbench(t)
	t.Cleanup(func() { w.rows(t, randomRows, false) })
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rows := model{}
	for step := range 400 {
		if r.IntN(3) == 0 {
			w.randomSingle(t, r, rows, step)
		} else {
			w.randomTx(t, r, rows, step)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for n := range int64(randomRows) {
		want, there := rows[n]
		if !there {
			want = "absent"
		}
		if got := w.firstOf(t, w.base+n); got != want {
			t.Errorf("row %d: got %s, want %s", n, got, want)
		}
	}
	if s := w.client.Stats(); s.Transactions != 0 {
		t.Errorf("%d transactions are left", s.Transactions)
	}
}

// randomSingle runs a transaction of one operation.
func (w *workbench) randomSingle(t *testing.T, r *rand.Rand, rows model, step int) {
	n, text := r.Int64N(randomRows), fmt.Sprint("s", step)
	_, there := rows[n]
	v := w.key(w.base + n)
	ctx := t.Context()
	var err error
	var code int
	switch op := r.IntN(4); op {
	case 0:
		_, err = w.client.Insert(ctx, v.String(w.first, text))
		code = rows.apply(there, 630, !there, n, text)
	case 1:
		_, err = w.client.Update(ctx, v.String(w.first, text))
		code = rows.apply(!there, 626, there, n, text)
	case 2:
		_, err = w.client.Write(ctx, v.String(w.first, text))
		rows[n] = text
	case 3:
		_, err = w.client.Delete(ctx, v)
		code = rows.apply(!there, 626, false, n, text)
		delete(rows, n)
	}
	wantCode(t, fmt.Sprintf("step %d, row %d", step, n), err, code)
}

// apply sets the row where set is true, and returns the code where refused is.
func (m model) apply(refused bool, code int, set bool, n int64, text string) int {
	if set {
		m[n] = text
	}
	if refused {
		return code
	}
	return 0
}

// randomTx runs a transaction of several batches and ends it in a random way.
func (w *workbench) randomTx(t *testing.T, r *rand.Rand, rows model, step int) {
	tx := w.begin(t, w.key(w.base+r.Int64N(randomRows)))
	defer tx.Close()
	view := &txModel{rows: model{}, ghosts: map[int64]bool{}}
	view.rows.become(rows)
	mine := view.rows
	for batch := range 1 + r.IntN(3) {
		var checks []func()
		view.before = model{}
		view.before.become(mine)
		for i := range 1 + r.IntN(4) {
			checks = append(checks, w.randomOperation(t, r, tx, view, fmt.Sprintf("t%d.%d.%d", step, batch, i)))
		}
		last := r.IntN(3) == 0
		run := tx.Execute
		if last {
			run = tx.Commit
		}
		if err := run(t.Context()); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		for _, check := range checks {
			check()
		}
		if last {
			rows.become(mine)
			return
		}
	}
	switch r.IntN(4) {
	case 0:
		if err := tx.Rollback(t.Context()); err != nil {
			t.Errorf("step %d: rollback: %v", step, err)
		}
	case 1: // Close rolls back in the background, and its locks go.
	case 2:
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tx.Read(w.key(w.base), w.all, new(ndb.Row), ndb.SharedLock)
		if err := tx.Execute(ctx); err == nil {
			return // The answer was quicker; Close rolls back.
		}
	case 3:
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("step %d: commit: %v", step, err)
		}
		rows.become(mine)
	}
}

func (m model) become(other model) {
	clear(m)
	for n, text := range other {
		m[n] = text
	}
}

// txModel is what a transaction sees.
type txModel struct {
	rows   model
	before model          // as it was before the batch: what its reads see
	ghosts map[int64]bool // deleted, and read with a lock in the same batch: nobody can insert them any more
}

// randomOperation adds one operation whose failure is its own, changes the model
// as it should change the row, and returns a check of its result.
func (w *workbench) randomOperation(t *testing.T, r *rand.Rand, tx *ndb.Tx, view *txModel, text string) (check func()) {
	n := r.Int64N(randomRows)
	mine := view.rows
	old, there := mine[n]
	v := w.key(w.base + n)
	var op *ndb.Operation
	var code int
	var row *ndb.Row
	switch r.IntN(7) {
	case 0:
		op = tx.Insert(v.String(w.first, text))
		code = mine.apply(there || view.ghosts[n], 630, !there && !view.ghosts[n], n, text)
	case 1:
		op = tx.Update(v.String(w.first, text))
		code = mine.apply(!there, 626, there, n, text)
	case 2:
		op = tx.Write(v.String(w.first, text))
		code = mine.apply(view.ghosts[n], 626, !view.ghosts[n], n, text)
	case 3:
		op = tx.Delete(v)
		code = mine.apply(!there, 626, false, n, text)
		delete(mine, n)
	case 4:
		row = new(ndb.Row)
		lock := ndb.LockMode(r.IntN(3))
		op = tx.Read(v, w.all, row, lock)
		sees, found := view.before[n]
		code = mine.apply(!found, 626, false, n, text)
		view.ghosts[n] = view.ghosts[n] || found && !there && lock != ndb.CommittedRead
		old = sees
	case 5:
		holds := r.IntN(2) == 0
		expected := "nothing"
		if holds {
			expected = old
		}
		op = tx.Update(v.String(w.first, text)).If(ndb.Eq(w.first, expected))
		code = mine.apply(!there, 626, there && holds, n, text)
		if there && !holds {
			code = ndb.CodeConditionFalse
		}
	case 6:
		row = new(ndb.Row)
		op = tx.Update(v.String(w.first, text)).Returning(w.all, row)
		code = mine.apply(!there, 626, there, n, text)
		old = text
	}
	op.IgnoreError()
	return func() {
		wantCode(t, fmt.Sprintf("%s on row %d", text, n), op.Err(), code)
		if row == nil || code != 0 {
			return
		}
		if got, err := row.String(1); got != old {
			t.Errorf("%s on row %d: read %q (%v), want %q", text, n, got, err, old)
		}
	}
}
