package api

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

const (
	// maxBuckets bounds the clients that are told apart, at some 300 bytes each. A
	// client whose bucket had to go finds a full one: so whoever has more addresses
	// than that gets no more by it than by using each of them once.
	maxBuckets = 100_000

	// expiredAtOnce is how many buckets that are full again a request clears away at
	// most: more than it makes, so that they become fewer.
	expiredAtOnce = 2

	// ipv6Bits is how much of an IPv6 address tells clients apart: who has one
	// address of such a network has all of them.
	ipv6Bits = 64
)

// rateLimits gives each client a bucket of tokens, of which a request takes one.
// It is safe for concurrent use.
type rateLimits struct {
	perSecond int // tokens that come to each bucket
	burst     int // tokens of a full bucket
	policy    string
	now       func() time.Time

	mu      sync.Mutex // guards buckets
	buckets *simplelru.LRU[clientKey, *bucket]
}

// clientKey is whom a bucket belongs to: the name that access control gave, or
// else an address.
type clientKey struct {
	name    string
	network netip.Prefix
}

// bucket belongs to one client. lastUsed is guarded as the list of buckets is.
type bucket struct {
	limiter  *rate.Limiter
	lastUsed time.Time
}

// newRateLimits returns nil where there is no limit.
func newRateLimits(perSecond, burst int) *rateLimits {
	if perSecond == 0 {
		return nil
	}
	if burst == 0 {
		burst = perSecond
	}
	buckets, err := simplelru.NewLRU[clientKey, *bucket](maxBuckets, nil)
	if err != nil {
		panic("api: buckets: " + err.Error())
	}
	l := &rateLimits{perSecond: perSecond, burst: burst, now: time.Now, buckets: buckets}
	l.policy = fmt.Sprintf(`"default";q=%d;w=%d`, burst, wholeSeconds(l.filling(burst)))
	return l
}

// filling is how long so many tokens take to come.
func (l *rateLimits) filling(tokens int) time.Duration {
	return time.Duration(tokens) * time.Second / time.Duration(l.perSecond)
}

// rateVerdict is what became of a request's token.
type rateVerdict struct {
	left int           // tokens behind it
	wait time.Duration // until there is a token; 0: the request has got one
}

// take takes a token of the client.
func (l *rateLimits) take(client clientKey) rateVerdict {
	now := l.now()
	limiter := l.limiterOf(client, now)
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return rateVerdict{left: max(int(limiter.TokensAt(now)), 0), wait: wait}
}

// charge takes a token of the client even where there is none: then the next ones
// that come are spent already.
func (l *rateLimits) charge(client clientKey) rateVerdict {
	now := l.now()
	limiter := l.limiterOf(client, now)
	limiter.ReserveN(now, 1)
	return rateVerdict{left: max(int(limiter.TokensAt(now)), 0)}
}

// look tells what take would, and takes nothing.
func (l *rateLimits) look(client clientKey) rateVerdict {
	l.mu.Lock()
	b, ok := l.buckets.Peek(client)
	l.mu.Unlock()
	if !ok {
		return rateVerdict{left: l.burst}
	}
	tokens := b.limiter.TokensAt(l.now())
	if tokens >= 1 {
		return rateVerdict{left: int(tokens)}
	}
	return rateVerdict{wait: time.Duration((1 - tokens) * float64(time.Second) / float64(l.perSecond))}
}

func (l *rateLimits) limiterOf(client clientKey, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.buckets.Get(client)
	if !ok {
		b = &bucket{limiter: rate.NewLimiter(rate.Limit(l.perSecond), l.burst)}
		l.buckets.Add(client, b)
	}
	b.lastUsed = now
	for range expiredAtOnce {
		// One that is full again is as good as none.
		if _, oldest, _ := l.buckets.GetOldest(); now.Sub(oldest.lastUsed) <= l.filling(l.burst) {
			break
		}
		l.buckets.RemoveOldest()
	}
	return b.limiter
}

// clients is how many have a bucket.
func (l *rateLimits) clients() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buckets.Len()
}

// wholeSeconds rounds up, to at least one.
func wholeSeconds(d time.Duration) int {
	return max(int(math.Ceil(d.Seconds())), 1)
}

// limitRate refuses a request of a client that has sent too many. Answers have the
// fields of draft-ietf-httpapi-ratelimit-headers-11.
//
// Each request takes one token. Where nobody asks who calls it is one of the address.
// Else guard takes it: of the caller whose credentials are good, and of the address
// where they are not, so that who guesses keys is slowed down. Who has guessed too often
// may not even try: the address must have a token left before credentials are looked at.
func (s *server) limitRate(next http.Handler) http.Handler {
	if s.rates == nil {
		return next
	}
	return s.withClientAddress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch path := pathOf(r); {
		case isFree(path):
		case s.gate == nil, s.isPreflight(r), scopeOf(r.Method, path) == anybody:
			err = s.takeToken(w, r)
		default:
			err = s.rateProblem(w, s.rates.look(clientOf(r)))
		}
		if err != nil {
			s.finish(&exchange{w: w, r: r, ctx: r.Context(), begun: time.Now()}, err)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// takeToken takes the request's token of its client, as far as that is known. It
// returns a problem where there is none.
func (s *server) takeToken(w http.ResponseWriter, r *http.Request) error {
	if s.rates == nil {
		return nil
	}
	return s.rateProblem(w, s.rates.take(clientOf(r)))
}

// chargeToken takes it of a request that is refused anyhow.
func (s *server) chargeToken(w http.ResponseWriter, r *http.Request) {
	if s.rates != nil {
		s.setRate(w, s.rates.charge(clientOf(r)))
	}
}

// rateProblem returns a problem where there is no token.
func (s *server) rateProblem(w http.ResponseWriter, verdict rateVerdict) error {
	reset := s.setRate(w, verdict)
	if verdict.wait == 0 {
		return nil
	}
	return newProblem(codeRateLimited, fmt.Sprintf("nothing was done: a client may send %d per second, and %d at once",
		s.rates.perSecond, s.rates.burst)).withHeader("Retry-After", strconv.Itoa(reset))
}

// setRate sets the header fields, and returns the seconds until a token comes, or else
// until all are there.
func (s *server) setRate(w http.ResponseWriter, verdict rateVerdict) (reset int) {
	reset = wholeSeconds(s.rates.filling(s.rates.burst - verdict.left))
	if verdict.wait > 0 {
		reset = wholeSeconds(verdict.wait)
	}
	w.Header().Set("RateLimit-Policy", s.rates.policy)
	w.Header().Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, verdict.left, reset))
	return reset
}

// isFree tells the paths that cost nothing, which have no limit: the contract and
// its page, which is many requests. All of them are free of credentials too, so that
// none is a place to try keys at; as scopeOf it wants the path of the router.
func isFree(path string) bool {
	return path == "/openapi.yaml" || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

// withClientAddress finds the client's address for clientOf. Without trusted
// proxies it is the one that the connection comes from, whatever headers say.
func (s *server) withClientAddress(next http.Handler) http.Handler {
	if len(s.trustedProxies) == 0 {
		return middleware.ClientIPFromRemoteAddr(next)
	}
	trusted := make([]string, len(s.trustedProxies))
	for i, prefix := range s.trustedProxies {
		trusted[i] = prefix.String()
	}
	return middleware.ClientIPFromXFF(trusted...)(next)
}

// clientOf is who has sent the request, by the name that access control gave to the
// caller, or else by the address. Where a trusted proxy has passed on no address
// that can be trusted, the proxy itself is the client.
func clientOf(r *http.Request) clientKey {
	if name := infoOf(r.Context()).client; name != "" {
		return clientKey{name: name}
	}
	address := middleware.GetClientIPAddr(r.Context())
	if !address.IsValid() {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return clientKey{} // such as of a Unix socket: all are one
		}
		if address, err = netip.ParseAddr(host); err != nil {
			return clientKey{}
		}
	}
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = ipv6Bits
	}
	network, err := address.Prefix(bits)
	if err != nil {
		panic(fmt.Sprintf("api: /%d of %v: %v", bits, address, err))
	}
	return clientKey{network: network}
}
