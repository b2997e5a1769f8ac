package ndbtest_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// over is a context that has ended: a call with it tells only what is known.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// checkStatus is what is true of a cluster whose nodes are all started.
func checkStatus(t *testing.T, e *employees) {
	t.Helper()
	nodes, err := e.ClusterStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var dataNodes, masters, servers []int
	for _, n := range nodes {
		switch n.Type {
		case "NDB":
			dataNodes = append(dataNodes, n.ID)
			if n.Status != "STARTED" || n.NodeGroup != 0 || n.StartPhase != 0 || n.Version == "" || n.Address != "127.0.0.1" || n.Host != "127.0.0.1" {
				t.Errorf("got %+v, want it started, on this host, in group 0", n)
			}
			if n.Master {
				masters = append(masters, n.ID)
			}
		case "MGM":
			servers = append(servers, n.ID)
			if n.Status != "CONNECTED" || n.NodeGroup != -1 || n.Version == "" || n.Address != "127.0.0.1" || n.Host != "127.0.0.1" {
				t.Errorf("got %+v, want it connected, on this host", n)
			}
		case "API":
			if n.Master || n.NodeGroup != -1 {
				t.Errorf("got %+v, want no data node", n)
			}
			if connected := n.Status == "CONNECTED"; connected != (n.Version != "") {
				t.Errorf("got %+v, want a version if it is connected", n)
			}
		default:
			t.Errorf("got %+v, want NDB, MGM or API", n)
		}
	}
	if !slices.Equal(dataNodes, []int{2, 3}) || !slices.Equal(servers, []int{1}) || len(masters) != 1 {
		t.Errorf("got data nodes %v, management servers %v, masters %v", dataNodes, servers, masters)
	}

	memory, err := e.MemoryUse(t.Context())
	if err != nil || len(memory) != 2 || memory[0].ID != 2 || memory[1].ID != 3 {
		t.Fatalf("got %+v, %v, want that of nodes 2 and 3", memory, err)
	}
	for _, m := range memory {
		// Both kinds take their pages from one pool.
		if m.Data.Used <= 0 || m.Index.Used <= 0 || m.Data.Total+m.Index.Used != m.Index.Total+m.Data.Used || m.Data.UsedBytes() >= m.Data.TotalBytes() {
			t.Errorf("got %+v, want one pool that is not full", m)
		}
	}
}

// checkWaitAllDurable waits for a commit without saying for which one.
func checkWaitAllDurable(t *testing.T, e *employees, id int64) {
	t.Helper()
	for range 3 {
		gci, err := e.Write(t.Context(), e.key(id))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := e.WaitAllDurable(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("on disk after %v", time.Since(began))
		if err := e.WaitDurable(over(), gci); err != nil {
			t.Errorf("got %v for a commit from before, want it known to be durable", err)
		}
	}
	if _, err := e.Delete(t.Context(), e.key(id)); err != nil {
		t.Error(err)
	}
}

func TestStatusMemoryAndDurability_SameAsOnARealCluster(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		e := newEmployees(t, ndbtest.CheckpointInterval(50*time.Millisecond))
		checkStatus(t, e)
		checkWaitAllDurable(t, e, 1)
	})
	t.Run("real", func(t *testing.T) {
		const variable = "TEST_NDB_CONNECTSTRING"
		if os.Getenv(variable) == "" {
			t.Skip("needs a cluster: " + variable + " is not set")
		}
		e := &employees{}
		var err error
		if e.Client, err = ndb.Connect(t.Context(), ndb.Config{Connectstring: os.Getenv(variable)}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		e.open(t)
		checkStatus(t, e)
		checkWaitAllDurable(t, e, time.Now().UnixNano())
	})
}

func TestWaitAllDurable_CheckpointStillOpen_Waits(t *testing.T) {
	e := newEmployees(t, ndbtest.CheckpointInterval(0))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := e.WaitAllDurable(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v before the checkpoint, want the end of the context", err)
	}
}

func TestWaitAllDurable_MasterDies_TheNextOneTells(t *testing.T) {
	e := newEmployees(t, ndbtest.CheckpointInterval(0))
	asked := make(chan int, 8)
	e.cluster.Hook(ndbtest.ToDataNode, signal.GSNWaitGCPReq, func(s *ndbtest.Signal) ndbtest.Decision {
		asked <- s.Node
		return ndbtest.Pass()
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitForAll)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- e.WaitAllDurable(ctx) }() // ends with the checkpoint
	<-asked
	e.cluster.KillNode(2) // whichever was asked: the other one is told
	if node := <-asked; node != 3 {
		t.Errorf("got node %d asked, want 3", node)
	}
	for {
		e.cluster.Checkpoint()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(time.Millisecond): // the request is not counted in yet
		}
	}
}

func TestWaitGCP_MoreThanANodeTakes_Refused(t *testing.T) {
	c := ndbtest.Run(t, ndbtest.CheckpointInterval(0))
	r := newRawClient(t, c, rawNode)
	const most = 10
	ask := func(node int, id uint32) {
		send(r, node, api, &signal.WaitGCPReq{Ref: r.ref(), RequestID: id, Type: signal.WaitGCPComplete})
	}
	for id := range uint32(most + 2) {
		ask(3, id)
	}
	for id := uint32(most); id < most+2; id++ {
		if ref := await[*signal.WaitGCPRef](r); ref.Error != signal.WaitGCPTooMany || ref.RequestID != id {
			t.Errorf("got %+v, want error %d for %d", ref, signal.WaitGCPTooMany, id)
		}
	}
	for id := range uint32(most + 2) { // the master has room
		ask(2, 100+id)
	}
	// Requests to one node are handled in order, so this one comes after them.
	send(r, 2, api, &signal.ListTablesReq{RequestID: 4, Ref: r.ref(), Flags: signal.ListNames})
	await[*signal.ListTablesConf](r)
	c.Checkpoint()
	for range 2*most + 2 {
		await[*signal.WaitGCPConf](r)
	}

	ask(3, 7)
	send(r, 3, api, &signal.ListTablesReq{RequestID: 8, Ref: r.ref(), Flags: signal.ListNames})
	await[*signal.ListTablesConf](r)
	c.KillNode(2)
	for {
		m := r.next()
		if m.GSN != signal.GSNWaitGCPRef {
			continue // the failure is announced
		}
		var ref signal.WaitGCPRef
		if err := ref.Decode(m); err != nil || ref.Error != signal.WaitGCPNoMaster || ref.RequestID != 7 {
			t.Errorf("got %+v, %v, want error %d for 7", ref, err, signal.WaitGCPNoMaster)
		}
		return
	}
}

func TestClusterStatus_NodeDiesAndComesBack_MasterMoves(t *testing.T) {
	c := ndbtest.Run(t, ndbtest.DataNodes(4), ndbtest.StartDelay(time.Hour))
	s := session(t, c)
	look := func() (nodes []mgm.NodeStatus, memory []signal.NodeID) {
		t.Helper()
		nodes, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		use, err := s.MemoryUse(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range use {
			memory = append(memory, m.ID)
		}
		return nodes[:4], memory
	}
	if nodes, memory := look(); nodes[0].DynamicID != -1 || nodes[1].DynamicID != 2 || len(memory) != 4 {
		t.Errorf("got %+v, memory of %v", nodes, memory)
	}
	c.KillNode(2)
	nodes, memory := look()
	if nodes[0].Status != mgm.StatusNoContact || nodes[0].DynamicID != 0 || nodes[0].Address != "" || nodes[0].Version != 0 || slices.Contains(memory, 2) {
		t.Errorf("killed: got %+v, memory of %v", nodes[0], memory)
	}
	if err := c.StartNode(2); err != nil {
		t.Fatal(err)
	}
	nodes, memory = look()
	if nodes[0].Status != mgm.StatusStarting || nodes[0].DynamicID != 5 || nodes[0].Address == "" || !slices.Contains(memory, 2) {
		t.Errorf("starting: got %+v, memory of %v", nodes[0], memory)
	}
}

func TestClusterStatus_APINodes_ConnectedWhileTheyHaveLinks(t *testing.T) {
	e := newEmployees(t)
	nodes, err := e.ClusterStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := e.Nodes()[0].APINode
	for _, n := range nodes {
		if n.Type == "API" && (n.Status == "CONNECTED") != (n.ID == own) {
			t.Errorf("got %+v, want node %d connected and no other", n, own)
		}
	}
}

func TestMemoryUse_GrowsWithRows(t *testing.T) {
	e := newEmployees(t)
	s := session(t, e.cluster)
	look := func() mgm.MemoryUse {
		t.Helper()
		use, err := s.MemoryUse(t.Context())
		if err != nil || len(use) != 2 {
			t.Fatalf("got %+v, %v", use, err)
		}
		return use[0]
	}
	before := look()
	e.fill(t.Context(), t, 3000)
	after := look()
	if after.Data.Used <= before.Data.Used || after.Index.Used <= before.Index.Used || after.Data.Total >= before.Data.Total {
		t.Errorf("got %+v with rows, %+v without", after, before)
	}
}

func TestStallManagement_CallsEndWithTheirContexts_ThenGoOn(t *testing.T) {
	e := newEmployees(t)
	e.cluster.StallManagement()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.ClusterStatus(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if _, err := e.MemoryUse(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	done := make(chan error)
	go func() { _, err := e.ClusterStatus(t.Context()); done <- err }() // ends after ResumeManagement
	e.cluster.ResumeManagement()
	if err := <-done; err != nil {
		t.Error(err)
	}
	checkStatus(t, e)
}
