package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// newBenchWith is newBench with options, over two roads that serve the same rows.
func newBenchWith(t testing.TB, opts Options) *bench {
	t.Helper()
	rows := &memstore.Store{}
	backends := store.NewRegistry("sql")
	backends.Add("ndb", rows)
	backends.Add("sql", rows)
	return &bench{t: t, router: New(backends, opts), rows: rows}
}

func TestRate_BeyondBurst_429UntilATokenComes(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := newRateLimits(2, 3)
	l.now = func() time.Time { return now }
	client := clientKey{name: "a"}
	for _, step := range []struct {
		after time.Duration
		left  int
		wait  time.Duration
	}{
		{0, 2, 0},
		{0, 1, 0},
		{0, 0, 0},
		{0, 0, 500 * time.Millisecond},
		{0, 0, 500 * time.Millisecond}, // a refusal costs nothing
		{499 * time.Millisecond, 0, time.Millisecond},
		{time.Millisecond, 0, 0},
		{time.Hour, 2, 0}, // never more than the burst
	} {
		now = now.Add(step.after)
		got := l.take(client)
		if got.left != step.left || got.wait.Round(time.Millisecond) != step.wait {
			t.Fatalf("%v later: got %+v, want %d left and to wait %v", step.after, got, step.left, step.wait)
		}
	}
	if got := l.take(clientKey{name: "b"}); got.wait != 0 {
		t.Errorf("another client has to wait %v", got.wait)
	}
}

func TestRate_AnswersTellIt(t *testing.T) {
	b := newBenchWith(t, Options{RateLimit: 1, RateBurst: 3})
	for _, left := range []string{`"default";r=2;t=1`, `"default";r=1;t=2`, `"default";r=0;t=3`} {
		w := b.do(request{method: "GET", path: "/v1/backends"})
		if got := w.Header(); w.Code != http.StatusOK || got.Get("RateLimit") != left || got.Get("RateLimit-Policy") != `"default";q=3;w=3` {
			t.Fatalf("got %d with RateLimit %s of %s, want %s", w.Code, got.Get("RateLimit"), got.Get("RateLimit-Policy"), left)
		}
	}
	w := b.do(request{method: "GET", path: "/nothing"})
	if p := problemOf(t, w); w.Code != http.StatusTooManyRequests || p.Code != "rate_limited" ||
		w.Header().Get("Retry-After") != "1" || w.Header().Get("RateLimit") != `"default";r=0;t=1` {
		t.Errorf("got %d %s with %v", w.Code, w.Body, w.Header())
	}
	for _, path := range []string{"/openapi.yaml", "/docs", "/docs/"} {
		if w := b.do(request{method: "GET", path: path}); w.Code >= http.StatusBadRequest {
			t.Errorf("%s: got %d, want it to be free", path, w.Code)
		}
	}
}

func TestRate_NoLimit_NoHeaders(t *testing.T) {
	w := newBench(t).do(request{method: "GET", path: "/v1/backends"})
	for name := range w.Header() {
		if strings.HasPrefix(name, "Ratelimit") {
			t.Errorf("got %s", name)
		}
	}
}

func TestClientOf_TrustsNoForgedHeader(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	cases := []struct {
		name      string
		trusted   []netip.Prefix
		remote    string
		forwarded []string
		caller    string
		want      string
	}{
		{"direct", nil, "192.0.2.7:1000", nil, "", "192.0.2.7/32"},
		{"direct with a forged header", nil, "192.0.2.7:1000", []string{"198.51.100.1"}, "", "192.0.2.7/32"},
		{"not a proxy, forged header", proxies, "192.0.2.7:1000", []string{"198.51.100.1"}, "", "192.0.2.7/32"},
		{"by a proxy", proxies, "10.1.2.3:1000", []string{"198.51.100.1"}, "", "198.51.100.1/32"},
		{"by two proxies", proxies, "10.1.2.3:1000", []string{"198.51.100.1, 10.9.9.9"}, "", "198.51.100.1/32"},
		{"forged in front of a proxy", proxies, "10.1.2.3:1000", []string{"203.0.113.5, 198.51.100.1"}, "", "198.51.100.1/32"},
		{"forged in a header of its own", proxies, "10.1.2.3:1000", []string{"203.0.113.5", "198.51.100.1"}, "", "198.51.100.1/32"},
		{"nonsense behind the client", proxies, "10.1.2.3:1000", []string{"198.51.100.1, nonsense"}, "", "10.1.2.3/32"},
		{"a proxy that tells nothing", proxies, "10.1.2.3:1000", nil, "", "10.1.2.3/32"},
		{"only proxies", proxies, "10.1.2.3:1000", []string{"10.0.0.1"}, "", "10.1.2.3/32"},
		{"IPv6 is a network", nil, "[2001:db8:1:2:3:4:5:6]:1000", nil, "", "2001:db8:1:2::/64"},
		{"IPv6 by a proxy", proxies, "[fd00::1]:1000", []string{"2001:db8:1:2:ffff::1"}, "", "2001:db8:1:2::/64"},
		{"IPv4 in IPv6", nil, "[::ffff:192.0.2.7]:1000", nil, "", "192.0.2.7/32"},
		{"with a zone", nil, "[fe80::1%eth0]:1000", nil, "", "fe80::/64"},
		{"no address", nil, "@", nil, "", ""},
		{"a known caller", proxies, "10.1.2.3:1000", []string{"198.51.100.1"}, "key:billing", "key:billing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &server{trustedProxies: c.trusted}
			var got clientKey
			h := s.withClientAddress(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = clientOf(r) }))
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = c.remote, c.forwarded
			h.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), infoKey{}, &requestInfo{client: c.caller})))
			text := got.name
			if got.network.IsValid() {
				text += got.network.String()
			}
			if text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

func TestBuckets_AreBoundedAndExpire(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := newRateLimits(10, 20)
	l.now = func() time.Time { return now }
	for i := range maxBuckets + 10 {
		l.take(clientKey{name: fmt.Sprint(i)})
	}
	if got := l.clients(); got != maxBuckets {
		t.Fatalf("got %d buckets, want %d", got, maxBuckets)
	}
	now = now.Add(2*time.Second + 1) // in which 20 tokens have come
	for i := range maxBuckets {
		l.take(clientKey{name: fmt.Sprint(i % 3)})
	}
	if got := l.clients(); got != 3 {
		t.Errorf("got %d buckets, want those of the 3 clients that still come", got)
	}
}

func BenchmarkRateTake(b *testing.B) {
	l := newRateLimits(1_000_000, 1_000_000)
	clients := make([]clientKey, 1000)
	for i := range clients {
		clients[i].network = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		l.take(clients[i%len(clients)])
		i++
	}
}
