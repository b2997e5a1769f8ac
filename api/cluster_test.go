package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// clusterStore is a backend that tells of a cluster what a test says.
type clusterStore struct {
	store.Backend
	describe func(ctx context.Context) (store.ClusterStatus, error)
	links    []store.ClusterLink
}

func (s *clusterStore) DescribeCluster(ctx context.Context) (store.ClusterStatus, error) {
	return s.describe(ctx)
}

func (s *clusterStore) ClusterLinks() []store.ClusterLink { return s.links }

// showsCluster tells the examples of a cluster.
func (s *sample) showsCluster() bool {
	return s.operation.at("operationId").text() == "getCluster" && s.status == http.StatusOK
}

// clusterBackends is one backend with the cluster of the example.
func (s *sample) clusterBackends(rows *scriptedStore) *store.Registry {
	var want clusterView
	s.want.into(&want)
	told := &clusterStore{Backend: rows}
	status := store.ClusterStatus{NoMemory: want.MemoryReason}
	for _, n := range want.Nodes {
		node := store.ClusterNode{
			ID: n.ID, Role: store.NodeRole(n.Role), State: n.State, Version: n.Version, Host: n.Host, Address: n.Address,
			Group: -1, StartPhase: n.StartPhase,
		}
		if n.NodeGroup != nil {
			node.Group = *n.NodeGroup
		}
		if n.Master != nil {
			node.Master = *n.Master
		}
		if n.UsableLinks != nil {
			told.links = append(told.links, store.ClusterLink{Node: n.ID, State: store.LinkStarted, Usable: *n.UsableLinks > 0})
		}
		if n.Memory != nil {
			node.Memory = &store.NodeMemory{Data: memoryOfView(n.Memory.Data), Index: memoryOfView(n.Memory.Index)}
		}
		status.Nodes = append(status.Nodes, node)
	}
	told.describe = func(context.Context) (store.ClusterStatus, error) { return status, nil }
	registry := store.NewRegistry(want.Backend)
	registry.Add(want.Backend, told)
	return registry
}

func memoryOfView(v memoryUseView) store.MemoryUse {
	return store.MemoryUse{Used: v.UsedBytes, Total: v.TotalBytes, Page: v.PageBytes}
}

// backendsOf is a registry with a road that knows no cluster and those given.
func backendsOf(clusters ...store.Backend) *store.Registry {
	backends := store.NewRegistry("sql")
	backends.Add("sql", &memstore.Store{})
	for i, c := range clusters {
		backends.Add(fmt.Sprintf("ndb%d", i), c)
	}
	return backends
}

func failing(err error) *clusterStore {
	return &clusterStore{Backend: &memstore.Store{}, describe: func(context.Context) (store.ClusterStatus, error) {
		return store.ClusterStatus{}, err
	}}
}

func telling(status store.ClusterStatus) *clusterStore {
	return &clusterStore{Backend: &memstore.Store{}, describe: func(context.Context) (store.ClusterStatus, error) { return status, nil }}
}

func TestGetCluster(t *testing.T) {
	refused := fmt.Errorf("%w: no management server has answered: %w", store.ErrUnavailable, errors.Join(errors.New("a: refused"), errors.New("b: refused")))
	one := store.ClusterStatus{Nodes: []store.ClusterNode{{ID: 1, Role: store.RoleManagement, State: "connected"}}}
	tests := []struct {
		name     string
		backends *store.Registry
		path     string
		status   int
		body     string // part of it
	}{
		{"no native road", backendsOf(), "/v1/cluster", 503, `"detail":"no configured backend is a node of the cluster, as the native road is"`},
		{
			"not connected", backendsOf(store.Unavailable{Reason: "no management server"}), "/v1/cluster", 503,
			`"detail":"ndb0: no management server"`,
		},
		{
			"no management server", backendsOf(failing(refused)), "/v1/cluster", 503,
			`"detail":"ndb0: no management server has answered: a: refused; b: refused"`,
		},
		{"neither of two", backendsOf(failing(refused), failing(errors.New("no"))), "/v1/cluster", 503, `refused; ndb1: no"`},
		{"the second", backendsOf(failing(refused), telling(one)), "/v1/cluster", 200, `{"backend":"ndb1","nodes":[{"id":1,"role":"management","state":"connected"}]}`},
		{"no nodes", backendsOf(telling(store.ClusterStatus{})), "/v1/cluster", 200, `{"backend":"ndb0","nodes":[]}`},
		{
			"no memory", backendsOf(telling(store.ClusterStatus{NoMemory: "a\nb"})), "/v1/cluster", 200,
			`{"backend":"ndb0","nodes":[],"memory_reason":"a; b"}`,
		},
		{
			"lost data node",
			backendsOf(telling(store.ClusterStatus{Nodes: []store.ClusterNode{{ID: 2, Role: store.RoleData, State: "no_contact", Group: -1}}})),
			"/v1/cluster", 200, `[{"id":2,"role":"data","state":"no_contact","master":false,"usable_links":0}]`,
		},
		{"a parameter", backendsOf(telling(one)), "/v1/cluster?x=1", 400, `"code":"invalid_parameter"`},
	}
	for _, test := range tests {
		w := httptest.NewRecorder()
		New(test.backends, Options{}).ServeHTTP(w, httptest.NewRequest("GET", test.path, nil))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) {
			t.Errorf("%s: got %d %s, want %d with %s", test.name, w.Code, w.Body, test.status, test.body)
		}
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: got Cache-Control %q, want no-store", test.name, got)
		}
		if got := w.Header().Get("Retry-After"); (got != "") != (test.status == 503) {
			t.Errorf("%s: got Retry-After %q", test.name, got)
		}
	}
}

func TestGetCluster_NobodyAnswers_EndsInTime(t *testing.T) {
	for _, test := range []struct{ timeout, want time.Duration }{{time.Second, time.Second}, {time.Minute, clusterTimeout}} {
		synctest.Test(t, func(t *testing.T) {
			hangs := failing(nil)
			hangs.describe = func(ctx context.Context) (store.ClusterStatus, error) {
				<-ctx.Done()
				return store.ClusterStatus{}, fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
			}
			began := time.Now()
			w := httptest.NewRecorder()
			New(backendsOf(hangs), Options{RequestTimeout: test.timeout}).ServeHTTP(w, httptest.NewRequest("GET", "/v1/cluster", nil))
			if got := time.Since(began); w.Code != 503 || got != test.want {
				t.Errorf("got %d after %v, want 503 after %v", w.Code, got, test.want)
			}
		})
	}
}

func TestClusterMetrics(t *testing.T) {
	used := store.MemoryUse{Used: 1 << 16, Total: 1 << 20, Page: 1 << 15}
	cluster := telling(store.ClusterStatus{Nodes: []store.ClusterNode{
		{ID: 2, Role: store.RoleData, Memory: &store.NodeMemory{Data: used, Index: store.MemoryUse{Used: 1 << 15, Total: 1 << 19, Page: 1 << 15}}},
		{ID: 3, Role: store.RoleData},
		{ID: 1, Role: store.RoleManagement},
	}})
	cluster.links = []store.ClusterLink{
		{Node: 2, State: store.LinkStarted, Usable: true},
		{Node: 3, State: store.LinkStarting},
		{Node: 2, State: store.LinkStarted, Usable: true},
		{Node: 3, State: store.LinkDisconnected},
	}
	want := `
# HELP ndbgate_data_node_links Connections of a backend with a data node, by how the node is.
# TYPE ndbgate_data_node_links gauge
ndbgate_data_node_links{backend="ndb0",node="2",state="disconnected"} 0
ndbgate_data_node_links{backend="ndb0",node="2",state="registering"} 0
ndbgate_data_node_links{backend="ndb0",node="2",state="single_user"} 0
ndbgate_data_node_links{backend="ndb0",node="2",state="started"} 2
ndbgate_data_node_links{backend="ndb0",node="2",state="starting"} 0
ndbgate_data_node_links{backend="ndb0",node="2",state="stopping"} 0
ndbgate_data_node_links{backend="ndb0",node="3",state="disconnected"} 1
ndbgate_data_node_links{backend="ndb0",node="3",state="registering"} 0
ndbgate_data_node_links{backend="ndb0",node="3",state="single_user"} 0
ndbgate_data_node_links{backend="ndb0",node="3",state="started"} 0
ndbgate_data_node_links{backend="ndb0",node="3",state="starting"} 1
ndbgate_data_node_links{backend="ndb0",node="3",state="stopping"} 0
# HELP ndbgate_data_node_memory_total_bytes Memory of a data node that there is; what the other kind uses is not in it.
# TYPE ndbgate_data_node_memory_total_bytes gauge
ndbgate_data_node_memory_total_bytes{backend="ndb0",memory="data",node="2"} 1.048576e+06
ndbgate_data_node_memory_total_bytes{backend="ndb0",memory="index",node="2"} 524288
# HELP ndbgate_data_node_memory_used_bytes Memory of a data node in use: data is rows and ordered indexes, index is hash indexes.
# TYPE ndbgate_data_node_memory_used_bytes gauge
ndbgate_data_node_memory_used_bytes{backend="ndb0",memory="data",node="2"} 65536
ndbgate_data_node_memory_used_bytes{backend="ndb0",memory="index",node="2"} 32768
# HELP ndbgate_data_node_usable_links Connections of a backend with a data node over which transactions may begin.
# TYPE ndbgate_data_node_usable_links gauge
ndbgate_data_node_usable_links{backend="ndb0",node="2"} 2
ndbgate_data_node_usable_links{backend="ndb0",node="3"} 0
`
	if err := testutil.CollectAndCompare(NewClusterCollector(backendsOf(cluster, failing(errors.New("no")))), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestClusterMetrics_ManyScrapes_AskSeldomAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		hangs := failing(nil)
		hangs.describe = func(ctx context.Context) (store.ClusterStatus, error) {
			asked++
			<-ctx.Done()
			return store.ClusterStatus{}, ctx.Err()
		}
		collector := NewClusterCollector(backendsOf(hangs))
		ended := make(chan time.Time)
		for round := 1; round <= 2; round++ {
			began := time.Now()
			for range 4 {
				go func() {
					gathered := prometheus.NewPedanticRegistry()
					gathered.MustRegister(collector)
					if _, err := gathered.Gather(); err != nil {
						t.Error(err)
					}
					ended <- time.Now()
				}()
			}
			for range 4 {
				if got := (<-ended).Sub(began); got != memoryAskTimeout {
					t.Errorf("got a scrape of %v, want %v", got, memoryAskTimeout)
				}
			}
			if asked != round {
				t.Errorf("got %d questions, want %d", asked, round)
			}
			<-time.After(memoryAskEvery - memoryAskTimeout)
		}
	})
}

func TestReadyz_NDBIsDown_NamesIt(t *testing.T) {
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", store.Unavailable{Reason: "no data node can be used"})
	admin := func() (int, string) {
		server := httptest.NewServer(NewAdmin(backends, AdminOptions{}))
		defer server.Close()
		answer, err := server.Client().Get(server.URL + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if status, body := admin(); status != 503 || !strings.Contains(body, `"down":["ndb"]`) || !strings.Contains(body, "no data node can be used") {
		t.Errorf("alone: got %d %s, want 503 that names ndb and why", status, body)
	}
	backends.Add("sql", &memstore.Store{})
	if status, body := admin(); status != 200 || !strings.Contains(body, `"down":["ndb"]`) {
		t.Errorf("beside another: got %d %s, want 200 that names ndb", status, body)
	}
}
