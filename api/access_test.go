package api

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// newGuardedBench is newBench behind a gate.
func newGuardedBench(t testing.TB, opts Options) *bench {
	t.Helper()
	b := newBench(t)
	backends := store.NewRegistry("sql")
	backends.Add("sql", b.rows)
	opts.Logger = slog.New(slog.NewJSONHandler(b.log, nil))
	b.router = New(backends, opts)
	return b
}

func TestGuard_Credentials(t *testing.T) {
	gate, key := newGate(t, access.Read)
	b := newGuardedBench(t, Options{Access: gate})
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
		code       string
		challenge  string // a part of WWW-Authenticate
	}{
		{"good", "/v1/backends", []string{"Authorization: Bearer " + key}, 200, "", ""},
		{"scheme in lower case", "/v1/backends", []string{"Authorization: bearer  " + key}, 200, "", ""},
		{"none", "/v1/backends", nil, 401, "credentials_missing", `Bearer realm="ndbgate"`},
		{"empty", "/v1/backends", []string{"Authorization:"}, 401, "credentials_missing", `realm`},
		{"scheme alone", "/v1/backends", []string{"Authorization: Bearer"}, 401, "credentials_invalid", `error="invalid_token"`},
		{"Basic", "/v1/backends", []string{"Authorization: Basic eDp5"}, 401, "credentials_invalid", `error_description="the scheme of Authorization must be Bearer"`},
		{"key without scheme", "/v1/backends", []string{"Authorization: " + key}, 401, "credentials_invalid", "error="},
		{"twice", "/v1/backends", []string{"Authorization: Bearer " + key, "+Authorization: Bearer " + key}, 400, "invalid_header", ""},
		{"two keys in one", "/v1/backends", []string{"Authorization: Bearer " + key + " " + key}, 401, "credentials_invalid", "error="},
		{"unknown", "/v1/backends", []string{"Authorization: Bearer " + key[:len(key)-1]}, 401, "credentials_invalid", "error="},
		{"in the query", "/v1/backends?access_token=" + key, nil, 401, "credentials_missing", "realm"},
		{"nothing at the path, without a key", "/v1/nothing", nil, 401, "credentials_missing", "realm"},
		{"nothing at the path", "/v1/nothing", []string{"Authorization: Bearer " + key}, 404, "route_not_found", ""},
		{"spelling of a path", "/v1/cluste%72", nil, 401, "credentials_missing", "realm"},
		{"spelling of a free path", "/docs/../v1/backends", nil, 404, "", ""},
		{"double slash", "//v1/backends", nil, 401, "credentials_missing", "realm"},
		{"contract", "/openapi.yaml", nil, 200, "", ""},
		{"page", "/docs/", nil, 200, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := b.do(request{method: "GET", path: c.path, headers: c.headers})
			if w.Code != c.status {
				t.Fatalf("got %d %s, want %d", w.Code, w.Body, c.status)
			}
			if got := w.Header().Get("WWW-Authenticate"); !strings.Contains(got, c.challenge) || (c.challenge == "") != (got == "") {
				t.Errorf("WWW-Authenticate: got %q, want something with %q", got, c.challenge)
			}
			if c.code != "" && problemOf(t, w).Code != c.code {
				t.Errorf("got %s, want the code %s", w.Body, c.code)
			}
		})
	}
	if log := b.log.String(); strings.Contains(log, key) || strings.Contains(log, key[:len(key)-1]) || !strings.Contains(log, `"client":"key:example"`) {
		t.Errorf("the log has the key, or no client:\n%s", log)
	}
}

func TestGuard_Scopes(t *testing.T) {
	type call struct {
		method, path string
		need         access.Scopes
	}
	calls := []call{
		{"GET", "/v1/employees", access.Read},
		{"HEAD", "/v1/employees/1", access.Read},
		{"GET", "/v1/employees:export", access.Read},
		{"POST", "/v1/employees:batchGet", access.Read},
		{"GET", "/v1/backends", access.Read},
		{"GET", "/v1/limits", access.Read},
		{"POST", "/v1/employees", access.Write},
		{"PUT", "/v1/employees/1", access.Write},
		{"PATCH", "/v1/employees/1", access.Write},
		{"DELETE", "/v1/employees/1", access.Write},
		{"POST", "/v1/employees:import", access.Write},
		{"POST", "/v1/employees:batchCreate", access.Write},
		{"POST", "/v1/employees:batchUpdate", access.Write},
		{"POST", "/v1/employees:batchDelete", access.Write},
		{"GET", "/v1/cluster", access.Admin},
		{"POST", "/v1/cluster", access.Admin},
		{"HEAD", "/v1/cluster", access.Admin},
		{"POST", "/v1/backends", access.Write}, // there is no such call: 405
		{"OPTIONS", "/v1/employees", access.Write},
	}
	for _, scopes := range []access.Scopes{access.Read, access.Write, access.Admin, access.Read | access.Write} {
		gate, key := newGate(t, scopes)
		b := newGuardedBench(t, Options{Access: gate})
		for _, c := range calls {
			w := b.do(request{method: c.method, path: c.path, headers: []string{"Authorization: Bearer " + key}})
			if refused := w.Code == http.StatusForbidden; refused == scopes.Has(c.need) {
				t.Errorf("%s %s with %s: got %d", c.method, c.path, scopes, w.Code)
			}
			if w.Code == http.StatusForbidden && c.method != "HEAD" {
				want := fmt.Sprintf("the call needs the scope %s, and key:example has %s", c.need, scopes)
				if p := problemOf(t, w); p.Code != "scope_missing" || p.Detail != want {
					t.Errorf("%s %s: got %+v, want %q", c.method, c.path, p, want)
				}
			}
		}
	}
}

func TestGuard_WriteAlone_ReadsNoRows(t *testing.T) {
	gate, key := newGate(t, access.Write)
	b := newGuardedBench(t, Options{Access: gate})
	first := "Ada"
	if err := b.rows.Create(t.Context(), models.Employee{ID: 1, First: &first, Department: 1}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []request{
		{"PATCH", "/v1/employees/1", `{}`, []string{"Content-Type: application/merge-patch+json"}},
		{"PATCH", "/v1/employees/1", `{"city":"Oslo"}`, []string{"Prefer: return=representation"}},
		{"POST", pathBatchUpdate, `{"partial":true,"updates":[{"id":1},{"id":2}]}`, nil},
		{"POST", pathBatchUpdate, `{"updates":[{"id":1}]}`, nil},
	} {
		c.headers = append(c.headers, "Authorization: Bearer "+key)
		w := b.do(c)
		if w.Code >= 400 || w.Header().Get("Preference-Applied") != "return=minimal" {
			t.Errorf("%s %s: got %d %v", c.method, c.path, w.Code, w.Header())
		}
		for _, name := range []string{"first", "last", "started", "department"} {
			if strings.Contains(w.Body.String(), `"`+name+`"`) {
				t.Errorf("%s %s: got %s, which has the row", c.method, c.path, w.Body)
			}
		}
	}
}

func TestGuard_Certificate(t *testing.T) {
	cert := &x509.Certificate{Subject: pkix.Name{CommonName: "billing"}, NotAfter: time.Now().Add(time.Hour)}
	late := &x509.Certificate{Subject: pkix.Name{CommonName: "billing"}, NotAfter: time.Now().Add(-time.Hour)}
	gate, key := newGate(t, access.Read|access.Admin)
	gate.Certificates = &access.Certificates{Scopes: access.Write}
	b := newGuardedBench(t, Options{Access: gate, Origins: []string{"https://app.example", "*"}})
	for _, c := range []struct {
		name   string
		state  *tls.ConnectionState
		header string
		status int
		client string
	}{
		{"good", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "", 404, "certificate:billing"},
		{"ended", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{late}, VerifiedChains: [][]*x509.Certificate{{late}}}, "", 401, ""},
		{"not verified", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}, "", 401, ""},
		{"none", &tls.ConnectionState{}, "", 401, ""},
		{"beside a key", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "Bearer " + key, 403, "key:example"},
		{"beside a page of another host", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "Origin https://evil.example", 403, ""},
		{"beside a page of the gateway", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "Origin https://example.com", 404, "certificate:billing"},
		{"beside a page that is named", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "Origin https://app.example", 404, "certificate:billing"},
		{"beside a sandboxed page", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "Origin null", 403, ""},
		{"beside a bad key", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}, "Bearer x", 401, ""},
	} {
		b.log.Reset()
		r := httptest.NewRequest("DELETE", "/v1/employees/1", nil)
		r.TLS = c.state
		if origin, ok := strings.CutPrefix(c.header, "Origin "); ok {
			r.Header.Set("Origin", origin)
		} else if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		b.router.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(b.log.String(), `"client":"`+c.client+`"`) {
			t.Errorf("%s: got %d and the log %s, want %d and %q", c.name, w.Code, b.log, c.status, c.client)
		}
		if got := w.Header().Get("Strict-Transport-Security"); got == "" {
			t.Errorf("%s: no Strict-Transport-Security over TLS", c.name)
		}
	}
}

// twoPages gives a page, and the next one only when it is told to.
type twoPages struct {
	memstore.Store
	next <-chan struct{}
}

func (s *twoPages) List(_ context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	var id int64 = 1
	if q.After != nil {
		<-s.next
		id = 2
	}
	page := models.EmployeePage{Employees: []models.Employee{{ID: id, Department: 1}}}
	if id == 1 {
		page.Next = models.Cursor{id}
	}
	return page, nil
}

// guardedServer serves rows, and takes keys of a file that revoke empties.
func guardedServer(t *testing.T, rows store.Backend) (server *httptest.Server, key string, revoke func()) {
	t.Helper()
	secret, line, err := access.NewKey("example", access.Read|access.Write, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(line.String() + "\n")
	keys, err := access.OpenKeys(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	backends := store.NewRegistry("sql")
	backends.Add("sql", rows)
	server = httptest.NewServer(New(backends, Options{Access: &access.Gate{Keys: keys}}))
	t.Cleanup(server.Close)
	return server, secret, func() {
		write("# empty\n")
		if err := keys.Load(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuard_KeyRevoked_ExportEnds(t *testing.T) {
	next := make(chan struct{})
	server, key, revoke := guardedServer(t, &twoPages{next: next})
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/employees:export", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"id":1,`) {
		t.Fatalf("got %q, %v, want the first row", line, err)
	}
	revoke()
	close(next)
	rest, err := io.ReadAll(lines)
	if err == nil || !strings.HasPrefix(string(rest), `{"complete":false,"rows":1,`) || !strings.Contains(string(rest), `"code":"credentials_invalid"`) {
		t.Errorf("got %q and %v, want the end with the reason, and an answer that is cut off", rest, err)
	}
}

func TestGuard_KeyRevoked_ImportEnds(t *testing.T) {
	server, key, revoke := guardedServer(t, &memstore.Store{})
	body, send := io.Pipe()
	defer send.Close()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/employees:import", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", ndjsonType)
	go func() { _, _ = io.WriteString(send, "{\"id\":1}\n") }() // ends with the request
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"written":1`) {
		t.Fatalf("got %q, %v, want that a row is written", line, err)
	}
	revoke()
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), `"type":"summary","complete":false,"rows":1,"written":1,`) || !strings.Contains(string(rest), `"code":"credentials_invalid"`) {
		t.Errorf("got %q and %v, want a summary with the reason", rest, err)
	}
}

func TestNewAdmin_Access(t *testing.T) {
	gate, key := newGate(t, access.Admin)
	readGate, readKey := newGate(t, access.Read)
	for _, c := range []struct {
		path, key string
		gate      *access.Gate
		status    int
	}{
		{"/livez", "", gate, 200},
		{"/readyz", "", gate, 200},
		{"/", "", gate, 200},
		{"/metrics", "", gate, 401},
		{"/metrics", "ndbgate_x", gate, 401},
		{"/metrics", key, gate, 200},
		{"/metrics", readKey, readGate, 403},
		{"/metrics", "", nil, 200},
		{"/debug/pprof/", "", gate, 401},
		{"/debug/pprof/heap", "", gate, 401},
		{"/debug/pprof/trace?seconds=0", "", gate, 401},
		{"/debug/pprof/cmdline", "", gate, 401},
		{"/debug/pprof/", key, gate, 200},
	} {
		backends := store.NewRegistry("sql")
		backends.Add("sql", &memstore.Store{})
		handler := NewAdmin(backends, AdminOptions{Gatherer: prometheus.NewRegistry(), Access: c.gate})
		r := httptest.NewRequest("GET", c.path, nil)
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "" && w.Code != 403) {
			t.Errorf("%s with %.12q: got %d %v, want %d", c.path, c.key, w.Code, w.Header(), c.status)
		}
		if c.key != "" && strings.Contains(w.Body.String(), c.key) {
			t.Errorf("%s: the answer has the key", c.path)
		}
	}
}
