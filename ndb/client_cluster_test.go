package ndb

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// connectstringVariable names the real cluster that some tests need. They only
// look at it; they stop and harm nothing.
const connectstringVariable = "TEST_NDB_CONNECTSTRING"

// connectReal connects to the real cluster, or skips the test where there is
// none.
func connectReal(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Connectstring = os.Getenv(connectstringVariable)
	if cfg.Connectstring == "" {
		t.Skip("needs a cluster: " + connectstringVariable + " is not set")
	}
	c, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// awaitNodes waits until all nodes are as the test wants them.
func awaitNodes(ctx context.Context, t *testing.T, c *Client, ready func(NodeInfo) bool) []NodeInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		changed := c.changed.wait()
		nodes, all := c.Nodes(), true
		for _, n := range nodes {
			all = all && ready(n)
		}
		if all {
			return nodes
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("got nodes %+v after a minute", nodes)
		}
	}
}

func started(n NodeInfo) bool { return n.Usable && n.State == NodeStarted }

func TestRealCluster_NodesStarted_AndTheSameIDAgain(t *testing.T) {
	c := connectReal(t, Config{})
	nodes := awaitNodes(t.Context(), t, c, started)
	if len(nodes) < 2 {
		t.Fatalf("got %d data nodes, want at least 2", len(nodes))
	}
	for _, n := range nodes {
		if n.Version == "" || n.NodeGroup < 0 || n.Address == "" || n.Since.IsZero() || n.LastError != nil {
			t.Errorf("got %+v, want version, node group, address and time", n)
		}
	}
	c.Close()

	// The data nodes keep the ID for some seconds.
	again := connectReal(t, Config{NodeIDs: []int{nodes[0].APINode}, Name: "ndb-go test"})
	for _, n := range awaitNodes(t.Context(), t, again, started) {
		if n.APINode != nodes[0].APINode {
			t.Errorf("got API node %d, want %d", n.APINode, nodes[0].APINode)
		}
	}
}

func TestRealCluster_SeveralAPINodes_EachHasItsLinks(t *testing.T) {
	c := connectReal(t, Config{NodeIDs: []int{65, 66}})
	if nodes := awaitNodes(t.Context(), t, c, started); len(nodes) < 4 {
		t.Errorf("got %d links, want 2 for each data node", len(nodes))
	}
	if c.apis[0].id != 65 || c.apis[1].id != 66 {
		t.Errorf("got API nodes %d and %d, want 65 and 66", c.apis[0].id, c.apis[1].id)
	}
}

func TestRealCluster_NodeIDOfAnother_WaitsUntilTheContextEnds(t *testing.T) {
	c := connectReal(t, Config{})
	taken := c.Nodes()[0].APINode
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	second, err := Connect(ctx, Config{Connectstring: os.Getenv(connectstringVariable), NodeIDs: []int{taken}})
	if err == nil {
		second.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	t.Log(err)
}

func TestRealCluster_WaitDurable_WaitsForACheckpoint(t *testing.T) {
	c := connectReal(t, Config{})
	awaitNodes(t.Context(), t, c, started)
	for _, n := range c.apis[0].nodes {
		l := c.apis[0].linkTo(n.id)
		before := c.checkpoints.durable
		began := time.Now()
		if err := c.askCheckpointOver(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if c.checkpoints.durable <= before {
			t.Errorf("got checkpoint %d from node %d after %d, want a later one", c.checkpoints.durable, n.id, before)
		}
		t.Logf("node %d: checkpoint %d after %v", n.id, c.checkpoints.durable, time.Since(began))
	}
	if err := c.WaitDurable(t.Context(), GCI(c.checkpoints.durable+1)<<gciCheckpointShift); err != nil {
		t.Error(err)
	}
}
