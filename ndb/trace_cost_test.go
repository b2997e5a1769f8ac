package ndb

import (
	"context"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
)

// tracedStep is what a call of one operation does for its trace.
func tracedStep(ctx context.Context, c *Client, op *Operation, rec *txRecord) {
	begun := c.callBegins()
	op.trip = trip{op: callOps[op.kind], table: op.table}
	op.trip.began(rec)
	op.trip.waits++
	if !begun.IsZero() {
		c.callEnds(ctx, begun, op.trip.call(1, nil))
	}
}

func traceSubjects(trace *Trace) (*Client, *Operation, *txRecord) {
	c := newClient(Config{Trace: trace}.withDefaults(), mgm.Connectstring{})
	return c, newOperation(opRead), newTxRecord(&link{api: &apiNode{}}, 1)
}

func TestTrace_AllocatesNothing(t *testing.T) {
	calls := 0
	for name, trace := range map[string]*Trace{
		"nil": nil, "no call": {}, "a call": {Call: func(context.Context, Call) { calls++ }},
	} {
		c, op, rec := traceSubjects(trace)
		if got := testing.AllocsPerRun(100, func() { tracedStep(t.Context(), c, op, rec) }); got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
		c.Close()
	}
	if calls != 101 { // AllocsPerRun has one more
		t.Errorf("got %d calls, want 101", calls)
	}
}

func BenchmarkTrace(b *testing.B) {
	for _, bench := range []struct {
		name  string
		trace *Trace
	}{{"off", nil}, {"on", &Trace{Call: func(context.Context, Call) {}}}} {
		b.Run(bench.name, func(b *testing.B) {
			c, op, rec := traceSubjects(bench.trace)
			defer c.Close()
			b.ReportAllocs()
			for b.Loop() {
				tracedStep(context.Background(), c, op, rec)
			}
		})
	}
}
