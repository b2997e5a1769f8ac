package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store"
)

// AdminOptions of NewAdmin. The zero value of a field means its default.
type AdminOptions struct {
	Gatherer prometheus.Gatherer // what /metrics shows; default: nothing
	Draining func() bool         // true once no more requests are wanted; default: never
	Logger   *slog.Logger        // failures to gather, changes of the level; default: none
	Level    *slog.LevelVar      // what /log-level changes; default: one that nobody reads
	Access   *access.Gate        // who may see metrics and profiles, with the scope admin; default: everybody

	// LocalOnly refuses other names than this host's own, and pages of other hosts. It
	// is for a listener on loopback without Access.
	LocalOnly bool
}

const adminPaths = `/livez         200 while the process runs
/readyz        200 while a backend can serve; lists all backends
/metrics       for Prometheus
/log-level     what is logged; PUT debug, info, warn or error changes it
/debug/pprof/  profiles
`

// NewAdmin returns the handler of the admin listener, which is for operators
// and probes alone. Its answers hold no secrets.
func NewAdmin(backends *store.Registry, opts AdminOptions) http.Handler {
	if opts.Gatherer == nil {
		opts.Gatherer = prometheus.NewRegistry()
	}
	if opts.Draining == nil {
		opts.Draining = func() bool { return false }
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Level == nil {
		opts.Level = new(slog.LevelVar)
	}
	ready := &readiness{backends: backends, draining: opts.Draining, gate: opts.Access}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", plainText(adminPaths))
	mux.HandleFunc("GET /livez", plainText("ok\n"))
	mux.Handle("GET /readyz", ready)
	guarded := func(h http.Handler) http.Handler { return adminGuard(opts.Access, h) }
	mux.Handle("GET /metrics", guarded(promhttp.HandlerFor(opts.Gatherer, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(opts.Logger.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError,
	})))
	level := logLevel{opts.Level, opts.Logger}
	mux.Handle("GET /log-level", guarded(http.HandlerFunc(level.get)))
	mux.Handle("PUT /log-level", guarded(http.HandlerFunc(level.put)))
	mux.Handle("GET /debug/pprof/", guarded(http.HandlerFunc(pprof.Index)))
	mux.Handle("GET /debug/pprof/cmdline", guarded(http.HandlerFunc(hideCommandLine)))
	mux.Handle("GET /debug/pprof/profile", guarded(http.HandlerFunc(pprof.Profile)))
	mux.Handle("GET /debug/pprof/symbol", guarded(http.HandlerFunc(pprof.Symbol)))
	mux.Handle("POST /debug/pprof/symbol", guarded(http.HandlerFunc(pprof.Symbol))) // for more addresses than a URL takes
	mux.Handle("GET /debug/pprof/trace", guarded(http.HandlerFunc(pprof.Trace)))
	return harden(adminRefuseForeign(opts.LocalOnly, mux))
}

// adminRefuseForeign is refuseForeign for the admin listener.
func adminRefuseForeign(localOnly bool, next http.Handler) http.Handler {
	if !localOnly {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := checkLocal(r, nil); p != nil {
			plainProblem(w, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func plainText(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text) // fails only where the client has left
	}
}

// hideCommandLine stands in for pprof.Cmdline: a flag may hold a password.
func hideCommandLine(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "the command line is not shown: it may hold a password", http.StatusForbidden)
}

const (
	// pingTimeout bounds the look at each backend; all are looked at together.
	pingTimeout = time.Second
	// pingEvery is how long the result serves all probes, so that they cannot
	// become a load on the database.
	pingEvery = time.Second
)

// readiness answers /readyz.
type readiness struct {
	backends *store.Registry
	draining func() bool
	gate     *access.Gate // who may see reasons, which have addresses; nil: everybody

	mu     sync.Mutex // guards latest
	latest *probe
}

// probe is one look at all backends. Its fields are set before done is closed.
type probe struct {
	done    chan struct{}
	ended   time.Time
	results []probeResult
}

type readyView struct {
	Status   string        `json:"status"` // ready, unavailable or draining
	Default  string        `json:"default"`
	Weights  []weightView  `json:"weights"`
	Down     []string      `json:"down"`
	Backends []probeResult `json:"backends"`
}

type probeResult struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`

	plainReason string // without addresses
}

func (rd *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := rd.look()
	select {
	case <-p.done:
	case <-r.Context().Done():
		return
	}
	view := readyView{
		Status: "ready", Default: rd.backends.Default(), Weights: weightsOf(rd.backends),
		Down: []string{}, Backends: slices.Clone(p.results), // those of the probe are for all
	}
	seesAll := maySeeAll(rd.gate, r)
	for i, result := range p.results {
		if result.State != stateText(true) {
			view.Down = append(view.Down, result.Name)
		}
		if !seesAll {
			view.Backends[i].Reason = result.plainReason
		}
	}
	status := http.StatusOK
	switch {
	case rd.draining():
		view.Status, status = "draining", http.StatusServiceUnavailable
	case len(view.Down) == len(view.Backends):
		view.Status, status = "unavailable", http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(view) // fails only where the client has left
}

// look returns the latest probe, or starts one where that is too old.
func (rd *readiness) look() *probe {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.latest == nil || rd.latest.isOld() {
		rd.latest = &probe{done: make(chan struct{})}
		go rd.latest.run(rd.backends) // ends by pingTimeout
	}
	return rd.latest
}

func (p *probe) isOld() bool {
	select {
	case <-p.done:
		return time.Since(p.ended) >= pingEvery
	default:
		return false
	}
}

// run pings all backends. It serves every client that waits, so it depends on
// none of them: its context is its own.
func (p *probe) run(backends *store.Registry) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	names := backends.Names()
	p.results = make([]probeResult, len(names))
	var pings sync.WaitGroup
	for i, name := range names {
		pings.Go(func() {
			_, backend, _ := backends.Lookup(name)
			p.results[i] = resultOf(name, backend.Ping(ctx))
		})
	}
	pings.Wait()
	p.ended = time.Now()
	close(p.done)
}

func resultOf(name string, err error) probeResult {
	result := probeResult{Name: name, State: stateText(err == nil)}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		result.Reason = fmt.Sprintf("no answer within %v", pingTimeout)
		result.plainReason = result.Reason
	case err != nil:
		result.plainReason = "told to callers with the scope admin"
		result.Reason = strings.Replace(err.Error(), store.ErrUnavailable.Error()+": ", "", 1)
	}
	return result
}
