package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

var hosts = []struct {
	host  string
	local bool
}{
	{"localhost", true},
	{"localhost:8080", true},
	{"LocalHost:8080", true},
	{"localhost.", true},
	{"app.localhost:8080", true},
	{"127.0.0.1", true},
	{"127.0.0.1:8080", true},
	{"127.8.9.10:1", true},
	{"[::1]:8080", true},
	{"[::1]", true},
	{"::1", true},
	{"[::ffff:127.0.0.1]:8080", true},
	{"rebound.example", false},
	{"rebound.example:8080", false},
	{"localhost.rebound.example", false},
	{"notlocalhost", false},
	{".localhost", false},
	{"127.0.0.1.rebound.example", false},
	{"128.0.0.1:8080", false},
	{"10.0.0.1", false},
	{"0.0.0.0:8080", false},
	{"[::]:8080", false},
	{"[2001:db8::1]:8080", false},
	{"[rebound.example]", false},
	{":8080", false},
}

func TestIsLocalHost(t *testing.T) {
	for _, c := range hosts {
		if got := isLocalHost(c.host); got != c.local {
			t.Errorf("%q: got %t, want %t", c.host, got, c.local)
		}
	}
}

func TestIsLocalHost_UsualNames_CostNoMemory(t *testing.T) {
	for _, host := range []string{"localhost:8080", "127.0.0.1:8080", "[::1]:8080"} {
		if got := testing.AllocsPerRun(100, func() { isLocalHost(host) }); got != 0 {
			t.Errorf("%s: got %v allocations, want none", host, got)
		}
	}
}

// A name that leads to 127.0.0.1 all of a sudden must reach neither rows nor the log
// level.
func TestLocalOnly_OtherHost_IsRefused(t *testing.T) {
	b := newBenchWith(t, Options{LocalOnly: true})
	level := new(slog.LevelVar)
	admin := NewAdmin(store.NewRegistry("sql"), AdminOptions{LocalOnly: true, Level: level})
	for _, c := range hosts {
		for _, q := range []struct {
			handler            http.Handler
			method, path, body string
		}{
			{b.router, "GET", "/v1/employees", ""},
			{b.router, "GET", "/openapi.yaml", ""},
			{admin, "GET", "/metrics", ""},
			{admin, "GET", "/livez", ""},
			{admin, "PUT", "/log-level", "debug"},
		} {
			level.Set(slog.LevelInfo)
			r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
			r.Host = c.host
			w := httptest.NewRecorder()
			q.handler.ServeHTTP(w, r)
			want := http.StatusOK
			if !c.local {
				want = http.StatusMisdirectedRequest
			}
			if w.Code != want || !c.local && (!strings.Contains(w.Body.String(), "host_not_allowed") || !strings.Contains(w.Body.String(), "--insecure")) {
				t.Errorf("%s %s of %q: got %d %s, want %d", q.method, q.path, c.host, w.Code, w.Body, want)
			}
			if !c.local && level.Level() != slog.LevelInfo {
				t.Errorf("%q has changed the log level", c.host)
			}
		}
	}
}

func TestLocalOnly_OtherOrigin_IsRefused(t *testing.T) {
	b := newBenchWith(t, Options{LocalOnly: true, Origins: []string{"https://app.example"}})
	admin := NewAdmin(store.NewRegistry("sql"), AdminOptions{LocalOnly: true})
	for _, c := range []struct {
		origin       string
		named, local bool
	}{
		{"http://localhost:8080", false, true},
		{"https://127.0.0.1", false, true},
		{"http://[::1]:3000", false, true},
		{"https://app.example", true, false},
		{"https://evil.example", false, false},
		{"http://localhost.evil.example", false, false},
		{"http://app.example", false, false},
		{"null", false, false},
		{"file://localhost", false, false},
		{"localhost", false, false},
	} {
		for _, q := range []struct {
			handler      http.Handler
			method, path string
			ok           bool
			status       int
		}{
			{b.router, "GET", "/v1/employees", c.named || c.local, http.StatusOK},
			{b.router, "DELETE", "/v1/employees/1", c.named || c.local, http.StatusNotFound},
			{b.router, "OPTIONS", "/v1/employees/1", c.named || c.local, http.StatusNoContent},
			{admin, "GET", "/metrics", c.local, http.StatusOK},
		} {
			r := httptest.NewRequest(q.method, q.path, nil)
			r.Host = "localhost:8080"
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Access-Control-Request-Method", "DELETE")
			w := httptest.NewRecorder()
			q.handler.ServeHTTP(w, r)
			want := q.status
			if !q.ok {
				want = http.StatusForbidden
			}
			if w.Code != want || !q.ok && !strings.Contains(w.Body.String(), "origin_not_allowed") {
				t.Errorf("%s %s by %s: got %d %s, want %d", q.method, q.path, c.origin, w.Code, w.Body, want)
			}
		}
	}
}

// Probes by HTTP/1.0 have no Host; browsers always have one.
func TestLocalOnly_NoHost_IsAnswered(t *testing.T) {
	backends := store.NewRegistry("sql")
	backends.Add("sql", &memstore.Store{})
	r := httptest.NewRequest("GET", "/readyz", nil)
	r.Host = ""
	w := httptest.NewRecorder()
	NewAdmin(backends, AdminOptions{LocalOnly: true}).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
