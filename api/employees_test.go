package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

const ada = `{"id":1,"first":"Ada","last":null,"city":"Oslo","started":"2020-01-02","ended":null,"department":1}` + "\n"

func TestEmployee_CreateReadReplacePatchDelete(t *testing.T) {
	b := newBench(t)
	steps := []struct {
		request
		status int
		body   string
	}{
		{request{method: "POST", path: "/v1/employees", body: `{"id":1,"first":"Ada","city":"Oslo","started":"2020-01-02"}`}, 201, ada},
		{request{method: "GET", path: "/v1/employees/1"}, 200, ada},
		{request{method: "GET", path: "/v1/employees/%31"}, 200, ada},
		{request{method: "PUT", path: "/v1/employees/1", body: `{"first":"Ada","city":"Oslo","started":"2020-01-02"}`}, 200, ada},
		{request{method: "PATCH", path: "/v1/employees/1", body: `{}`}, 200, ada},
		{request{method: "PATCH", path: "/v1/employees/1", body: `{"last":"L","city":null,"id":1}`}, 200, strings.NewReplacer(`"last":null`, `"last":"L"`, `"Oslo"`, `null`).Replace(ada)},
		{request{method: "PUT", path: "/v1/employees/1", body: `{"department":7}`}, 200, `{"id":1,"first":null,"last":null,"city":null,"started":null,"ended":null,"department":7}` + "\n"},
		{request{method: "DELETE", path: "/v1/employees/1"}, 204, ""},
		{request{method: "PUT", path: "/v1/employees/1", body: `{"id":1,"first":"Ada","city":"Oslo","started":"2020-01-02"}`}, 201, ada},
	}
	for _, s := range steps {
		w := b.do(s.request)
		if w.Code != s.status || w.Body.String() != s.body {
			t.Fatalf("%s %s %s: got %d %q, want %d %q", s.method, s.path, s.request.body, w.Code, w.Body, s.status, s.body)
		}
		if w.Header().Get("X-Backend") != "sql" || w.Header().Get("Vary") != "X-Backend, X-Backend-Compare, X-Durability" {
			t.Errorf("%s: headers %v", s.method, w.Header())
		}
		if !regexp.MustCompile(`^backend;desc="sql";dur=\d+\.\d+, total;dur=\d+\.\d+$`).MatchString(w.Header().Get("Server-Timing")) {
			t.Errorf("Server-Timing: got %q", w.Header().Get("Server-Timing"))
		}
		if s.status == 201 && w.Header().Get("Location") != "/v1/employees/1" {
			t.Errorf("Location: got %q", w.Header().Get("Location"))
		}
		if (s.status == 201 || s.status == 200) && !regexp.MustCompile(`^"[\w-]{22}"$`).MatchString(w.Header().Get("ETag")) {
			t.Errorf("ETag: got %q", w.Header().Get("ETag"))
		}
	}
}

func TestHead_AnswersAsGetWithoutBody(t *testing.T) {
	b := newBench(t)
	tag := b.seed()
	server := httptest.NewServer(b.router)
	defer server.Close()
	resp, err := server.Client().Head(server.URL + "/v1/employees/1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) > 0 {
		t.Errorf("got body %q, error %v", body, err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("ETag") != tag || resp.ContentLength != int64(len(ada)) {
		t.Errorf("got %d %v", resp.StatusCode, resp.Header)
	}
}

func TestCreate_AssignsTimeOrderedIDsThatJavaScriptKeeps(t *testing.T) {
	b := newBench(t)
	var last string
	for range 3 {
		w := b.do(request{method: "POST", path: "/v1/employees", body: `{}`})
		id := strings.TrimPrefix(w.Header().Get("Location"), "/v1/employees/")
		if w.Code != 201 || len(id) > len("9007199254740991") || id <= last {
			t.Fatalf("got %d, id %q after %q", w.Code, id, last)
		}
		last = id
	}
}

// takenStore says of the first ids that they are taken.
type takenStore struct {
	memstore.Store
	taken int
	seen  []int64
}

func (s *takenStore) Create(_ context.Context, e models.Employee) error {
	s.seen = append(s.seen, e.ID)
	if len(s.seen) <= s.taken {
		return store.ErrConflict
	}
	return nil
}

func TestCreate_AssignedIDTaken_TakesAnother(t *testing.T) {
	taken := &takenStore{taken: 3}
	b := newBenchOver(t, taken, nil)
	if w := b.do(request{method: "POST", path: "/v1/employees", body: `{}`}); w.Code != 201 || len(taken.seen) != 4 {
		t.Errorf("got %d after %d tries", w.Code, len(taken.seen))
	}
	taken.taken = 1 << 30
	if w := b.do(request{method: "POST", path: "/v1/employees", body: `{}`}); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("all taken: got %d", w.Code)
	}
	taken.seen = nil
	if w := b.do(request{method: "POST", path: "/v1/employees", body: `{"id":5}`}); w.Code != 409 || len(taken.seen) != 1 {
		t.Errorf("a chosen id is not replaced: got %d after %d tries", w.Code, len(taken.seen))
	}
}

func TestPreconditions(t *testing.T) {
	const body = `{"first":"New"}`
	cases := []struct {
		name, method, path, body, header string
		status                           int
	}{
		{"If-Match fits", "PUT", "/v1/employees/1", body, "If-Match: TAG", 200},
		{"If-Match fits one of several", "PUT", "/v1/employees/1", body, `If-Match: "x", TAG ,"y"`, 200},
		{"If-Match is another", "PUT", "/v1/employees/1", body, `If-Match: "x"`, 412},
		{"If-Match is weak", "PUT", "/v1/employees/1", body, `If-Match: W/TAG`, 412},
		{"If-Match any", "PUT", "/v1/employees/1", body, `If-Match: *`, 200},
		{"If-Match any, absent", "PUT", "/v1/employees/2", body, `If-Match: *`, 412},
		{"If-Match, absent", "PUT", "/v1/employees/2", body, `If-Match: TAG`, 412},
		{"If-None-Match any", "PUT", "/v1/employees/1", body, `If-None-Match: *`, 412},
		{"If-None-Match any, absent", "PUT", "/v1/employees/2", body, `If-None-Match: *`, 201},
		{"If-None-Match with a tag", "PUT", "/v1/employees/1", body, `If-None-Match: "x"`, 400},
		{"PATCH If-Match fits", "PATCH", "/v1/employees/1", body, "If-Match: TAG", 200},
		{"PATCH If-Match is another", "PATCH", "/v1/employees/1", body, `If-Match: "x"`, 412},
		{"PATCH If-Match, absent", "PATCH", "/v1/employees/2", body, `If-Match: "x"`, 404},
		{"PATCH If-None-Match", "PATCH", "/v1/employees/1", body, `If-None-Match: *`, 400},
		{"DELETE If-Match fits", "DELETE", "/v1/employees/1", "", "If-Match: TAG", 204},
		{"DELETE If-Match is another", "DELETE", "/v1/employees/1", "", `If-Match: "x"`, 412},
		{"DELETE If-Match, absent", "DELETE", "/v1/employees/2", "", `If-Match: "x"`, 404},
		{"malformed: no quotes", "DELETE", "/v1/employees/1", "", `If-Match: x`, 400},
		{"malformed: open quote", "DELETE", "/v1/employees/1", "", `If-Match: "x`, 400},
		{"malformed: no comma", "DELETE", "/v1/employees/1", "", `If-Match: "x" "y"`, 400},
		{"malformed: space in a tag", "DELETE", "/v1/employees/1", "", `If-Match: "x y"`, 400},
		{"malformed: only a mark", "DELETE", "/v1/employees/1", "", `If-Match: W/`, 400},
		{"malformed: star in a list", "DELETE", "/v1/employees/1", "", `If-Match: *, "x"`, 400},
		{"GET fits", "GET", "/v1/employees/1", "", "If-None-Match: TAG", 304},
		{"GET fits weakly", "GET", "/v1/employees/1", "", "If-None-Match: W/TAG", 304},
		{"GET any", "GET", "/v1/employees/1", "", "If-None-Match: *", 304},
		{"GET another", "GET", "/v1/employees/1", "", `If-None-Match: "x"`, 200},
		{"GET malformed", "GET", "/v1/employees/1", "", `If-None-Match: x`, 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			tag := b.seed()
			before, _ := b.stored(1)
			w := b.do(request{method: c.method, path: c.path, body: c.body, headers: []string{strings.ReplaceAll(c.header, "TAG", tag)}})
			if w.Code != c.status {
				t.Fatalf("got %d %s, want %d", w.Code, w.Body, c.status)
			}
			if after, _ := b.stored(1); c.status >= 400 && after != before {
				t.Errorf("a refused write changed the row: %+v", after)
			}
		})
	}
}

func TestETag_ChangesWithTheRowAndComesBack(t *testing.T) {
	b := newBench(t)
	first := b.seed()
	second := b.do(request{method: "PATCH", path: "/v1/employees/1", body: `{"department":2}`}).Header().Get("ETag")
	third := b.do(request{method: "PATCH", path: "/v1/employees/1", body: `{"department":1}`}).Header().Get("ETag")
	if first == second || first != third {
		t.Errorf("got %s, %s, %s", first, second, third)
	}
}

func TestPrefer_MinimalSparesTheBody(t *testing.T) {
	b := newBench(t)
	minimal := []string{"Prefer: return=minimal"}
	steps := []struct {
		request
		status int
		etag   bool
	}{
		{request{"POST", "/v1/employees", `{"id":1}`, minimal}, 201, true},
		{request{"PUT", "/v1/employees/1", `{}`, minimal}, 204, true},
		{request{"PUT", "/v1/employees/2", `{}`, minimal}, 201, true},
		{request{"PATCH", "/v1/employees/1", `{"first":"A"}`, []string{`Prefer: respond-async, Return="minimal"; x=y`}}, 204, false},
	}
	for _, s := range steps {
		w := b.do(s.request)
		if w.Code != s.status || w.Body.Len() != 0 || w.Header().Get("Preference-Applied") != "return=minimal" || (w.Header().Get("ETag") != "") != s.etag {
			t.Errorf("%s %s: got %d %q %v", s.method, s.path, w.Code, w.Body, w.Header())
		}
	}
	if w := b.do(request{"PATCH", "/v1/employees/1", `{"first":"B"}`, []string{`Prefer: x="a, return=minimal, b"`}}); w.Code != 200 {
		t.Errorf("a quoted preference: got %d", w.Code)
	}
	w := b.do(request{"PATCH", "/v1/employees/1", `{"first":"B"}`, []string{"Prefer: return=representation"}})
	if w.Code != 200 || w.Header().Get("Preference-Applied") != "return=representation" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	if w := b.do(request{"PUT", "/v1/employees/1", `{"department":0}`, minimal}); w.Header().Get("Preference-Applied") != "" {
		t.Error("a problem claims that a preference was applied")
	}
}

func TestBackendChoice(t *testing.T) {
	b := newBench(t)
	b.seed()
	if w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{"X-Backend: ndb"}}); w.Code != http.StatusServiceUnavailable ||
		problemOf(t, w).Code != "unavailable" || w.Header().Get("Retry-After") != "1" || w.Header().Get("X-Backend") != "ndb" {
		t.Errorf("ndb: got %d %v %s", w.Code, w.Header(), w.Body)
	}
	w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{"X-Backend: oracle"}})
	if p := problemOf(t, w); w.Code != 400 || p.Code != "unknown_backend" || !strings.Contains(p.Detail, "ndb, sql") || w.Header().Get("X-Backend") != "" {
		t.Errorf("unknown: got %d %+v", w.Code, p)
	}
	if w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{"X-Backend: sql"}}); w.Code != 200 {
		t.Errorf("sql: got %d", w.Code)
	}
	want := `{"default":"sql","weights":[{"name":"sql","weight":1}],"backends":[{"name":"ndb","state":"down","reason":"not built","nodes":[]},` +
		`{"name":"sql","state":"up","nodes":[{"address":"memory","state":"up","max":0,"in_use":0,"idle":0,"waiting":0,"waits":0,"wait_seconds":0}]}]}` + "\n"
	if w := b.do(request{method: "GET", path: "/v1/backends"}); w.Body.String() != want {
		t.Errorf("backends: got %s", w.Body)
	}
}
