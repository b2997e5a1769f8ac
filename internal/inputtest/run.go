package inputtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

// minCases is how many there are at least.
const minCases = 150

// Run sends all cases to a gateway behind the Gate, by each of the roads, of which
// an empty one is the default. After each the rows must be Rows.
func Run(t *testing.T, h http.Handler, gate *Gate, roads []string, rows func(t *testing.T) []models.Employee) {
	cases := Cases()
	if len(cases) < minCases {
		t.Errorf("got %d cases, want at least %d", len(cases), minCases)
	}
	named := map[string]bool{}
	for _, c := range cases {
		if named[c.Name] {
			t.Errorf("two cases are named %s", c.Name)
		}
		named[c.Name] = true
		for i, road := range roads {
			if i > 0 && c.ChoosesRoad() {
				continue
			}
			t.Run(strings.TrimSuffix(c.Name+" by "+road, " by "), func(t *testing.T) {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, c.Request.HTTP(road, gate, c.ChoosesRoad()))
				c.check(t, w)
				if after := rows(t); !reflect.DeepEqual(after, Rows()) {
					t.Errorf("a refused request left %v", after)
				}
			})
		}
	}
}

type problem struct {
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
func (p *problem) where() string {
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

func (c *Case) check(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != c.Status {
		t.Fatalf("got %d %s, want %d %s", w.Code, w.Body, c.Status, c.Code)
	}
	h := w.Header()
	if got := h.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type: got %q, want a problem; body %s", got, w.Body)
	}
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("problem: %v in %s", err, w.Body)
	}
	if p.Status != w.Code || p.RequestID == "" || p.RequestID != h.Get("X-Request-Id") || p.Type != "urn:ndbgate:problem:"+p.Code || p.Title == "" {
		t.Errorf("the problem does not fit its answer (%d): %+v", w.Code, p)
	}
	if p.Code != c.Code {
		t.Errorf("code: got %s, want %s", w.Body, c.Code)
	}
	if p.where() != c.Where && c.Where != "" {
		t.Errorf("errors: got %q, want %q", p.where(), c.Where)
	}
	for _, e := range p.Errors {
		if e.Detail == "" {
			t.Errorf("an entry of errors has no detail: %s", w.Body)
		}
	}
	if c.Status != http.StatusMethodNotAllowed && !strings.Contains(w.Body.String(), c.Detail) {
		t.Errorf("got %s, want something with %q", w.Body, c.Detail)
	}
	c.checkHeaders(t, h)
}

// checkHeaders wants what a client needs to go on.
func (c *Case) checkHeaders(t *testing.T, h http.Header) {
	t.Helper()
	if got := h.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: got %q, want no-store", got)
	}
	if got := h.Get("Allow"); c.Status == http.StatusMethodNotAllowed && got != c.Detail {
		t.Errorf("Allow: got %q, want %q", got, c.Detail)
	}
	if got := h.Get("WWW-Authenticate"); (c.Status == http.StatusUnauthorized || c.Status == http.StatusForbidden) != (got != "") {
		t.Errorf("WWW-Authenticate: got %q", got)
	}
	if got := h.Get("Accept-Patch"); (c.Status == http.StatusUnsupportedMediaType && c.Request.Method == http.MethodPatch) != (got != "") {
		t.Errorf("Accept-Patch: got %q", got)
	}
}
