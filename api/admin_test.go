package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// pingStore answers Ping and Status as it is told.
type pingStore struct {
	memstore.Store
	ping   func(ctx context.Context) error
	status store.Status
	pings  atomic.Int32
}

func (s *pingStore) Ping(ctx context.Context) error {
	s.pings.Add(1)
	return s.ping(ctx)
}

func (s *pingStore) Status() store.Status { return s.status }

// countingStore is a pingStore that counts.
type countingStore struct{ pingStore }

func (*countingStore) Counters() store.Counters {
	return store.Counters{Retries: 11, UnknownOutcomes: 3}
}

func answers(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func silent(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
}

func roadsOf(ndb, sql store.Backend) *store.Registry {
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", ndb)
	backends.Add("sql", sql)
	return backends
}

func adminGet(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestReadyz(t *testing.T) {
	down := fmt.Errorf("%w: connection refused", store.ErrUnavailable)
	tests := []struct {
		name     string
		ndb, sql func(context.Context) error
		draining bool
		status   int
		body     string
	}{
		{
			"all up", answers(nil), answers(nil), false, http.StatusOK,
			`{"status":"ready","default":"ndb","weights":[{"name":"ndb","weight":1}],"down":[],"backends":[{"name":"ndb","state":"up"},{"name":"sql","state":"up"}]}`,
		},
		{
			"one down", answers(down), answers(nil), false, http.StatusOK,
			`{"status":"ready","default":"ndb","weights":[{"name":"ndb","weight":1}],"down":["ndb"],"backends":[{"name":"ndb","state":"down","reason":"connection refused"},{"name":"sql","state":"up"}]}`,
		},
		{
			"all down", answers(errors.New("lost")), silent, false, http.StatusServiceUnavailable,
			`{"status":"unavailable","default":"ndb","weights":[{"name":"ndb","weight":1}],"down":["ndb","sql"],"backends":[{"name":"ndb","state":"down","reason":"lost"},{"name":"sql","state":"down","reason":"no answer within 1s"}]}`,
		},
		{
			"draining", answers(nil), answers(nil), true, http.StatusServiceUnavailable,
			`{"status":"draining","default":"ndb","weights":[{"name":"ndb","weight":1}],"down":[],"backends":[{"name":"ndb","state":"up"},{"name":"sql","state":"up"}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := NewAdmin(roadsOf(&pingStore{ping: test.ndb}, &pingStore{ping: test.sql}),
					AdminOptions{Draining: func() bool { return test.draining }})
				w := adminGet(h, "/readyz")
				if w.Code != test.status {
					t.Errorf("status: got %d, want %d", w.Code, test.status)
				}
				if got := strings.TrimSpace(w.Body.String()); got != test.body {
					t.Errorf("body: got %s, want %s", got, test.body)
				}
			})
		})
	}
}

func TestReadyz_ManyProbesShareOnePing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sql := &pingStore{ping: answers(nil)}
		h := NewAdmin(roadsOf(&pingStore{ping: silent}, sql), AdminOptions{})
		done := make(chan int)
		for range 20 {
			go func() { done <- adminGet(h, "/readyz").Code }()
		}
		for range 20 {
			if got := <-done; got != http.StatusOK {
				t.Fatalf("status: got %d, want 200", got)
			}
		}
		if got := sql.pings.Load(); got != 1 {
			t.Errorf("pings of 20 probes at once: got %d, want 1", got)
		}
		adminGet(h, "/readyz")
		if got := sql.pings.Load(); got != 1 {
			t.Errorf("pings before the result is old: got %d, want 1", got)
		}
		<-time.After(pingEvery)
		adminGet(h, "/readyz")
		if got := sql.pings.Load(); got != 2 {
			t.Errorf("pings after the result is old: got %d, want 2", got)
		}
	})
}

func TestReadyz_ClientLeaves_OthersStillGetTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewAdmin(roadsOf(&pingStore{ping: silent}, &pingStore{ping: answers(nil)}), AdminOptions{})
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
			close(left)
		}()
		synctest.Wait()
		leave()
		<-left
		if got := adminGet(h, "/readyz").Code; got != http.StatusOK {
			t.Errorf("status: got %d, want 200", got)
		}
	})
}

func TestAdmin_Paths(t *testing.T) {
	h := NewAdmin(roadsOf(&memstore.Store{}, &memstore.Store{}), AdminOptions{})
	tests := []struct {
		path   string
		status int
		holds  string
	}{
		{"/", http.StatusOK, "/readyz"},
		{"/livez", http.StatusOK, "ok"},
		{"/metrics", http.StatusOK, ""},
		{"/debug/pprof/", http.StatusOK, "goroutine"},
		{"/debug/pprof/goroutine?debug=1", http.StatusOK, "goroutine profile"},
		{"/debug/pprof/symbol", http.StatusOK, "num_symbols"},
		{"/debug/pprof/cmdline", http.StatusForbidden, "not shown"},
		{"/v1/employees", http.StatusNotFound, ""},
	}
	for _, test := range tests {
		w := adminGet(h, test.path)
		if w.Code != test.status {
			t.Errorf("%s: got status %d, want %d", test.path, w.Code, test.status)
		}
		if !strings.Contains(w.Body.String(), test.holds) {
			t.Errorf("%s: got %q, want something with %q", test.path, w.Body.String(), test.holds)
		}
	}
}

func TestLivez_BackendsDown_StillAlive(t *testing.T) {
	h := NewAdmin(roadsOf(store.Unavailable{Reason: "x"}, store.Unavailable{Reason: "x"}), AdminOptions{})
	if got := adminGet(h, "/livez").Code; got != http.StatusOK {
		t.Errorf("status: got %d, want 200", got)
	}
}

func TestPoolCollector(t *testing.T) {
	nodes := []store.NodeStatus{
		{Address: "a:3306", Up: true, Max: 64, InUse: 3, Idle: 5, Waiting: 2, Waits: 7, WaitTime: 1500 * time.Millisecond},
		{Address: "b:3306", Max: 64},
		{Address: "b:3306", Up: true, Max: 64, InUse: 1}, // the same server as another user
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewPoolCollector(roadsOf(
		store.Unavailable{Reason: "not there"}, &countingStore{pingStore{status: store.Status{Up: true, Nodes: nodes}}})))
	w := adminGet(NewAdmin(roadsOf(&memstore.Store{}, &memstore.Store{}), AdminOptions{Gatherer: registry}), "/metrics")
	want := []string{
		`ndbgate_backend_up{backend="ndb"} 0`,
		`ndbgate_backend_up{backend="sql"} 1`,
		`ndbgate_node_up{backend="sql",node="a:3306"} 1`,
		`ndbgate_node_up{backend="sql",node="b:3306"} 1`,
		`ndbgate_pool_connections{backend="sql",node="a:3306",state="in_use"} 3`,
		`ndbgate_pool_connections{backend="sql",node="a:3306",state="idle"} 5`,
		`ndbgate_pool_connections_max{backend="sql",node="b:3306"} 128`,
		`ndbgate_pool_waiting{backend="sql",node="a:3306"} 2`,
		`ndbgate_backend_retries_total{backend="sql"} 11`,
		`ndbgate_backend_unknown_outcomes_total{backend="sql"} 3`,
		`ndbgate_pool_waits_total{backend="sql",node="a:3306"} 7`,
		`ndbgate_pool_wait_seconds_total{backend="sql",node="a:3306"} 1.5`,
	}
	for _, line := range want {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	if t.Failed() {
		t.Logf("/metrics:\n%s", w.Body)
	}
}

func TestReadyz_BodyIsJSON(t *testing.T) {
	w := adminGet(NewAdmin(roadsOf(&memstore.Store{}, store.Unavailable{Reason: `a "quoted" reason`}), AdminOptions{}), "/readyz")
	var view readyView
	if err := json.Unmarshal(w.Body.Bytes(), &view); err != nil {
		t.Fatal(err)
	}
	if got, want := view.Backends[1].Reason, `a "quoted" reason`; got != want {
		t.Errorf("reason: got %q, want %q", got, want)
	}
}

// Probes need no key, so that what they get names no address of a node.
func TestReadyz_WithoutTheScopeAdmin_TellsNoAddress(t *testing.T) {
	const address = "10.1.2.3:3306"
	gate, key := newGate(t, access.Admin)
	readGate, readKey := newGate(t, access.Read)
	for _, c := range []struct {
		name, key string
		gate      *access.Gate
		sees      bool
	}{
		{"admin", key, gate, true},
		{"nobody asks", "", nil, true},
		{"no key", "", gate, false},
		{"another key", "ndbgate_x", gate, false},
		{"scope read", readKey, readGate, false},
	} {
		backends := store.NewRegistry("sql")
		backends.Add("sql", store.Unavailable{Reason: "dial tcp " + address + ": connection refused"})
		r := httptest.NewRequest(http.MethodGet, "/readyz", nil)
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := httptest.NewRecorder()
		NewAdmin(backends, AdminOptions{Access: c.gate}).ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(body, `"name":"sql","state":"down","reason":"`) || strings.Contains(body, address) != c.sees {
			t.Errorf("%s: got %d %s, want the address: %t", c.name, w.Code, body, c.sees)
		}
	}
}
