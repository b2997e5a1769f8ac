package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/access"
)

func TestHarden_EveryAnswer(t *testing.T) {
	b := newBench(t)
	b.seed()
	for _, c := range []struct {
		q     request
		cache string
	}{
		{request{method: "GET", path: "/v1/employees/1"}, "private, no-cache"},
		{request{method: "GET", path: "/v1/employees/2"}, "no-store"},
		{request{method: "GET", path: "/v1/employees"}, "private, no-cache"},
		{request{method: "POST", path: "/v1/employees", body: `{}`}, "no-store"},
		{request{method: "DELETE", path: "/v1/employees/1"}, "no-store"},
		{request{method: "GET", path: "/nothing"}, "no-store"},
		{request{method: "GET", path: "/openapi.yaml"}, "no-cache"},
		{request{method: "GET", path: "/docs/"}, "no-cache"},
		{request{method: "OPTIONS", path: "/v1/employees"}, "no-store"},
	} {
		h := b.do(c.q).Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != c.cache {
			t.Errorf("%s %s: got %v, want Cache-Control %q", c.q.method, c.q.path, h, c.cache)
		}
		if h.Get("Strict-Transport-Security") != "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: got %v, want neither HSTS without TLS nor CORS", c.q.method, c.q.path, h)
		}
	}
}

func TestCORS(t *testing.T) {
	gate, key := newGate(t, access.Read)
	b := newGuardedBench(t, Options{Access: gate, Origins: []string{"https://app.example"}})
	const allow = "Access-Control-Allow-Origin"
	preflight := func(origin, method, headers string) *httptest.ResponseRecorder {
		return b.do(request{method: "OPTIONS", path: "/v1/employees/1", headers: []string{
			"Origin: " + origin, "Access-Control-Request-Method: " + method, "Access-Control-Request-Headers: " + headers,
		}})
	}
	for _, c := range []struct {
		origin, method, headers string
		ok                      bool
	}{
		{"https://app.example", "PATCH", "authorization,content-type,if-match", true},
		{"https://app.example", "POST", "idempotency-key,x-backend,x-request-id", true},
		{"https://app.example", "TRACE", "", false},
		{"https://app.example", "GET", "x-other", false},
		{"https://evil.example", "GET", "", false},
		{"http://app.example", "GET", "", false},
		{"https://app.example.evil.example", "GET", "", false},
		{"null", "GET", "", false},
	} {
		w := preflight(c.origin, c.method, c.headers)
		if ok := w.Header().Get(allow) == c.origin; ok != c.ok || w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%+v: got %d %v", c, w.Code, w.Header())
		}
	}
	w := b.do(request{method: "GET", path: "/v1/employees", headers: []string{"Origin: https://app.example", "Authorization: Bearer " + key}})
	exposed := w.Header().Get("Access-Control-Expose-Headers")
	if w.Code != 200 || w.Header().Get(allow) != "https://app.example" || !strings.Contains(exposed, "Server-Timing") ||
		w.Header().Get("Vary") != "X-Backend, X-Backend-Compare, X-Durability, Origin" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	w = b.do(request{method: "GET", path: "/v1/employees", headers: []string{"Origin: https://app.example"}})
	if w.Code != 401 || w.Header().Get(allow) != "https://app.example" {
		t.Errorf("without a key: got %d %v, want 401 that the page may read", w.Code, w.Header())
	}
	w = b.do(request{method: "GET", path: "/v1/employees", headers: []string{"Origin: https://evil.example", "Authorization: Bearer " + key}})
	if w.Header().Get(allow) != "" {
		t.Errorf("another origin: got %v", w.Header())
	}
}
