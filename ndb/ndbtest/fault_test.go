package ndbtest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func TestKillNode_CoordinatorGone_SurvivorDecides(t *testing.T) {
	c, one, two, table := rawEmployees(t)
	r := one.rawClient
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](r)
	two.begin()
	two.op(0, table, signal.OpUpdate, executeCommit, bigintKey(2), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](r)
	third := r.seize(3, 0x3000)
	third.begin()
	third.op(0, table, signal.OpUpdate, execute, bigintKey(3), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](r)

	c.KillNode(2)
	if rep := await[*signal.NodeFailRep](r); !rep.Failed.Has(2) || rep.Failed.Len() != 1 || rep.Master != 3 {
		t.Errorf("got %+v", rep)
	}
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 286 || rep.Pointer != 0x3000 {
		t.Errorf("participant: got %+v, want 286", rep)
	}
	var committed signal.TransID
	for range 2 {
		switch m := r.next(); m.GSN {
		case signal.GSNTCKeyFailConf:
			var conf signal.TCKeyFailConf
			if err := conf.Decode(m); err != nil || conf.OpPointer != 0x2000 || conf.TransID != two.id || !conf.Marker {
				t.Errorf("got %+v (%v)", conf, err)
			}
			committed = conf.TransID
			tc, _ := signal.NewTCRef(signal.NewBlockRef(m.Sender, 3))
			send(r, 3, api, &signal.TCCommitAck{TC: tc, TransID: conf.TransID})
		case signal.GSNTCKeyFailRef:
			var ref signal.TCKeyFailRef
			if err := ref.Decode(m); err != nil || ref.OpPointer != 0x1000 || ref.TransID != one.id {
				t.Errorf("got %+v (%v)", ref, err)
			}
		default:
			t.Errorf("got %v", m.GSN)
		}
	}
	if committed != two.id {
		t.Errorf("got %v committed, want %v", committed, two.id)
	}
	if conf := await[*signal.TakeOverTCConf](r); conf.Failed != 2 {
		t.Errorf("got %+v", conf)
	}
	if rep := await[*signal.NFCompleteRep](r); rep.Failed != 2 {
		t.Errorf("got %+v", rep)
	}
	third.begin()
	third.op(0, table, signal.OpReadExclusive, executeCommit, bigintKey(1), readList(table, "department"))
	if got, want := string(r.row()), string(attrs(t, table, "department", 1)); got != want {
		t.Errorf("rolled back row: got %x, want %x", got, want)
	}
	third.begin()
	third.op(0, table, signal.OpReadExclusive, executeCommit, bigintKey(2), readList(table, "department"))
	if got, want := string(r.row()), string(attrs(t, table, "department", 100)); got != want {
		t.Errorf("committed row: got %x, want %x", got, want)
	}
}

func (e *employees) awaitUsable(ctx context.Context, t testing.TB, want int) {
	t.Helper()
	awaitUsable(ctx, t, e.Client, e.changed, want)
}

// Many callers write while data nodes die and come back: what was acknowledged
// is there, and what surely was not done is not.
func TestClient_NodesComeAndGo_NothingAcknowledgedIsLost(t *testing.T) {
	e := newEmployees(t, ndbtest.LockWaitTimeout(200*time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const callers = 8
	var stop atomic.Bool
	var wg sync.WaitGroup
	type attempt struct {
		id  int64
		err error
	}
	attempts := make([][]attempt, callers)
	for i := range callers {
		wg.Go(func() { // ends with stop
			for n := int64(0); !stop.Load(); n++ {
				id := n*callers + int64(i)
				_, err := e.Insert(ctx, e.key(id))
				attempts[i] = append(attempts[i], attempt{id, err})
			}
		})
	}
	for range 3 {
		for _, node := range []int{2, 3} {
			e.cluster.KillNode(node)
			e.awaitUsable(ctx, t, 1)
			if err := e.cluster.StartNode(node); err != nil {
				t.Fatal(err)
			}
			e.awaitUsable(ctx, t, 2)
		}
	}
	stop.Store(true)
	wg.Wait()
	columns, _ := e.table.Select("id")
	done, failed, unknown := 0, 0, 0
	for _, list := range attempts {
		for _, a := range list {
			var row ndb.Row
			err := e.Read(ctx, e.key(a.id), columns, &row)
			switch {
			case a.err == nil:
				done++
				if err != nil {
					t.Errorf("row %d was acknowledged: %v", a.id, err)
				}
			case ndb.SurelyNotDone(a.err):
				failed++
				if err == nil {
					t.Errorf("row %d is there: %v", a.id, a.err)
				}
			default:
				unknown++
			}
		}
	}
	t.Logf("%d done, %d failed, %d unknown", done, failed, unknown)
	if done == 0 {
		t.Error("nothing was done")
	}
}

func TestClient_ClusterLost_AndBack(t *testing.T) {
	e := newEmployees(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e.fill(ctx, t, 10)
	e.cluster.Checkpoint()
	e.fill(ctx, t, 0)
	if _, err := e.Insert(ctx, e.key(11)); err != nil {
		t.Fatal(err)
	}
	e.cluster.KillAll()
	e.awaitUsable(ctx, t, 0)
	for _, node := range e.cluster.Nodes() {
		if err := e.cluster.StartNode(node); err != nil {
			t.Fatal(err)
		}
	}
	e.awaitUsable(ctx, t, 2)
	if got := e.department(ctx, t, 10); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	columns, _ := e.table.Select("id")
	var row ndb.Row
	if got := codeOf(e.Read(ctx, e.key(11), columns, &row)); got != 626 {
		t.Errorf("got %d for a row that was not on disk, want 626", got)
	}
}

func TestStopNode_InOrder_ClientGoesOn(t *testing.T) {
	e := newEmployees(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e.fill(ctx, t, 10)
	e.cluster.StopNode(2)
	e.awaitUsable(ctx, t, 1)
	for id := int64(1); id <= 10; id++ {
		e.department(ctx, t, id)
	}
	if err := e.cluster.StartNode(2); err != nil {
		t.Fatal(err)
	}
	e.awaitUsable(ctx, t, 2)
}

func TestCutLink_TransactionsRollBack(t *testing.T) {
	c, one, _, table := rawEmployees(t)
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](one.rawClient)
	c.CutLink(rawNode, 2)
	<-one.links[2].Done()
	rec := one.seize(3, 0x4000)
	rec.begin()
	rec.op(0, table, signal.OpReadExclusive, executeCommit, bigintKey(1), readList(table, "department"))
	if got, want := string(rec.row()), string(attrs(t, table, "department", 1)); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestStallLink_NothingComes_ThenAll(t *testing.T) {
	c, one, _, table := rawEmployees(t)
	c.StallLink(rawNode, 2)
	one.begin()
	one.op(0, table, signal.OpRead, committedRead|executeCommit, bigintKey(1), readList(table, "department"))
	select {
	case m := <-one.arrived:
		t.Fatalf("got %v", m.GSN)
	case <-time.After(50 * time.Millisecond): // as sure as it gets
	}
	c.ResumeLink(rawNode, 2)
	one.row()
}

func TestRefuse_ByOperation(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	remove := e.cluster.Refuse(ndbtest.Match{Operation: "insert", Table: "employee", Skip: 1, Times: 2}, 1218)
	var codes []int
	for id := int64(1); id <= 4; id++ {
		_, err := e.Insert(ctx, e.key(id))
		codes = append(codes, codeOf(err))
	}
	want := []int{0, 1218, 1218, 0}
	for i := range want {
		if codes[i] != want[i] {
			t.Fatalf("got %v, want %v", codes, want)
		}
	}
	remove()
}

func TestHook_DropsAndObserves(t *testing.T) {
	c, one, _, table := rawEmployees(t)
	var seen atomic.Int64
	remove := c.Hook(ndbtest.ToAPINode, signal.GSNTCKeyConf, func(s *ndbtest.Signal) ndbtest.Decision {
		seen.Add(1)
		return ndbtest.Drop()
	})
	one.begin()
	one.op(0, table, signal.OpRead, committedRead|executeCommit, bigintKey(1), readList(table, "department"))
	await[*signal.TransIDAI](one.rawClient)
	remove()
	one.begin()
	one.op(0, table, signal.OpRead, committedRead|executeCommit, bigintKey(1), readList(table, "department"))
	one.row()
	if got := seen.Load(); got != 1 {
		t.Errorf("got %d confirmations, want 1", got)
	}
}

func TestHook_KillsTheCoordinatorBeforeItTellsOfTheCommit(t *testing.T) {
	e := newEmployees(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var once sync.Once
	remove := e.cluster.Hook(ndbtest.ToAPINode, signal.GSNTCKeyConf, func(s *ndbtest.Signal) (d ndbtest.Decision) {
		once.Do(func() {
			e.cluster.KillNode(s.Node)
			d = ndbtest.Drop()
		})
		return d
	})
	defer remove()
	if _, err := e.Insert(ctx, e.key(1)); err != nil {
		t.Errorf("got %v for a commit that the survivor knows of", err)
	}
	e.department(ctx, t, 1)
}
