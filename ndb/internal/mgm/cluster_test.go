package mgm

import (
	"errors"
	"net"
	"os"
	"slices"
	"testing"
)

const connectstringVariable = "TEST_NDB_CONNECTSTRING"

// TestRealServer_AnswersEveryCall takes no node ID: that is for those who
// connect with it.
func TestRealServer_AnswersEveryCall(t *testing.T) {
	connectstring := os.Getenv(connectstringVariable)
	if connectstring == "" {
		t.Skip(connectstringVariable + " is not set: no cluster to ask")
	}
	s, err := Dial(t.Context(), new(net.Dialer).DialContext, servers(t, connectstring))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, err := s.Version(t.Context()); err != nil || v < 0x080000 {
		t.Errorf("got version %v, %v", v, err)
	}
	nodes, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	apis := slices.DeleteFunc(slices.Clone(nodes), func(n NodeStatus) bool { return n.Type != TypeAPI })
	if len(apis) == 0 {
		t.Fatalf("got no API nodes in %+v", nodes)
	}
	own := apis[len(apis)-1].ID
	config, err := s.Config(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Nodes) != len(nodes) {
		t.Errorf("got %d nodes in the configuration, %d in the status", len(config.Nodes), len(nodes))
	}
	connections := config.ConnectionsOf(own)
	for _, n := range nodes {
		if got, ok := config.Node(n.ID); !ok || got.Type != n.Type {
			t.Errorf("node %d: got %+v in the configuration, %+v in the status", n.ID, got, n)
		}
		if n.Type != TypeData {
			continue
		}
		i := slices.IndexFunc(connections, func(c Connection) bool { return c.Peer == n.ID })
		if i < 0 {
			t.Errorf("no connection with data node %d", n.ID)
			continue
		}
		if port := connections[i].Port; port <= 0 && n.Status == StatusStarted {
			if port, err = s.ServerPort(t.Context(), own, n.ID); err != nil || port <= 0 {
				t.Errorf("data node %d: got port %d, %v", n.ID, port, err)
			}
		}
	}
	memory, err := s.MemoryUse(t.Context())
	if err != nil || len(memory) == 0 {
		t.Errorf("got memory %+v, %v", memory, err)
	}
	for _, m := range memory {
		// Both kinds take their pages from one pool: what one uses is not in the
		// total of the other.
		if m.Data.Used <= 0 || m.Index.Used <= 0 || m.Data.Total+m.Index.Used != m.Index.Total+m.Data.Used {
			t.Errorf("got memory %+v, want one pool", m)
		}
	}
	var refused *Error
	if id, err := s.AllocNodeID(t.Context(), nodes[0].ID, "test"); !errors.As(err, &refused) || refused.Code != CodeNotConfigured || Temporary(err) {
		t.Errorf("a data node's id: got %d, %v, want code %d", id, err, CodeNotConfigured)
	}
	if v, err := s.Version(t.Context()); err != nil || v == 0 {
		t.Errorf("after the refusal: got version %v, %v", v, err)
	}
}
