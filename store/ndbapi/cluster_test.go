package ndbapi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// node finds a node of the cluster.
func node(t *testing.T, status store.ClusterStatus, id int) store.ClusterNode {
	t.Helper()
	i := slices.IndexFunc(status.Nodes, func(n store.ClusterNode) bool { return n.ID == id })
	if i < 0 {
		t.Fatalf("got %+v, want node %d in it", status.Nodes, id)
	}
	return status.Nodes[i]
}

func TestDescribeCluster_AllIsWell(t *testing.T) {
	s := openOn(t, startCluster(t, ndbtest.DataNodes(4), ndbtest.APINodes(60, 61)), func(c *ndbapi.Config) { c.NodeIDs = []int{60} })
	status, err := s.DescribeCluster(t.Context())
	if err != nil || status.NoMemory != "" || len(status.Nodes) != 4+1+2 {
		t.Fatalf("got %+v, %v, want 7 nodes", status, err)
	}
	for id := 2; id <= 5; id++ {
		n := node(t, status, id)
		if n.Memory == nil || n.Memory.Data.Used <= 0 || n.Memory.Index.Total <= n.Memory.Index.Used || n.Memory.Data.Page != 32<<10 {
			t.Errorf("node %d: got memory %+v", id, n.Memory)
		}
		n.Memory = nil
		want := store.ClusterNode{
			ID: id, Role: store.RoleData, State: "started", Version: "9.7.2", Host: "127.0.0.1", Address: "127.0.0.1",
			Group: (id - 2) / 2, Master: id == 2,
		}
		if n != want {
			t.Errorf("got %+v, want %+v", n, want)
		}
	}
	for _, want := range []store.ClusterNode{
		{ID: 1, Role: store.RoleManagement, State: "connected", Version: "9.7.2", Host: "127.0.0.1", Address: "127.0.0.1", Group: -1},
		{ID: 60, Role: store.RoleAPI, State: "connected", Version: "9.7.2", Address: "127.0.0.1", Group: -1},
		{ID: 61, Role: store.RoleAPI, State: "no_contact", Group: -1},
	} {
		if got := node(t, status, want.ID); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	links := s.ClusterLinks()
	for _, link := range links {
		if link.State != store.LinkStarted || !link.Usable {
			t.Errorf("got %+v, want it started and usable", link)
		}
	}
	if len(links) != 4 {
		t.Errorf("got %d links, want 4", len(links))
	}
}

func TestDescribeCluster_DataNodeDies_Shows(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c)
	c.KillNode(2)
	await(t, "the link is lost", func() bool { return s.ClusterLinks()[0].State == store.LinkDisconnected })
	status, err := s.DescribeCluster(t.Context())
	if err != nil || status.NoMemory != "" {
		t.Fatalf("got %+v, %v", status, err)
	}
	want := store.ClusterNode{ID: 2, Role: store.RoleData, State: "no_contact", Host: "127.0.0.1", Group: -1}
	if got := node(t, status, 2); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := node(t, status, 3); !got.Master || got.Memory == nil || !s.ClusterLinks()[1].Usable {
		t.Errorf("got %+v, want it to be the master, and usable", got)
	}
}

func TestDescribeCluster_ManagementServerHangsOrIsDown_UnavailableInTime(t *testing.T) {
	c := startCluster(t)
	s := openOn(t, c)
	c.StallManagement()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.DescribeCluster(ctx)
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.Connectstring()) {
		t.Errorf("hangs: got %v, want %v that names the server", err, store.ErrUnavailable)
	}
	c.ResumeManagement()
	c.StopManagement()
	if _, err := s.DescribeCluster(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("down: got %v, want %v", err, store.ErrUnavailable)
	}
	if _, err := s.Get(t.Context(), 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want rows to be served", err)
	}
}

func TestDescribeCluster_NeverConnected_UnavailableWithTheReason(t *testing.T) {
	c := ndbtest.Run(t)
	c.StopManagement()
	s := openOnly(t, ndbapi.Config{Connectstring: c.Connectstring(), ConnectTimeout: 100 * time.Millisecond})
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) { // waits for the first attempt
		t.Errorf("got %v, want %v", err, store.ErrUnavailable)
	}
	if _, err := s.DescribeCluster(t.Context()); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "connection to the cluster") {
		t.Errorf("got %v, want %v with the reason", err, store.ErrUnavailable)
	}
	if links := s.ClusterLinks(); links != nil {
		t.Errorf("got %+v, want none", links)
	}
}
