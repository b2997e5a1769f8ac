package ndb_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// journal keeps what a Trace tells.
type journal struct {
	mu        sync.Mutex // guards all below
	calls     []ndb.Call
	contexts  []any // what each call's context has for the key
	retries   []ndb.Retry
	abandoned []ndb.Abandonment
	reads     []ndb.TableRead
	losses    chan ndb.LinkLoss
}

type contextKey struct{}

func (j *journal) trace() *ndb.Trace {
	j.losses = make(chan ndb.LinkLoss, 16)
	with := func(f func()) {
		j.mu.Lock()
		defer j.mu.Unlock()
		f()
	}
	return &ndb.Trace{
		LinkLost: func(l ndb.LinkLoss) { j.losses <- l },
		Call: func(ctx context.Context, c ndb.Call) {
			with(func() { j.calls, j.contexts = append(j.calls, c), append(j.contexts, ctx.Value(contextKey{})) })
		},
		Retried:   func(_ context.Context, r ndb.Retry) { with(func() { j.retries = append(j.retries, r) }) },
		Abandoned: func(_ context.Context, a ndb.Abandonment) { with(func() { j.abandoned = append(j.abandoned, a) }) },
		TableRead: func(r ndb.TableRead) { with(func() { j.reads = append(j.reads, r) }) },
	}
}

// take returns the calls since the last time.
func (j *journal) take() []ndb.Call {
	j.mu.Lock()
	defer j.mu.Unlock()
	calls := j.calls
	j.calls = nil
	return calls
}

// newTracedTable is newChangingTable with one data node and a journal.
func newTracedTable(t *testing.T) (*changingTable, *journal) {
	t.Helper()
	j := &journal{}
	c := &changingTable{cluster: ndbtest.Run(t, ndbtest.DataNodes(1))}
	c.cluster.MustCreateTable(changingColumns)
	var err error
	if c.client, err = ndb.Connect(t.Context(), ndb.Config{Connectstring: c.cluster.Connectstring(), Trace: j.trace()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.table = c.open(t)
	return c, j
}

func (c *changingTable) row(t *testing.T, id int64) *ndb.Values {
	t.Helper()
	return c.table.NewValues().Int64(columnOf(t, c.table, "id"), id)
}

func TestTrace_Call_TellsRoundTripsOfEachCall(t *testing.T) {
	c, j := newTracedTable(t)
	missing := callEach(t, c)
	calls := j.take()
	for _, want := range []struct {
		op                     ndb.CallOp
		roundTrips, operations int
		err                    error
	}{
		{ndb.CallTable, 4, 0, nil}, // the table, its hash map, the list of its indexes, one index
		{ndb.CallWaitDurable, 0, 0, nil},
		{ndb.CallInsert, 2, 1, nil}, // with a record that was seized
		{ndb.CallInsert, 1, 1, nil},
		{ndb.CallInsert, 1, 1, nil},
		{ndb.CallRead, 1, 1, missing},
		{ndb.CallBegin, 0, 0, nil},
		{ndb.CallExecute, 1, 2, nil},
		{ndb.CallCommit, 1, 0, nil},
		{ndb.CallScan, 1, 0, nil},
		{ndb.CallNext, 1, 2, nil},
		{ndb.CallNext, 0, 1, nil},
		{ndb.CallCount, 2, 3, nil},
		{ndb.CallBatch, 1, 1, nil},
	} {
		if len(calls) == 0 {
			t.Fatalf("no call, want %v", want.op)
		}
		got := calls[0]
		calls = calls[1:]
		if got.Op != want.op || got.RoundTrips != want.roundTrips || got.Operations != want.operations || got.Err != want.err {
			t.Errorf("got %+v, want %v with %d round trips, %d operations, %v", got, want.op, want.roundTrips, want.operations, want.err)
		}
		toNode := !slices.Contains([]ndb.CallOp{ndb.CallTable, ndb.CallWaitDurable, ndb.CallBatch}, got.Op)
		if got.Start.IsZero() || got.Took < 0 || got.Retries != 0 || toNode != (got.Node == 2) {
			t.Errorf("got %+v, want times, no retries, and a node: %t", got, toNode)
		}
	}
	if len(calls) > 0 {
		t.Errorf("got %+v, want no more", calls)
	}
	for i, value := range j.contexts[1:] {
		if value != "mine" {
			t.Errorf("call %d has another context", i)
		}
	}
}

// callEach makes a call of most kinds, and returns the error of its read of a row
// that is missing.
func callEach(t *testing.T, c *changingTable) (missing error) {
	t.Helper()
	ctx := context.WithValue(context.Background(), contextKey{}, "mine") // without a deadline: another one takes its place
	if err := c.client.WaitDurable(ctx, 0); err != nil {
		t.Fatal(err)
	}
	var row ndb.Row
	all, err := c.table.Select()
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(3) {
		if _, err := c.client.Insert(ctx, c.row(t, id)); err != nil {
			t.Fatal(err)
		}
	}
	missing = c.client.Read(ctx, c.row(t, 9), all, &row)
	tx, err := c.client.Begin(ctx, c.row(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	tx.Update(c.row(t, 1).Int64(columnOf(t, c.table, "n"), 7))
	tx.Read(c.row(t, 2), all, &row, ndb.CommittedRead)
	if err := errors.Join(tx.Execute(ctx), tx.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	s, err := c.client.Scan(ctx, ndb.Scan{Table: c.table, Columns: all, BatchRows: 2, Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	for s.Next(ctx) {
	}
	if _, err := c.client.Count(ctx, ndb.Scan{Table: c.table}); err != nil {
		t.Fatal(err)
	}
	b := c.client.NewBatch(ctx, ndb.BatchOptions{})
	b.Delete(c.row(t, 1))
	b.Wait()
	return missing
}

func TestTrace_TableMadeAnew_TellsOfTheRetry(t *testing.T) {
	c, j := newTracedTable(t)
	if err := c.cluster.DropTable("d", "changing"); err != nil {
		t.Fatal(err)
	}
	c.cluster.MustCreateTable(changingColumns)
	j.take()
	if _, err := c.client.Insert(t.Context(), c.row(t, 1)); err != nil {
		t.Fatal(err)
	}
	if calls := j.take(); len(calls) != 1 || calls[0].Retries != 1 || calls[0].RoundTrips != 7 { // seize, insert, four for the table, insert
		t.Errorf("got %+v, want one call with one retry and 7 round trips", calls)
	}
	if len(j.retries) != 1 || j.retries[0].Op != ndb.CallInsert || j.retries[0].Table != c.table || codeOf(j.retries[0].Err) != 241 {
		t.Errorf("got %+v, want one retry of an insert after 241", j.retries)
	}
	if len(j.reads) != 2 || j.reads[0].Again || !j.reads[1].Again || !j.reads[1].SameShape || j.reads[1].Table != "d/changing" || j.reads[1].RoundTrips != 4 {
		t.Errorf("got %+v, want the table read, and again", j.reads)
	}
}

func TestTrace_ContextEnds_TellsOfWhatIsAbandoned(t *testing.T) {
	c, j := newTracedTable(t)
	remove := c.cluster.Hook(ndbtest.ToAPINode, signal.GSNTCKeyConf, func(*ndbtest.Signal) ndbtest.Decision {
		return ndbtest.Delay(50 * time.Millisecond)
	})
	defer remove()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err := c.client.Insert(ctx, c.row(t, 1))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the end of the context", err)
	}
	tx, err2 := c.client.Begin(t.Context(), nil)
	if err2 != nil {
		t.Fatal(err2)
	}
	tx.Update(c.row(t, 1))
	if err := tx.Execute(ctx); err == nil {
		t.Fatal("got no error of a context that has ended")
	}
	if len(j.abandoned) != 2 {
		t.Fatalf("got %+v, want two", j.abandoned)
	}
	insert, execute := j.abandoned[0], j.abandoned[1]
	if insert.Op != ndb.CallInsert || insert.Table != c.table || insert.Node != 2 || insert.Err != err || ndb.SurelyNotDone(insert.Err) {
		t.Errorf("got %+v, want the insert with an unknown outcome", insert)
	}
	if execute.Op != ndb.CallExecute || !ndb.SurelyNotDone(execute.Err) {
		t.Errorf("got %+v, want a batch that was surely not done", execute)
	}
}

func TestTrace_LinkIsLost_TellsWhy(t *testing.T) {
	c, j := newTracedTable(t)
	c.cluster.KillNode(2)
	select {
	case loss := <-j.losses:
		if loss.Node != 2 || loss.APINode == 0 || loss.Up <= 0 || loss.Err == nil {
			t.Errorf("got %+v, want node 2 with times and a reason", loss)
		}
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}
