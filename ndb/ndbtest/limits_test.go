package ndbtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func TestTooManyOperations_261(t *testing.T) {
	_, one, _, table := rawEmployees(t, ndbtest.MaxOperations(9))
	one.begin()
	for i := range 10 {
		one.op(i, table, signal.OpUpdate, 0, bigintKey(1), attrs(t, table, "department", i))
	}
	for m := one.next(); ; m = one.next() {
		var rep signal.TCRollbackRep
		if m.GSN != signal.GSNTCRollbackRep {
			continue
		}
		if err := rep.Decode(m); err != nil || rep.Error != 261 {
			t.Errorf("got %+v, want 261", rep)
		}
		return
	}
}

func TestTooManyRecords_219(t *testing.T) {
	c := ndbtest.Run(t, ndbtest.MaxTransactions(2))
	r := newRawClient(t, c, rawNode)
	one, two := r.seize(2, 0x1000), r.seize(2, 0x2000)
	if one.tc == two.tc || one.tcPointer != two.tcPointer {
		t.Errorf("got records %#x of %v and %#x of %v, want the same number at two instances", one.tcPointer, one.tc, two.tcPointer, two.tc)
	}
	send(r, 2, api, &signal.TCSeizeReq{Pointer: 0x3000, Ref: r.ref()})
	if ref := await[*signal.TCSeizeRef](r); ref.Error != 219 || ref.Pointer != 0x3000 {
		t.Errorf("got %+v, want 219", ref)
	}
	send(r, 2, api, &signal.TCReleaseReq{TC: one.tc, TCPointer: one.tcPointer, Ref: r.ref(), Pointer: one.pointer})
	await[*signal.TCReleaseConf](r)
	r.seize(2, 0x3000)
}

func TestInactiveTransaction_266_UnlessItBeats(t *testing.T) {
	const timeout = 100 * time.Millisecond
	c, one, two, table := rawEmployees(t, ndbtest.InactiveTimeout(timeout))
	for _, rec := range []*rawRecord{one, two} {
		rec.begin()
		rec.op(0, table, signal.OpUpdate, execute, bigintKey(int64(rec.pointer)>>12), attrs(t, table, "department", 100))
		await[*signal.TCKeyConf](rec.rawClient)
	}
	beat := time.NewTicker(timeout / 10)
	defer beat.Stop()
	for c.Stats().Transactions == 2 {
		<-beat.C
		send(two.rawClient, 2, api, &signal.TCHbRep{TC: two.tc, TCPointer: two.tcPointer, TransID: two.id})
	}
	one.op(1, table, signal.OpUpdate, execute, bigintKey(3), attrs(t, table, "department", 100))
	if rep := await[*signal.TCRollbackRep](one.rawClient); rep.Error != 266 || rep.TransID != one.id {
		t.Errorf("got %+v, want 266", rep)
	}
	send(two.rawClient, 2, api, &signal.TCCommitReq{TC: two.tc, TCPointer: two.tcPointer, TransID: two.id})
	await[*signal.TCCommitConf](two.rawClient)
	two.ack()
}

func TestKillNodeAt_OutcomeIsTheSurvivors(t *testing.T) {
	for _, test := range []struct {
		name string
		step ndbtest.Step
		done bool
	}{
		{"before the commit", ndbtest.BeforeCommit, false},
		{"after the commit", ndbtest.AfterCommit, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEmployees(t)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			for _, node := range e.cluster.Nodes() {
				e.cluster.KillNodeAt(node, test.step, 2)
			}
			var lost []int64
			for id := int64(0); id < 5 && len(lost) == 0; id++ {
				before := e.cluster.Stats().Links
				_, err := e.Insert(ctx, e.key(id))
				if err != nil && !ndb.SurelyNotDone(err) {
					t.Errorf("got %v", err)
				}
				if e.cluster.Stats().Links < before {
					lost = append(lost, id)
					if (err == nil) != test.done {
						t.Errorf("got %v, want done: %t", err, test.done)
					}
				}
			}
			if len(lost) == 0 {
				t.Fatal("no node has died")
			}
		})
	}
}

func TestKillNodeAfter_Signals(t *testing.T) {
	e := newEmployees(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e.fill(ctx, t, 10)
	e.cluster.KillNodeAfter(2, 5)
	for e.cluster.Port(2) != 0 {
		for id := int64(1); id <= 10; id++ {
			columns, _ := e.table.Select("department")
			var row ndb.Row
			if err := e.Read(ctx, e.key(id), columns, &row); err != nil && !ndb.MayRetry(err) {
				t.Errorf("row %d: %v", id, err)
			}
		}
	}
}
