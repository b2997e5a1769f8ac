package api

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a router over a memstore named sql and an ndb that is never
// available.
type bench struct {
	t      testing.TB
	router http.Handler
	rows   *memstore.Store
	log    *bytes.Buffer
}

func newBench(t testing.TB) *bench {
	rows := &memstore.Store{}
	return newBenchOver(t, rows, rows)
}

func newBenchOver(t testing.TB, sql store.Backend, rows *memstore.Store) *bench {
	t.Helper()
	backends := store.NewRegistry("sql")
	backends.Add("ndb", store.Unavailable{Reason: "not built"})
	backends.Add("sql", sql)
	var log bytes.Buffer
	return &bench{
		t:      t,
		router: New(backends, Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}),
		rows:   rows,
		log:    &log,
	}
}

// request is one line of a test table. Headers are "Name: value" lines; "-" as
// the value removes a header, and "+" before the name adds one more.
type request struct {
	method, path, body string
	headers            []string
}

func (b *bench) do(q request) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range q.headers {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); {
		case value == "-":
			r.Header.Del(name)
		case strings.HasPrefix(name, "+"):
			r.Header.Add(name[1:], value)
		default:
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	b.router.ServeHTTP(w, r)
	return w
}

// seed stores employee 1 and returns its ETag.
func (b *bench) seed() string {
	b.t.Helper()
	w := b.do(request{method: "PUT", path: "/v1/employees/1", body: `{"first":"Ada","city":"Oslo","started":"2020-01-02"}`})
	if w.Code != http.StatusCreated {
		b.t.Fatalf("seed: got %d %s", w.Code, w.Body)
	}
	return w.Header().Get("ETag")
}

func (b *bench) stored(id int64) (models.Employee, bool) {
	e, err := b.rows.Get(b.t.Context(), id)
	return e, err == nil
}

type problemView struct {
	Type, Title, Detail, Code string
	Status                    int
	RequestID                 string `json:"request_id"`
	Errors                    []struct {
		Pointer           *string
		Parameter, Header string
		Code, Detail      string
	}
}

// where lists the places and codes of a problem's errors: "/first max".
func (p *problemView) where() string {
	var parts []string
	for _, e := range p.Errors {
		place := e.Parameter + e.Header
		if e.Pointer != nil {
			place = *e.Pointer
		}
		parts = append(parts, strings.TrimSpace(place+" "+e.Code))
	}
	return strings.Join(parts, ", ")
}

func problemOf(t testing.TB, w *httptest.ResponseRecorder) problemView {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type: got %q, want a problem; body %s", got, w.Body)
	}
	var p problemView
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("problem: %v in %s", err, w.Body)
	}
	if p.Status != w.Code || p.RequestID != w.Header().Get("X-Request-Id") || p.Type != "urn:ndbgate:problem:"+p.Code || p.Title == "" {
		t.Errorf("problem does not fit its answer (%d): %+v", w.Code, p)
	}
	return p
}
