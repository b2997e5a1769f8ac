package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/access"
)

func TestRate_Look_TakesNothing(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := newRateLimits(2, 3)
	l.now = func() time.Time { return now }
	client := clientKey{name: "a"}
	if got := l.look(client); got != (rateVerdict{left: 3}) || l.clients() != 0 {
		t.Errorf("nobody: got %+v and %d buckets, want 3 left and none", got, l.clients())
	}
	for range 5 { // two beyond the bucket, as of requests that are checked at once
		l.charge(client)
	}
	for _, step := range []struct {
		after time.Duration
		want  rateVerdict
	}{
		{0, rateVerdict{wait: 1500 * time.Millisecond}},
		{0, rateVerdict{wait: 1500 * time.Millisecond}},
		{1400 * time.Millisecond, rateVerdict{wait: 100 * time.Millisecond}},
		{100 * time.Millisecond, rateVerdict{left: 1}},
		{0, rateVerdict{left: 1}},
	} {
		now = now.Add(step.after)
		got := l.look(client)
		if got.wait = got.wait.Round(time.Millisecond); got != step.want {
			t.Errorf("%v later: got %+v, want %+v", step.after, got, step.want)
		}
	}
}

// Who guesses keys may guess as often as anybody may call, whatever the guesses are,
// and then not even try.
func TestRate_GuessedKeys_CountForTheAddress(t *testing.T) {
	gate, key := newGate(t, access.Read)
	const guess = "ndbgate_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, c := range []struct {
		name string
		q    request
	}{
		{"guesses", request{method: "GET", path: "/v1/backends", headers: []string{"Authorization: Bearer " + guess}}},
		{"nothing", request{method: "GET", path: "/v1/backends"}},
		{"another scheme", request{method: "GET", path: "/nothing", headers: []string{"Authorization: Basic eDp5"}}},
		{"the page by another spelling", request{method: "GET", path: "/%64ocs/", headers: []string{"Authorization: Bearer " + guess}}},
		{"preflight of nobody", request{method: "OPTIONS", path: "/v1/backends", headers: []string{"Origin: https://evil.example", "Access-Control-Request-Method: GET"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newGuardedBench(t, Options{Access: gate, RateLimit: 1, RateBurst: 3})
			for i, want := range []int{401, 401, 401, 429, 429} {
				w := b.do(c.q)
				if w.Code != want || w.Header().Get("RateLimit") == "" {
					t.Fatalf("request %d: got %d %s with %v, want %d", i, w.Code, w.Body, w.Header(), want)
				}
			}
			w := b.do(request{method: "GET", path: "/v1/backends", headers: []string{"Authorization: Bearer " + key}})
			if w.Code != http.StatusTooManyRequests || problemOf(t, w).Code != "rate_limited" {
				t.Errorf("a good key, found at last: got %d %s, want 429 that does not tell", w.Code, w.Body)
			}
		})
	}
}

// A good request takes one token, of its key and not of its address.
func TestRate_GoodKey_IsChargedOnce(t *testing.T) {
	gate, key := newGate(t, access.Read)
	b := newGuardedBench(t, Options{Access: gate, RateLimit: 1, RateBurst: 3})
	good := request{method: "GET", path: "/v1/backends", headers: []string{"Authorization: Bearer " + key}}
	for _, left := range []string{`"default";r=2;t=1`, `"default";r=1;t=2`, `"default";r=0;t=3`} {
		if w := b.do(good); w.Code != http.StatusOK || w.Header().Get("RateLimit") != left {
			t.Fatalf("got %d with RateLimit %s, want %s", w.Code, w.Header().Get("RateLimit"), left)
		}
	}
	if w := b.do(good); w.Code != http.StatusTooManyRequests {
		t.Errorf("beyond: got %d", w.Code)
	}
	if w := b.do(request{method: "GET", path: "/v1/backends"}); w.Code != 401 || w.Header().Get("RateLimit") != `"default";r=2;t=1` {
		t.Errorf("the address: got %d with RateLimit %s, want its first token gone", w.Code, w.Header().Get("RateLimit"))
	}
}

func TestRate_MissingScope_CountsForTheKey(t *testing.T) {
	gate, key := newGate(t, access.Read)
	b := newGuardedBench(t, Options{Access: gate, RateLimit: 1, RateBurst: 2})
	for _, want := range []int{403, 403, 429} {
		if w := b.do(request{method: "GET", path: "/v1/cluster", headers: []string{"Authorization: Bearer " + key}}); w.Code != want {
			t.Fatalf("got %d %s, want %d", w.Code, w.Body, want)
		}
	}
}

func TestRate_Preflights_CountForTheAddress(t *testing.T) {
	gate, _ := newGate(t, access.Read)
	for name, opts := range map[string]Options{
		"access":    {Access: gate, RateLimit: 1, RateBurst: 2, Origins: []string{"https://app.example"}},
		"no access": {RateLimit: 1, RateBurst: 2, Origins: []string{"https://app.example"}},
	} {
		b := newGuardedBench(t, opts)
		for _, want := range []int{204, 204, 429} {
			w := b.do(request{method: "OPTIONS", path: "/v1/employees/1", headers: []string{
				"Origin: https://app.example", "Access-Control-Request-Method: PUT",
			}})
			if w.Code != want || w.Header().Get("Access-Control-Allow-Origin") == "" {
				t.Errorf("%s: got %d %s with %v, want %d that the page may read", name, w.Code, w.Body, w.Header(), want)
			}
		}
	}
}
