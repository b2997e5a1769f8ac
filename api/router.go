// Package api is the HTTP side of the gateway: routes, strict decoding,
// validation, problems and the choice of the road. It knows stores only by
// their contract.
package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/tracing"
)

// Options of New. The zero value of a field means its default.
type Options struct {
	Logger         *slog.Logger          // access log and causes of failures; default: none
	Metrics        prometheus.Registerer // default: none
	IDs            *store.IDs            // default: a new source on the system's clock
	RequestTimeout time.Duration         // deadline of one request; default 10 s
	MaxBodyBytes   int64                 // longest request body; default 64 KiB
	BatchTimeout   time.Duration         // deadline of a batch; default BatchTimeout(RequestTimeout)
	MaxBatchBytes  int64                 // longest body of a batch; default 64 MiB
	MaxItems       int                   // items of all batches at once; default 100,000
	KeyLifetime    time.Duration         // of answers under idempotency keys; default 24 h
	MaxComparisons int                   // reads that ask a second road at once; default 32
	MaxStreams     int                   // imports and exports at once; default 8, negative: none
	StreamIdle     time.Duration         // longest time without a byte from, or to, the client of a stream; default 1 min
	StreamPatience time.Duration         // for which a stream waits for a road that cannot serve; default 30 s
	Stopping       <-chan struct{}       // closed when streams are to end; default: never
	RateLimit      int                   // requests of each client per second; default: no limit
	RateBurst      int                   // requests of each client at once; default RateLimit
	TrustedProxies []netip.Prefix        // whose X-Forwarded-For tells the client; default: nobody's
	MaxInFlight    map[string]int        // requests that are at a backend at once, by its name; default 512, negative: none
	Access         *access.Gate          // who may call; default: everybody
	LocalOnly      bool                  // refuse other names than this host's own and pages of other hosts; for loopback without Access
	Origins        []string              // whose pages may call from a browser, "*" for all; default: none
	MoreLimits     []Limit               // of the server around the handler, for GET /v1/limits
	SlowRequest    time.Duration         // from which on the access log warns of a request about one row or page; default: never
	Tracer         tracing.Tracer        // default: no spans; trace context is passed on all the same
}

const (
	defaultRequestTimeout = 10 * time.Second
	defaultMaxBodyBytes   = 64 << 10
	defaultMaxComparisons = 32 // half of a pool, so that a slow road still serves others
)

// New returns the handler of the public listener. It registers its metrics, so
// one registry takes one handler.
func New(backends *store.Registry, opts Options) http.Handler {
	return newRouter(backends, opts)
}

func newRouter(backends *store.Registry, opts Options) chi.Router {
	s := newServer(backends, opts)
	r := chi.NewRouter()
	r.Use(s.observe, s.recoverPanics, harden, s.refuseForeign, allowOrigins(opts.Origins), s.limitSize, s.limitRate, s.answerPreflights,
		s.guard, middleware.GetHead)
	r.NotFound(s.plain(routeNotFound))
	r.MethodNotAllowed(s.plain(methodNotAllowed(r)))

	r.Post("/v1/employees", s.writing(s.once(s.createEmployee)))
	r.Get("/v1/employees", s.reading(s.listEmployees))
	r.Get("/v1/employees/{id}", s.reading(s.getEmployee))
	r.Put("/v1/employees/{id}", s.writing(s.saveEmployee))
	r.Patch("/v1/employees/{id}", s.writing(s.patchEmployee))
	r.Delete("/v1/employees/{id}", s.writing(s.deleteEmployee))
	r.Post("/v1/employees:batchGet", s.batching(s.batchGet))
	r.Post("/v1/employees:batchCreate", s.writeBatch(newCreateBatch, s.batchCreate))
	r.Post("/v1/employees:batchUpdate", s.writeBatch(newUpdateBatch, s.batchUpdate))
	r.Post("/v1/employees:batchDelete", s.writeBatch(newDeleteBatch, s.batchDelete))
	r.Post("/v1/employees:import", s.streaming(s.importEmployees))
	r.Get("/v1/employees:export", s.streaming(s.exportEmployees))
	r.Get("/v1/backends", s.plain(s.listBackends))
	r.Get("/v1/cluster", s.plain(s.getCluster))
	r.Get("/v1/limits", s.plain(s.listLimits))

	r.Get("/openapi.yaml", serveSpec())
	r.Get("/", http.RedirectHandler(docsPath, http.StatusFound).ServeHTTP)
	r.Get("/docs", http.RedirectHandler(docsPath, http.StatusMovedPermanently).ServeHTTP)
	r.Get("/docs/*", docsHandler().ServeHTTP)
	return r
}

// server holds what all handlers share.
type server struct {
	backends       *store.Registry
	gate           *access.Gate // nil: everybody may call
	localOnly      bool
	origins        []string
	vary           string // what of a request chooses the answer of a call that takes a road
	ids            *store.IDs
	log            *slog.Logger
	metrics        *requestMetrics
	requestTimeout time.Duration
	maxBodyBytes   int64
	batchTimeout   time.Duration
	maxBatchBytes  int64
	items          itemBudget    // of batches
	comparing      chan struct{} // holds one for each comparison that runs
	streams        chan struct{} // holds one for each stream that runs
	streamMetrics  *streamMetrics
	streamIdle     time.Duration
	streamPatience time.Duration
	stopping       <-chan struct{}
	keyLifetime    time.Duration
	turns          turns       // of idempotency keys
	rates          *rateLimits // nil: no limit
	trustedProxies []netip.Prefix
	places         map[string]*places // by the names of the backends
	moreLimits     []Limit
	slowRequest    time.Duration // 0: none is
	tracer         tracing.Tracer
}

func newServer(backends *store.Registry, opts Options) *server {
	s := &server{
		backends:       backends,
		gate:           opts.Access,
		localOnly:      opts.LocalOnly,
		origins:        opts.Origins,
		vary:           varyOnRoad,
		ids:            opts.IDs,
		log:            opts.Logger,
		metrics:        newRequestMetrics(opts.Metrics),
		requestTimeout: opts.RequestTimeout,
		maxBodyBytes:   opts.MaxBodyBytes,
		maxBatchBytes:  cmp.Or(opts.MaxBatchBytes, defaultMaxBatchBytes),
		items:          itemBudget{max: int64(cmp.Or(opts.MaxItems, defaultMaxItems))},
		comparing:      make(chan struct{}, cmp.Or(opts.MaxComparisons, defaultMaxComparisons)),
		streams:        make(chan struct{}, max(cmp.Or(opts.MaxStreams, defaultMaxStreams), 0)),
		streamIdle:     cmp.Or(opts.StreamIdle, defaultStreamIdle),
		streamPatience: cmp.Or(opts.StreamPatience, defaultStreamPatience),
		stopping:       opts.Stopping,
		keyLifetime:    cmp.Or(opts.KeyLifetime, defaultKeyLifetime),
		rates:          newRateLimits(opts.RateLimit, opts.RateBurst),
		trustedProxies: opts.TrustedProxies,
		places:         map[string]*places{},
		moreLimits:     opts.MoreLimits,
		slowRequest:    opts.SlowRequest,
		tracer:         opts.Tracer,
	}
	for _, name := range backends.Names() {
		s.places[name] = &places{max: int64(max(cmp.Or(opts.MaxInFlight[name], defaultMaxInFlight), 0))}
	}
	newLoadMetrics(opts.Metrics, s)
	if len(opts.Origins) > 0 {
		s.vary += ", Origin"
	}
	s.streamMetrics = newStreamMetrics(opts.Metrics, func() int { return len(s.streams) })
	if s.ids == nil {
		s.ids = store.NewIDs(nil)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.requestTimeout == 0 {
		s.requestTimeout = defaultRequestTimeout
	}
	s.batchTimeout = cmp.Or(opts.BatchTimeout, BatchTimeout(s.requestTimeout))
	if s.maxBodyBytes == 0 {
		s.maxBodyBytes = defaultMaxBodyBytes
	}
	return s
}
