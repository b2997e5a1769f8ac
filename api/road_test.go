package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// newWeighted is a bench over two roads that share the requests which choose
// none, of which sql is down.
func newWeighted(t testing.TB) *bench {
	t.Helper()
	backends := store.NewWeightedRegistry([]store.Share{{Name: "ndb", Weight: 90}, {Name: "sql", Weight: 10}})
	backends.Add("ndb", &memstore.Store{})
	backends.Add("sql", store.Unavailable{Reason: "down"})
	return &bench{t: t, router: New(backends, Options{})}
}

// IDs that draw these roads of newWeighted, on every gateway.
const (
	drawsNDB = "a"
	drawsSQL = "req-20"
)

func TestWeights_RequestIDDrawsTheRoad(t *testing.T) {
	b := newWeighted(t)
	cases := []struct {
		headers []string
		road    string
	}{
		{[]string{"X-Request-Id: " + drawsNDB}, "ndb"},
		{[]string{"X-Request-Id: " + drawsSQL}, "sql"},
		{[]string{"X-Request-Id: " + drawsSQL, "X-Backend: ndb"}, "ndb"},
		{[]string{"X-Request-Id: " + drawsNDB, "X-Backend: sql"}, "sql"},
		{[]string{"X-Request-Id: " + drawsSQL, "X-Backend:"}, "sql"},
	}
	for _, c := range cases {
		for _, method := range []string{"GET", "HEAD", "DELETE"} {
			for range 3 {
				w := b.do(request{method: method, path: "/v1/employees/1", headers: c.headers})
				if got := w.Header().Get("X-Backend"); got != c.road {
					t.Errorf("%s %v: got %s, want %s", method, c.headers, got, c.road)
				}
			}
		}
	}
}

// A drawn road that is down is not replaced: else a canary would hide its own
// failures, and one ID would read by two roads.
func TestWeights_DrawnRoadIsDown_Is503(t *testing.T) {
	b := newWeighted(t)
	w := b.do(request{method: "GET", path: "/v1/employees", headers: []string{"X-Request-Id: " + drawsSQL}})
	if p := problemOf(t, w); w.Code != http.StatusServiceUnavailable || p.Code != "unavailable" || w.Header().Get("X-Backend") != "sql" {
		t.Errorf("got %d %s by %q, want 503 by sql", w.Code, p.Code, w.Header().Get("X-Backend"))
	}
}

func TestWeights_MadeIDsAreSpread(t *testing.T) {
	b, got := newWeighted(t), map[string]int{}
	const requests = 2000
	for range requests {
		got[b.do(request{method: "GET", path: "/v1/employees/1"}).Header().Get("X-Backend")]++
	}
	if got["sql"] < requests/20 || got["sql"] > requests/5 || got["ndb"]+got["sql"] != requests {
		t.Errorf("got %v, want about 90%% ndb and 10%% sql", got)
	}
}

// The client cannot know which road is drawn, so that naming it is no mistake.
func TestWeights_ComparedWithTheDrawnRoad_IsSkipped(t *testing.T) {
	b := newWeighted(t)
	for id, want := range map[string]string{
		drawsSQL: "503 ndb; result=failed; dur=T; status=404",
		drawsNDB: "404 ndb; result=skipped; reason=same",
	} {
		w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{"X-Request-Id: " + id, compareNDB}})
		if got := fmt.Sprint(w.Code, " ", withoutTimes(w.Header().Get("X-Backend-Compare"))); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

func TestWeights_AreShown(t *testing.T) {
	backends := store.NewWeightedRegistry([]store.Share{{Name: "sql", Weight: 10}, {Name: "ndb", Weight: 90}})
	backends.Add("ndb", &memstore.Store{})
	backends.Add("sql", &memstore.Store{})
	type shown struct {
		Default string
		Weights []weightView
	}
	want := shown{"ndb", []weightView{{"sql", 10}, {"ndb", 90}}}
	for name, w := range map[string]interface{ Bytes() []byte }{
		"/v1/backends": (&bench{t: t, router: New(backends, Options{})}).do(request{method: "GET", path: "/v1/backends"}).Body,
		"/readyz":      adminGet(NewAdmin(backends, AdminOptions{}), "/readyz").Body,
	} {
		var got shown
		if err := json.Unmarshal(w.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// Caches of clients must not take an answer for that of another road.
func TestVary_NamesEveryHeaderThatChooses(t *testing.T) {
	b := newBench(t)
	for _, q := range []request{
		{"GET", "/v1/employees/1", "", nil},
		{"GET", "/v1/employees", "", []string{"X-Backend: oracle"}},
		{"PUT", "/v1/employees/1", `{}`, nil},
		{"DELETE", "/v1/employees/1", "", []string{compareNDB}},
	} {
		if got, want := b.do(q).Header().Get("Vary"), "X-Backend, X-Backend-Compare, X-Durability"; got != want {
			t.Errorf("%s %s: got %q, want %q", q.method, q.path, got, want)
		}
	}
}
