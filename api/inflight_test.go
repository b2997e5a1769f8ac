package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// hangingStore is a road whose Get hangs until it is released.
type hangingStore struct {
	memstore.Store
	began   chan struct{}
	release chan struct{}
}

func (s *hangingStore) Get(ctx context.Context, id int64) (models.Employee, error) {
	s.began <- struct{}{}
	<-s.release
	return s.Store.Get(ctx, id)
}

func (s *hangingStore) Delete(context.Context, int64, store.Precondition) error { panic("a bug") }

// hangingRouter has a road ndb that hangs and a road sql that serves; each takes
// two requests.
func hangingRouter(t *testing.T) (http.Handler, *hangingStore, *prometheus.Registry) {
	t.Helper()
	hanging := &hangingStore{began: make(chan struct{}), release: make(chan struct{})}
	backends := store.NewRegistry("sql")
	backends.Add("ndb", hanging)
	backends.Add("sql", &memstore.Store{})
	metrics := prometheus.NewRegistry()
	return New(backends, Options{Metrics: metrics, MaxInFlight: map[string]int{"ndb": 2, "sql": 2}}), hanging, metrics
}

func TestInFlight_RoadThatHangs_RefusesAtOnceAndLeavesTheOther(t *testing.T) {
	router, hanging, metrics := hangingRouter(t)
	b := &bench{t: t, router: router}
	byNDB := []string{"X-Backend: ndb"}
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() { // ends with the release
			if w := b.do(request{"GET", "/v1/employees/1", "", byNDB}); w.Code != http.StatusNotFound {
				t.Errorf("a request that had a place: got %d %s", w.Code, w.Body)
			}
		})
		<-hanging.began
	}
	for _, q := range []request{
		{"GET", "/v1/employees/1", "", byNDB},
		{"HEAD", "/v1/employees/1", "", byNDB},
		{"GET", "/v1/employees", "", byNDB},
		{"GET", "/v1/employees?explain=true", "", byNDB},
		{"POST", "/v1/employees", "{}", byNDB},
		{"PUT", "/v1/employees/1", "{}", byNDB},
		{"PATCH", "/v1/employees/1", "{}", byNDB},
		{"DELETE", "/v1/employees/1", "", byNDB},
		{"POST", "/v1/employees:batchGet", `{"ids":[1]}`, byNDB},
		{"POST", "/v1/employees:batchCreate", `{"employees":[{}]}`, byNDB},
		{"POST", "/v1/employees:batchCreate", `{"employees":[{}],"partial":true}`, byNDB},
	} {
		w := b.do(q)
		if p := problemOf(t, w); w.Code != http.StatusServiceUnavailable || p.Code != "overloaded" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: got %d %s, want 503 overloaded", q.method, q.path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/v1/employees", "/v1/backends", "/v1/limits", "/openapi.yaml", "/docs/"} {
		if w := b.do(request{method: "GET", path: path}); w.Code != http.StatusOK {
			t.Errorf("%s while ndb hangs: got %d %s, want 200", path, w.Code, w.Body)
		}
	}
	if got := b.do(request{"GET", "/v1/employees", "", []string{"X-Backend-Compare: ndb"}}); got.Code != http.StatusOK ||
		!strings.Contains(got.Header().Get(compareHeader), "result=failed") || !strings.HasSuffix(got.Header().Get(compareHeader), "status=503") {
		t.Errorf("compared with ndb: got %d with %q", got.Code, got.Header().Get(compareHeader))
	}
	checkInFlight(t, metrics, 2)
	close(hanging.release)
	waiting.Wait()
	checkInFlight(t, metrics, 0)
	if rows := hanging.all(t); rows != 0 {
		t.Errorf("refused requests left %d rows", rows)
	}
}

func (s *hangingStore) all(t *testing.T) int {
	t.Helper()
	page, err := s.List(t.Context(), models.EmployeeQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Employees)
}

func checkInFlight(t *testing.T, metrics prometheus.Gatherer, want int) {
	t.Helper()
	text := fmt.Sprintf(`# HELP ndbgate_in_flight_requests Requests that are at a backend now, of imports and exports none.
# TYPE ndbgate_in_flight_requests gauge
ndbgate_in_flight_requests{backend="ndb"} %d
ndbgate_in_flight_requests{backend="sql"} 0
`, want)
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(text), "ndbgate_in_flight_requests"); err != nil {
		t.Error(err)
	}
}

func TestInFlight_BodyThatIsStillToCome_TakesNoPlace(t *testing.T) {
	router, _, metrics := hangingRouter(t)
	server := httptest.NewServer(router)
	defer server.Close()
	for range 3 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const head = "PUT /v1/employees/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		// It comes when the body is wanted.
		if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(got, "100 Continue") {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	checkInFlight(t, metrics, 0)
}

func TestInFlight_APanicGivesItsPlaceBack(t *testing.T) {
	router, _, metrics := hangingRouter(t)
	b := &bench{t: t, router: router}
	for range 3 {
		if w := b.do(request{"DELETE", "/v1/employees/1", "", []string{"X-Backend: ndb"}}); w.Code != http.StatusInternalServerError {
			t.Errorf("got %d %s, want 500", w.Code, w.Body)
		}
	}
	checkInFlight(t, metrics, 0)
}

// durableWaits is a road on which X-Durability: disk waits until it is released.
type durableWaits struct {
	hangingStore
}

func (s *durableWaits) CheckDurable() error { return nil }

func (s *durableWaits) WaitDurable(context.Context) error {
	s.began <- struct{}{}
	<-s.release
	return nil
}

func TestInFlight_WaitingForTheDisk_TakesNoPlace(t *testing.T) {
	road := &durableWaits{hangingStore{began: make(chan struct{}), release: make(chan struct{})}}
	backends := store.NewRegistry("ndb")
	backends.Add("ndb", road)
	b := &bench{t: t, router: New(backends, Options{MaxInFlight: map[string]int{"ndb": 1}})}
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() { // ends with the release
			if w := b.do(request{"POST", "/v1/employees", "{}", []string{"X-Durability: disk"}}); w.Code != http.StatusCreated {
				t.Errorf("got %d %s, want 201", w.Code, w.Body)
			}
		})
		<-road.began
	}
	close(road.release)
	waiting.Wait()
}

func TestLimits_NameWhatIsOn(t *testing.T) {
	tests := []struct {
		opts Options
		want []string
		not  []string
	}{
		{Options{}, []string{`"name":"in_flight","value":512,"unit":"requests","backend":"sql"`}, []string{"client_rate"}},
		{
			Options{RateLimit: 7, RateBurst: 9, MaxInFlight: map[string]int{"ndb": 3}, MoreLimits: []Limit{{Name: "connections", Value: 4, Unit: "connections"}}},
			[]string{`"client_rate","value":7`, `"client_burst","value":9`, `"value":3,"unit":"requests","backend":"ndb"`, `{"name":"connections","value":4,"unit":"connections"}`},
			nil,
		},
	}
	for _, test := range tests {
		text := newBenchWith(t, test.opts).do(request{method: "GET", path: "/v1/limits"}).Body.String()
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("got %s, want something with %s", text, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(text, not) {
				t.Errorf("got %s, with %s", text, not)
			}
		}
	}
}
