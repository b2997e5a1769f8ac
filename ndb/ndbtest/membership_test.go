package ndbtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func session(t testing.TB, c *ndbtest.Cluster) *mgm.Session {
	t.Helper()
	servers, err := mgm.ParseConnectstring(c.Connectstring())
	if err != nil {
		t.Fatal(err)
	}
	s, err := mgm.Dial(t.Context(), c.Dial, servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func mgmCode(err error) int {
	var e *mgm.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestNodeID_ReservedUntilItsNodeLeaves(t *testing.T) {
	c := ndbtest.Run(t, ndbtest.APINodes(60, 61), ndbtest.Quarantine(100*time.Millisecond))
	s, ctx := session(t, c), t.Context()
	if id, err := s.AllocNodeID(ctx, 0, "a"); id != 60 || err != nil {
		t.Fatalf("got %d, %v, want 60", id, err)
	}
	if _, err := s.AllocNodeID(ctx, 60, "b"); mgmCode(err) != mgm.CodeNotNow {
		t.Errorf("reserved: got %v, want %d", err, mgm.CodeNotNow)
	}
	if _, err := s.AllocNodeID(ctx, 99, "b"); mgmCode(err) != mgm.CodeNotConfigured {
		t.Errorf("not configured: got %v, want %d", err, mgm.CodeNotConfigured)
	}
	r := newRawClient(t, c, 60)
	if _, err := s.AllocNodeID(ctx, 60, "b"); mgmCode(err) != mgm.CodeNotNow {
		t.Errorf("connected: got %v, want %d", err, mgm.CodeNotNow)
	}
	if _, err := r.dial(2); !errors.Is(err, transporter.ErrNotExpected) {
		t.Errorf("second link: got %v, want %v", err, transporter.ErrNotExpected)
	}
	c.CutLinks()
	<-r.links[2].Done()
	<-r.links[3].Done()
	if _, err := s.AllocNodeID(ctx, 60, "b"); mgmCode(err) != mgm.CodeNotNow {
		t.Errorf("just left: got %v, want %d", err, mgm.CodeNotNow)
	}
	if _, err := r.dial(2); !errors.Is(err, transporter.ErrNotExpected) {
		t.Errorf("just left: got %v, want %v", err, transporter.ErrNotExpected)
	}
	for {
		if _, err := s.AllocNodeID(ctx, 60, "b"); err == nil {
			break
		}
	}
}

func TestManagement_ConfigPortsAndStatus(t *testing.T) {
	c := ndbtest.Run(t, ndbtest.LockWaitTimeout(700*time.Millisecond))
	s, ctx := session(t, c), t.Context()
	config, err := s.Config(ctx, 53)
	if err != nil {
		t.Fatal(err)
	}
	connections := config.ConnectionsOf(53)
	if len(connections) != 2 || connections[0].Peer != 2 || connections[0].Port > 0 || !connections[0].SignalID {
		t.Errorf("got %+v", connections)
	}
	if node, _ := config.Node(2); node.DataNode.TransactionDeadlockDetection != 700*time.Millisecond {
		t.Errorf("got %+v", node)
	}
	if port, err := s.ServerPort(ctx, 53, 2); err != nil || port != c.Port(2) {
		t.Errorf("got %d, %v, want %d", port, err, c.Port(2))
	}
	c.KillNode(2)
	nodes, err := s.Status(ctx)
	if err != nil || len(nodes) != 2+1+16 || nodes[0].Status != mgm.StatusNoContact || nodes[1].Status != mgm.StatusStarted {
		t.Errorf("got %+v, %v", nodes, err)
	}
	c.StopManagement()
	if _, err := s.Version(ctx); err == nil {
		t.Error("got an answer of a server that is down")
	}
	if err := c.StartManagement(); err != nil {
		t.Fatal(err)
	}
	if v, err := session(t, c).Version(ctx); err != nil || v != mgm.ThisVersion {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestHeartbeats_MissedFourTimes_Dropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ndbtest.Run(t, ndbtest.InMemory())
		r := newRawClient(t, c, rawNode)
		start := time.Now()
		<-r.links[2].Done()
		<-r.links[3].Done()
		if got := time.Since(start); got < 6*time.Second || got > 9*time.Second {
			t.Errorf("dropped after %v, want more than four intervals of 1.5 s", got)
		}
	})
}

// A client lives through a node that stops answering, on fake time.
func TestClient_NodeStopsAnsweringHeartbeats_GivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ndbtest.Run(t, ndbtest.InMemory())
		c.MustCreateTable(employeeTable)
		changed := make(chan ndb.NodeInfo, 1000)
		client, err := ndb.Connect(t.Context(), ndb.Config{
			Connectstring: c.Connectstring(), Dialer: c.Dial,
			Trace: &ndb.Trace{NodeChanged: func(n ndb.NodeInfo) { changed <- n }},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		awaitState := func(id int, usable bool) {
			for n := range changed {
				if n.ID == id && n.Usable == usable {
					return
				}
			}
		}
		awaitState(3, true)
		c.StopHeartbeats(2)
		awaitState(2, false)
		c.ResumeHeartbeats(2)
		awaitState(2, true)
	})
}

func TestSchemaChanges(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	r := newRawClient(t, c, rawNode)
	table := r.table("ndbtest/def/employee")
	rec := r.seize(2, 0x1000)
	read := func() {
		rec.begin()
		rec.op(0, table, signal.OpReadExclusive, executeCommit, bigintKey(1), readList(table, "id"))
	}
	if err := c.AlterAddColumn("ndbtest", "employee", ndbtest.ColumnDef{Name: "note", Type: "VARCHAR(20)", Collation: "latin1"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // from each data node
		if rep := await[*signal.AlterTableRep](r); rep.TableID != table.ID || rep.OldVersion != table.Version || rep.Name != table.Name {
			t.Errorf("got %+v", rep)
		}
	}
	read()
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 626 {
		t.Errorf("old minor version: got %+v, want 626", rep)
	}
	altered := r.table("ndbtest/def/employee")
	if altered.Version != table.Version+1<<24 || altered.ColumnByName("note") == nil {
		t.Errorf("got %+v", altered)
	}
	rec.begin()
	rec.op(0, altered, signal.OpInsert, execute, bigintKey(2), attrs(t, altered, "id", 2, "note", "x"))
	await[*signal.TCKeyConf](r)
	if err := c.DropTable("ndbtest", "employee"); err != nil {
		t.Fatal(err)
	}
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 1226 {
		t.Errorf("in flight: got %+v, want 1226", rep)
	}
	read()
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 284 {
		t.Errorf("dropped: got %+v, want 284", rep)
	}
	c.MustCreateTable(employeeTable)
	read()
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 241 {
		t.Errorf("made again: got %+v, want 241", rep)
	}
	if again := r.table("ndbtest/def/employee"); again.ID != table.ID || again.Version != table.Version+1 {
		t.Errorf("made again: got id %d version %#x", again.ID, again.Version)
	}
}

func TestClient_FollowsSchemaChanges(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 10)
	if err := e.cluster.AlterAddColumn("ndbtest", "employee", ndbtest.ColumnDef{Name: "note", Type: "VARCHAR(20)"}); err != nil {
		t.Fatal(err)
	}
	if got := e.department(ctx, t, 3); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	if err := e.cluster.DropTable("ndbtest", "employee"); err != nil {
		t.Fatal(err)
	}
	e.cluster.MustCreateTable(employeeTable)
	if _, err := e.Insert(ctx, e.key(3).Int64(e.depart, 9)); err != nil {
		t.Error(err)
	}
}

func TestWaitDurable(t *testing.T) {
	e := newEmployees(t, ndbtest.CheckpointInterval(0))
	ctx := t.Context()
	gci, err := e.Insert(ctx, e.key(1))
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := e.WaitDurable(short, gci); err == nil {
		t.Error("got no error before the checkpoint")
	}
	done := make(chan error)
	go func() { done <- e.WaitDurable(ctx, gci) }() // ends with the checkpoint
	for waiting := true; waiting; {
		e.cluster.Checkpoint()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			waiting = false
		case <-time.After(time.Millisecond): // the request is on its way
		}
	}
}

func TestSingleUser_OthersGet299(t *testing.T) {
	c, one, _, table := rawEmployees(t)
	c.EnterSingleUser(60)
	for range 2 {
		if conf := await[*signal.APIRegConf](one.rawClient); conf.StartLevel != signal.StartLevelSingleUser || conf.SingleUserAPI != 60 {
			t.Errorf("got %+v", conf)
		}
	}
	one.begin()
	one.op(0, table, signal.OpReadExclusive, executeCommit, bigintKey(1), readList(table, "id"))
	if rep := await[*signal.TCRollbackRep](one.rawClient); rep.Error != 299 {
		t.Errorf("got %+v, want 299", rep)
	}
	c.ExitSingleUser()
}

func TestDictionary_LongDescription_ComesInFragments(t *testing.T) {
	c := ndbtest.Run(t)
	def := ndbtest.TableDef{Database: "d", Name: "wide", PrimaryKey: []string{"c0"}}
	for i := range 500 {
		def.Columns = append(def.Columns, ndbtest.ColumnDef{Name: fmt.Sprintf("c%d", i), Type: "INT"})
	}
	if err := c.DefineTable(def); err != nil {
		t.Fatal(err)
	}
	table := newRawClient(t, c, rawNode).table("d/def/wide")
	if len(table.Columns) != 500 || len(table.AppendTo(nil)) < 7400*4 {
		t.Errorf("got %d columns in %d bytes", len(table.Columns), len(table.AppendTo(nil)))
	}
}

func TestDictionary_ListsIndexes(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(accountTable)
	r := newRawClient(t, c, rawNode)
	send(r, 2, api, &signal.ListTablesReq{RequestID: 4, Ref: r.ref(), Flags: signal.ListNames | signal.ListIndexes, TableID: 7})
	var names []string
	for _, o := range await[*signal.ListTablesConf](r).Objects {
		names = append(names, o.Name)
	}
	want := []string{"sys/def/7/ux_mail", "sys/def/7/ux_mail$unique", "sys/def/7/ux_code$unique"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	send(r, 2, api, &signal.ListTablesReq{RequestID: 8, Ref: r.ref(), Flags: signal.ListNames})
	if conf := await[*signal.ListTablesConf](r); len(conf.Objects) != 1+1+3 || conf.RequestID != 8 {
		t.Errorf("got %+v", conf)
	}
}

func TestNodeGroupLost_ClusterIsLost(t *testing.T) {
	e := newEmployees(t, ndbtest.DataNodes(4))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e.fill(ctx, t, 100)
	e.cluster.KillNode(2)
	e.cluster.KillNode(4)
	e.awaitUsable(ctx, t, 2)
	if n, err := e.Count(ctx, ndb.Scan{Table: e.table}); err != nil || n != 100 {
		t.Errorf("got %d rows (%v), want 100", n, err)
	}
	e.cluster.KillNode(3)
	e.awaitUsable(ctx, t, 0)
	for _, node := range e.cluster.Nodes() {
		if err := e.cluster.StartNode(node); err != nil {
			t.Fatal(err)
		}
	}
	e.awaitUsable(ctx, t, 4)
}
