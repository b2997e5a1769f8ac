package ndb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// codeOf is the NDB code of an error, or -1 for another error, 0 for none.
func codeOf(err error) int {
	var e *ndb.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	default:
		return -1
	}
}

func wantCode(t *testing.T, what string, err error, code int) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Errorf("%s: got %v (code %d), want code %d", what, err, got, code)
	}
}

func (w *workbench) key(id int64) *ndb.Values { return w.table.NewValues().Int64(w.id, id) }

func (w *workbench) begin(t *testing.T, hint *ndb.Values) *ndb.Tx {
	t.Helper()
	tx, err := w.client.Begin(t.Context(), hint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Close)
	return tx
}

// first returns the column first of a row, or "absent".
func (w *workbench) firstOf(t *testing.T, id int64) string {
	t.Helper()
	var row ndb.Row
	err := w.client.Read(t.Context(), w.key(id), w.all, &row)
	if codeOf(err) == 626 {
		return "absent"
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := row.String(1)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// seeded is a workbench with rows 0 to 9, which are gone after the test.
func seeded(t *testing.T) *workbench {
	t.Helper()
	w := newWorkbench(t)
	w.rows(t, 10, true)
	t.Cleanup(func() { w.rows(t, 20, false) })
	return w
}

func TestSingle_EachOperationAndItsRefusal(t *testing.T) {
	w := seeded(t)
	ctx := t.Context()
	id := w.base + 10
	_, err := w.client.Update(ctx, w.key(id).String(w.first, "x"))
	wantCode(t, "update absent", err, 626)
	_, err = w.client.Delete(ctx, w.key(id))
	wantCode(t, "delete absent", err, 626)
	gci, err := w.client.Insert(ctx, w.key(id).String(w.first, "new"))
	if wantCode(t, "insert", err, 0); gci == 0 {
		t.Error("a commit has no GCI")
	}
	_, err = w.client.Insert(ctx, w.key(id).String(w.first, "again"))
	if wantCode(t, "insert again", err, 630); w.firstOf(t, id) != "new" {
		t.Errorf("a refused insert changed the row: %s", w.firstOf(t, id))
	}
	_, err = w.client.Write(ctx, w.key(id).String(w.last, "kept first"))
	if wantCode(t, "write", err, 0); w.firstOf(t, id) != "new" {
		t.Errorf("write changed a column that it does not have: %s", w.firstOf(t, id))
	}
	_, err = w.client.Update(ctx, w.key(id).Null(w.first))
	wantCode(t, "update to NULL", err, 0)
	_, err = w.client.Update(ctx, w.key(id))
	wantCode(t, "update of nothing", err, 0)
	_, err = w.client.Delete(ctx, w.key(id))
	if wantCode(t, "delete", err, 0); w.firstOf(t, id) != "absent" {
		t.Error("the row is still there")
	}
}

func TestTx_CommitsManyOperationsTogether(t *testing.T) {
	w := seeded(t)
	tx := w.begin(t, w.key(w.base))
	tx.Update(w.key(w.base).String(w.first, "one"))
	tx.Delete(w.key(w.base + 1))
	tx.Insert(w.key(w.base+10).String(w.first, "ten"))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.firstOf(t, w.base) + w.firstOf(t, w.base+1) + w.firstOf(t, w.base+10); got != "oneabsentten" {
		t.Errorf("got %s", got)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("a transaction that is over commits again")
	}
}

func TestTx_OneFailureUndoesAll(t *testing.T) {
	w := seeded(t)
	tx := w.begin(t, nil)
	tx.Update(w.key(w.base).String(w.first, "lost"))
	tx.Insert(w.key(w.base + 1))
	tx.Update(w.key(w.base+2).String(w.first, "lost"))
	wantCode(t, "commit", tx.Commit(t.Context()), 630)
	if got := w.firstOf(t, w.base) + w.firstOf(t, w.base+2); got != "AdaAda" {
		t.Errorf("got %s", got)
	}
}

func TestTx_IgnoredFailureLeavesTheOthers(t *testing.T) {
	w := seeded(t)
	tx := w.begin(t, nil)
	absent := tx.Update(w.key(w.base+15).String(w.first, "x")).IgnoreError()
	tx.Update(w.key(w.base).String(w.first, "done")).IgnoreError()
	exists := tx.Insert(w.key(w.base + 1)).IgnoreError()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "update of an absent row", absent.Err(), 626)
	wantCode(t, "insert of a row that exists", exists.Err(), 630)
	if got := w.firstOf(t, w.base); got != "done" {
		t.Errorf("got %s", got)
	}
}

func TestTx_ReadsItsOwnWritesAndRollsBack(t *testing.T) {
	w := seeded(t)
	tx := w.begin(t, w.key(w.base))
	tx.Update(w.key(w.base).String(w.first, "mine"))
	if err := tx.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	var row ndb.Row
	read := tx.Read(w.key(w.base), w.all, &row, ndb.CommittedRead)
	if err := tx.Execute(t.Context()); err != nil || read.Err() != nil {
		t.Fatal(err, read.Err())
	}
	if got, err := row.String(1); got != "mine" {
		t.Errorf("own write: got %s, %v", got, err)
	}
	if got := w.firstOf(t, w.base); got != "Ada" {
		t.Errorf("others see what is not committed: %s", got)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.firstOf(t, w.base); got != "Ada" {
		t.Errorf("after the rollback: got %s", got)
	}
}

func TestTx_ReadsSeeTheRowAsItWasBeforeTheirBatch(t *testing.T) {
	for _, lock := range []ndb.LockMode{ndb.CommittedRead, ndb.SharedLock, ndb.ExclusiveLock} {
		w := seeded(t)
		tx := w.begin(t, w.key(w.base))
		var updated, deleted, inserted ndb.Row
		tx.Update(w.key(w.base).String(w.first, "mine"))
		tx.Read(w.key(w.base), w.all, &updated, lock)
		tx.Delete(w.key(w.base + 1))
		tx.Read(w.key(w.base+1), w.all, &deleted, lock)
		tx.Insert(w.key(w.base + 10))
		absent := tx.Read(w.key(w.base+10), w.all, &inserted, lock).IgnoreError()
		if err := tx.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, row := range map[string]*ndb.Row{"updated": &updated, "deleted": &deleted} {
			if got, err := row.String(1); got != "Ada" {
				t.Errorf("%s, lock %d: got %s, %v, want Ada", name, lock, got, err)
			}
		}
		wantCode(t, "read of a row that the batch inserts", absent.Err(), 626)
		again := tx.Insert(w.key(w.base + 1)).IgnoreError()
		read := tx.Read(w.key(w.base), w.all, &updated, lock)
		if err := tx.Execute(t.Context()); err != nil || read.Err() != nil {
			t.Fatal(err, read.Err())
		}
		if got, err := updated.String(1); got != "mine" {
			t.Errorf("lock %d, next batch: got %s, %v, want mine", lock, got, err)
		}
		// A lock that was taken behind the delete keeps the row's place.
		want := map[bool]int{true: 0, false: 630}[lock == ndb.CommittedRead]
		wantCode(t, fmt.Sprintf("insert behind a delete and a read with lock %d", lock), again.Err(), want)
		tx.Close()
	}
}

func TestTx_LocksKeepOthersOut(t *testing.T) {
	w := seeded(t)
	holder := w.begin(t, nil)
	var held, row ndb.Row
	holder.Read(w.key(w.base), w.all, &held, ndb.ExclusiveLock)
	if err := holder.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	impatient := w.begin(t, nil)
	impatient.Read(w.key(w.base), w.all, &row, ndb.SharedLock).NoWait()
	wantCode(t, "read without waiting", impatient.Execute(t.Context()), 635)
	if err := w.begin(t, nil).Update(w.key(w.base).String(w.first, "x")).NoWait().Err(); err == nil {
		t.Error("a write that does not wait is not refused: it stops a data node")
	}

	_, err := w.client.Update(t.Context(), w.key(w.base).String(w.first, "x"))
	if wantCode(t, "update that waits", err, 266); !ndb.MayRetry(err) || !ndb.SurelyNotDone(err) {
		t.Errorf("lock timeout: may retry %t, surely not done %t", ndb.MayRetry(err), ndb.SurelyNotDone(err))
	}
	if err := w.client.Read(t.Context(), w.key(w.base), w.all, &row); err != nil {
		t.Errorf("a committed read waits for a lock: %v", err)
	}
	holder.Update(w.key(w.base).String(w.first, "held"))
	if err := holder.Commit(t.Context()); err != nil || w.firstOf(t, w.base) != "held" {
		t.Errorf("the holder: %v, %s", err, w.firstOf(t, w.base))
	}
}

func TestTx_Abandoned_IsRolledBackAndLetsGo(t *testing.T) {
	w := seeded(t)
	abandoned := w.begin(t, nil)
	abandoned.Update(w.key(w.base).String(w.first, "x"))
	if err := abandoned.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	abandoned.Close()
	if _, err := w.client.Update(t.Context(), w.key(w.base).String(w.first, "next")); err != nil {
		t.Errorf("the lock is still held: %v", err)
	}
	if got := w.firstOf(t, w.base); got != "next" {
		t.Errorf("got %s", got)
	}
}

func TestContextEndsWhileWaitingForALock_OutcomeIsUnknownAndNothingStays(t *testing.T) {
	w := seeded(t)
	holder := w.begin(t, nil)
	holder.Update(w.key(w.base).String(w.first, "held"))
	if err := holder.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := w.client.Update(ctx, w.key(w.base).String(w.first, "late"))
	if ndb.SurelyNotDone(err) || ndb.MayRetry(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a commit that was sent: got %v", err)
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Whoever was abandoned has been rolled back, or its lock would be in the way.
	if _, err := w.client.Update(t.Context(), w.key(w.base).String(w.first, "last")); err != nil || w.firstOf(t, w.base) != "last" {
		t.Errorf("got %v, %s", err, w.firstOf(t, w.base))
	}
}

func TestOperation_ConditionHoldsOrChangesNothing(t *testing.T) {
	w := seeded(t)
	update := func(f ndb.Filter) error {
		tx := w.begin(t, nil)
		tx.Update(w.key(w.base).String(w.first, "changed")).If(f)
		return tx.Commit(t.Context())
	}
	wantCode(t, "false", update(ndb.Eq(w.city, "Rome")), ndb.CodeConditionFalse)
	wantCode(t, "unknown", update(ndb.Eq(mustColumn(t, w, "ended"), "2020-01-01")), ndb.CodeConditionFalse)
	if got := w.firstOf(t, w.base); got != "Ada" {
		t.Errorf("a false condition changed the row: %s", got)
	}
	wantCode(t, "true", update(ndb.And(ndb.Eq(w.city, "London"), ndb.Le(w.start, "2020-02-29"))), 0)
	if got := w.firstOf(t, w.base); got != "changed" {
		t.Errorf("got %s", got)
	}
	remove := w.begin(t, nil)
	var old ndb.Row
	remove.Delete(w.key(w.base)).If(ndb.Eq(w.first, "changed")).Returning(w.all, &old)
	if err := remove.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := old.String(1); got != "changed" || w.firstOf(t, w.base) != "absent" {
		t.Errorf("deleted row: got %s, %v", got, err)
	}
	wantCode(t, "absent", update(ndb.Eq(w.city, "London")), 626)
}

func TestOperation_IncrementAndReturnInOneRoundTrip(t *testing.T) {
	w := seeded(t)
	department := mustColumn(t, w, "department")
	add := func(delta, most int64) (int64, error) {
		tx := w.begin(t, nil)
		var row ndb.Row
		tx.Update(w.key(w.base)).Increment(department, delta, ndb.Limits{Max: &most}).Returning(w.all, &row)
		if err := tx.Commit(t.Context()); err != nil {
			return 0, err
		}
		return row.Int64(6)
	}
	if got, err := add(41, 100); got != 42 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := add(-100, 100); got != -58 || err != nil {
		t.Errorf("negative: got %d, %v", got, err)
	}
	_, err := add(1000, 100)
	wantCode(t, "beyond the limit", err, ndb.CodeOutOfLimits)
}

func mustColumn(t *testing.T, w *workbench, name string) *ndb.Column {
	t.Helper()
	c, err := w.table.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBadValues_AreRefusedBeforeAnythingIsSent(t *testing.T) {
	w := newWorkbench(t)
	before := w.client.Stats().SignalsSent
	for name, v := range map[string]*ndb.Values{
		"no key":             w.table.NewValues().String(w.first, "x"),
		"too long":           w.key(1).String(w.first, string(make([]byte, 65))),
		"4-byte character":   w.key(1).String(w.first, "😀"),
		"invalid UTF-8":      w.key(1).String(w.first, "\xff"),
		"twice":              w.key(1).String(w.first, "a").String(w.first, "b"),
		"wrong type":         w.key(1).Int64(w.first, 1),
		"NULL for NOT NULL":  w.key(1).Null(mustColumn(t, w, "department")),
		"out of range":       w.key(1).Int64(mustColumn(t, w, "department"), 1<<31),
		"no date":            w.key(1).Date(w.start, 2023, 2, 29),
		"NULL in the key":    w.table.NewValues().Null(w.id),
		"key out of range":   w.table.NewValues().Uint64(w.id, 1<<63),
		"other goes on well": w.key(1).String(w.first, "\xff").String(w.last, "fine"),
	} {
		if _, err := w.client.Write(t.Context(), v); err == nil || ndb.MayRetry(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if after := w.client.Stats().SignalsSent; after > before+4 { // heartbeats
		t.Errorf("%d signals were sent", after-before)
	}
}

func TestBatch_EachOperationHasItsOwnOutcome(t *testing.T) {
	w := seeded(t)
	results := map[int]error{}
	batch := w.client.NewBatch(t.Context(), ndb.BatchOptions{Window: 4, Result: func(n int, err error) {
		if _, twice := results[n]; twice {
			t.Errorf("operation %d has two results", n)
		}
		results[n] = err
	}})
	var row ndb.Row
	v := w.table.NewValues()
	for i := range int64(20) {
		v.Reset()
		batch.Insert(v.Int64(w.id, w.base+i))
	}
	bad := batch.Insert(w.table.NewValues())
	read := batch.Read(w.key(w.base), w.all, &row)
	batch.Wait()
	for i := range 20 {
		if want := map[bool]int{true: 630, false: 0}[i < 10]; codeOf(results[i]) != want {
			t.Errorf("insert %d: got %v, want code %d", i, results[i], want)
		}
	}
	if codeOf(results[bad]) != -1 || results[read] != nil || len(results) != 22 {
		t.Errorf("bad %v, read %v, %d results", results[bad], results[read], len(results))
	}
	if got, err := row.String(1); got != "Ada" {
		t.Errorf("read: got %s, %v", got, err)
	}
}

func TestBatch_ContextEnds_EveryOperationHasAResult(t *testing.T) {
	w := seeded(t)
	ctx, cancel := context.WithCancel(t.Context())
	results := 0
	batch := w.client.NewBatch(ctx, ndb.BatchOptions{Result: func(_ int, err error) {
		if results++; results == 100 {
			cancel()
		}
	}})
	v := w.table.NewValues()
	for i := range int64(5000) {
		v.Reset()
		batch.Write(v.Int64(w.id, w.base+i%20))
	}
	batch.Wait()
	if results != 5000 {
		t.Errorf("got %d results", results)
	}
}

func TestRead_AllocatesLittle(t *testing.T) {
	calls := 0
	for _, trace := range []*ndb.Trace{nil, {Call: func(context.Context, ndb.Call) { calls++ }}} {
		w := newTracedWorkbench(t, trace)
		w.rows(t, 1, true)
		t.Cleanup(func() { w.rows(t, 1, false) })
		key, row := w.key(w.base), new(ndb.Row)
		read := func() {
			if err := w.client.Read(context.Background(), key, w.all, row); err != nil {
				t.Error(err)
			}
		}
		read()
		// On ndbtest its own allocations count too, so only a real cluster tells.
		if got := testing.AllocsPerRun(200, read); got > 3 && os.Getenv("TEST_NDB_CONNECTSTRING") != "" {
			t.Errorf("got %v allocations, want at most 3, trace %t", got, trace != nil)
		}
	}
	if calls < 200 {
		t.Errorf("got %d calls that were traced", calls)
	}
}
