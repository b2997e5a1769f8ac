package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clusterAnswer is what GET /v1/cluster tells.
type clusterAnswer struct {
	Nodes []struct {
		ID          int
		Role, State string
		Master      bool
		UsableLinks int             `json:"usable_links"`
		Memory      json.RawMessage // absent: not known
	}
	MemoryReason string `json:"memory_reason"`
}

// dataNode is one node as text: how it is and whether its memory is known.
func (a *clusterAnswer) dataNode(id int) string {
	for _, n := range a.Nodes {
		if n.ID == id {
			return fmt.Sprintf("%s, usable links %d, memory known %t", n.State, n.UsableLinks, n.Memory != nil)
		}
	}
	return "not there"
}

const (
	startedNode = "started, usable links 1, memory known true"
	lostNode    = "no_contact, usable links 0, memory known false"

	// clusterLimit is how long the question may take, and a little more.
	clusterLimit = requestTimeout + time.Second
)

// look asks the gateway once. The answer must come in time.
func (g *gateway) look() (status int, a clusterAnswer, took time.Duration) {
	g.t.Helper()
	begun := time.Now()
	got := g.do("GET", "/v1/cluster", "")
	if took = time.Since(begun); took > clusterLimit {
		g.t.Errorf("got an answer after %v, want it within %v", took, clusterLimit)
	}
	if got.status == http.StatusOK {
		if err := json.Unmarshal([]byte(got.body), &a); err != nil {
			g.t.Fatal(err)
		}
	} else if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"ndb: `) {
		g.t.Fatalf("got %d %s, want 200, or 503 that says why", got.status, got.body)
	}
	return got.status, a, took
}

// awaitDataNode looks until the node is as wanted.
func (g *gateway) awaitDataNode(id int, want string, limit time.Duration) {
	g.t.Helper()
	begun := time.Now()
	await(g.t, fmt.Sprintf("node %d is %s", id, want), limit, func() (bool, string) {
		status, a, _ := g.look()
		got := a.dataNode(id)
		return got == want, fmt.Sprintf("%d, %s", status, got)
	})
	g.t.Logf("node %d: %s after %v", id, want, time.Since(begun))
}

// signalNode signals all processes of a node of the cluster.
func signalNode(t *testing.T, id int, signal syscall.Signal) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("CLUSTER_DIR"), "run", fmt.Sprintf("%d.pid", id)))
	if err != nil {
		t.Fatal(err)
	}
	leader, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-leader, signal); err != nil {
		t.Fatalf("node %d: %v", id, err)
	}
}

// pause stops the processes of a node until resume or the end of the test.
func pause(t *testing.T, id int) (resume func()) {
	t.Helper()
	resumed := false
	resume = func() {
		if !resumed {
			resumed = true
			signalNode(t, id, syscall.SIGCONT)
		}
	}
	t.Cleanup(resume)
	signalNode(t, id, syscall.SIGSTOP)
	return resume
}

// serveNative starts a gateway with both roads.
func serveNative(t *testing.T) *gateway {
	t.Helper()
	dsns := killableCluster(t, "TEST_NDB_CONNECTSTRING")
	t.Setenv("GATEWAY_NDB_CONNECTSTRING", os.Getenv("TEST_NDB_CONNECTSTRING"))
	return serve(t, dsns)
}

func (g *gateway) adminGet(path string) (status int, body string) {
	g.t.Helper()
	resp, err := client.Get(g.admin + path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestCluster_DataNodeDiesAndComesBack_ShowsWithinSeconds(t *testing.T) {
	g := serveNative(t)
	t.Cleanup(func() { clusterScript(t, "up") }) // Whatever happens, leave a whole cluster.
	g.awaitDataNode(2, startedNode, waitLimit)
	g.awaitDataNode(3, startedNode, waitLimit)

	clusterScript(t, "kill-node", "3")
	g.awaitDataNode(3, lostNode, 5*time.Second)
	_, a, _ := g.look()
	if a.dataNode(2) != startedNode || a.MemoryReason != "" {
		t.Errorf("got node 2 %s, memory reason %q, want it to go on", a.dataNode(2), a.MemoryReason)
	}
	_, metrics := g.adminGet("/metrics")
	for _, want := range []string{
		`ndbgate_data_node_usable_links{backend="ndb",node="2"} 1`,
		`ndbgate_data_node_usable_links{backend="ndb",node="3"} 0`,
		`ndbgate_data_node_links{backend="ndb",node="3",state="disconnected"} 1`,
		`ndbgate_data_node_memory_used_bytes{backend="ndb",memory="data",node="2"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics: got no %s", want)
		}
	}
	if status, body := g.adminGet("/readyz"); status != http.StatusOK || !strings.Contains(body, `"down":[]`) {
		t.Errorf("readiness: got %d %s, want both roads up", status, body)
	}

	clusterScript(t, "start-node", "3")
	g.awaitDataNode(3, startedNode, waitLimit)
	_, a, _ = g.look()
	masters := 0
	for _, n := range a.Nodes {
		if n.Master {
			masters++
		}
	}
	if masters != 1 {
		t.Errorf("got %d masters, want 1", masters)
	}
}

func TestCluster_ManagementServerHangs_AnswersInTime_RowsAreServed(t *testing.T) {
	g := serveNative(t)
	g.awaitDataNode(2, startedNode, waitLimit)
	resume := pause(t, 1)
	// The latest answer serves for a moment more.
	deadline := time.Now().Add(waitLimit)
	for status := 0; status != http.StatusServiceUnavailable; {
		var took time.Duration
		if status, _, took = g.look(); status == http.StatusServiceUnavailable {
			t.Logf("503 after %v", took)
		}
		if time.Now().After(deadline) {
			t.Fatal("the management server answers still")
		}
	}
	begun := time.Now()
	if status, body := g.adminGet("/metrics"); status != http.StatusOK || !strings.Contains(body, "ndbgate_data_node_usable_links") || time.Since(begun) > clusterLimit {
		t.Errorf("metrics: got %d after %v", status, time.Since(begun))
	}
	const id = firstID + 77
	for _, step := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", fmt.Sprintf("/v1/employees/%d", id), `{"first":"Ada"}`, http.StatusCreated},
		{"GET", fmt.Sprintf("/v1/employees/%d", id), "", http.StatusOK},
		{"DELETE", fmt.Sprintf("/v1/employees/%d", id), "", http.StatusNoContent},
	} {
		if got := g.do(step.method, step.path, step.body, "X-Backend: ndb"); got.status != step.want {
			t.Errorf("%s %s: got %d %s, want %d", step.method, step.path, got.status, got.body, step.want)
		}
	}
	resume()
	g.awaitDataNode(2, startedNode, waitLimit)
}

// TestCluster_DataNodeHangs_OnlyMemoryIsMissing lets it hang for less than the
// others take for a failure.
func TestCluster_DataNodeHangs_OnlyMemoryIsMissing(t *testing.T) {
	g := serveNative(t)
	t.Cleanup(func() { clusterScript(t, "up") })
	g.awaitDataNode(3, startedNode, waitLimit)
	resume := pause(t, 3)
	begun := time.Now()
	for {
		status, a, _ := g.look() // the latest answer serves for a moment more
		if status != http.StatusOK || time.Since(begun) > clusterLimit {
			t.Fatalf("got %d %+v after %v, want 200 with the reason why memory is missing", status, a, time.Since(begun))
		}
		if a.MemoryReason != "" {
			t.Logf("after %v: %s", time.Since(begun), a.MemoryReason)
			break
		}
	}
	resume()
	g.awaitDataNode(3, startedNode, waitLimit)
}
