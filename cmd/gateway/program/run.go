package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/ndbgate/ndbgate/api"
	"github.com/ndbgate/ndbgate/store"
)

const (
	// drainGrace is how much longer than one request a shutdown may take: more
	// than the 5 s that net/http gives a new connection for its first request.
	drainGrace = 6 * time.Second

	adminWriteTimeout = 15 * time.Second // profiles add their own length
	adminDrain        = time.Second
)

// run serves until the context ends, and then until the requests in flight
// have ended. It returns an error where the gateway could not serve, or where
// requests had to be cut off.
func run(ctx context.Context, cfg Config, p process) error {
	level := new(slog.LevelVar)
	level.Set(cfg.LogLevel)
	logger := slog.New(slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: level}))
	logger.Info("starting", "version", thisBuild().version, "settings", loggedSettings(&cfg))
	endTracing, err := p.startTracing(ctx, &cfg, logger)
	if err != nil {
		return err
	}
	defer endTracing()

	access, err := openGuard(&cfg, logger)
	if err != nil {
		return err
	}
	public, err := listen(ctx, &cfg, "listen", cfg.Listen)
	if err != nil {
		return err
	}
	admin, err := listen(ctx, &cfg, "admin-listen", cfg.AdminListen)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	roads, err := p.open(cfg, logger)
	if err != nil {
		return errors.Join(err, public.Close(), admin.Close())
	}
	for _, r := range roads {
		logger.Info("backend", "backend", r.name, "address", r.address)
	}
	backends := newRegistry(cfg, roads)
	g := newGateway(&cfg, backends, access, logger, level)
	logger.Info("listening", "address", public.Addr().String(), "admin_address", admin.Addr().String())
	beside, endBeside := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { store.SweepAnswers(beside, backends, logger) })
	others.Go(func() { access.run(beside, p.hangups()) })
	err = g.serve(ctx, public, admin)
	endBeside()
	others.Wait()
	if closeErr := backends.Close(); closeErr != nil {
		logger.Warn("closing", "error", closeErr.Error())
	}
	if err == nil {
		logger.Info("stopped")
	}
	return err
}

// loggedSettings shows all settings, but of a secret one only whether it is set.
func loggedSettings(cfg *Config) slog.Value {
	var attrs []slog.Attr
	for _, s := range settings {
		value := s.show(cfg)
		if s.secret && value != "" {
			value = "(set)"
		}
		attrs = append(attrs, slog.String(s.name, value))
	}
	return slog.GroupValue(attrs...)
}

func listen(ctx context.Context, cfg *Config, name, address string) (net.Listener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s (%s): %w\nanother program listens there: end it, or choose another address with --%s or %s",
			name, cfg.origin(name), err, name, (&setting{name: name}).envName())
	}
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", name, cfg.origin(name), err)
	}
	return listener, nil
}

// gateway is the two HTTP servers of one process.
type gateway struct {
	public, admin *http.Server
	connections   *countedConnections // of public
	drainTimeout  time.Duration
	draining      *atomic.Bool
	endStreams    func() // called once; they end soon, with a last line that says so
	logger        *slog.Logger
}

func newGateway(cfg *Config, backends *store.Registry, access *guard, logger *slog.Logger, level *slog.LevelVar) *gateway {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		api.NewPoolCollector(backends),
		api.NewClusterCollector(backends),
	)
	draining := new(atomic.Bool)
	stopping := make(chan struct{})
	connections := &countedConnections{max: mostConnections(cfg, logger)}
	connections.register(metrics)
	access.register(metrics)
	public := newHTTPServer(api.New(backends, apiOptions(cfg, connections.max, api.Options{
		Logger: logger, Metrics: metrics, Stopping: stopping, Access: access.gate, Origins: cfg.CORSOrigins, LocalOnly: isLocalOnly(cfg, access.gate),
	})), cfg.RequestTimeout, logger)
	public.ConnState = connections.count
	g := &gateway{
		public:      public,
		connections: connections,
		admin: &http.Server{
			Handler: api.NewAdmin(backends, api.AdminOptions{
				Gatherer: metrics, Draining: draining.Load, Logger: logger, Level: level,
				Access: access.adminGate(cfg), LocalOnly: isLocalOnly(cfg, access.adminGate(cfg)),
			}),
			ReadHeaderTimeout: readHeaderTimeout, // no ReadTimeout: it would end profiles
			WriteTimeout:      adminWriteTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    api.MaxRequestHeadBytes,
			ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		},
		drainTimeout: api.BatchTimeout(cfg.RequestTimeout) + drainGrace, // no request takes longer than a batch
		draining:     draining,
		endStreams:   func() { close(stopping) },
		logger:       logger,
	}
	access.secure(cfg, g)
	return g
}

// serve runs both servers until the context ends or one of them fails, and
// then stops both: the public one first, so that probes see the draining.
func (g *gateway) serve(ctx context.Context, public, admin net.Listener) error {
	failed := make(chan error, 2)
	go func() { failed <- serveOn(g.public, g.connections.limit(public)) }() // ends with Shutdown or Close
	go func() { failed <- serveOn(g.admin, admin) }()                        // ends with Shutdown or Close

	var err error
	running := 2
	select {
	case <-ctx.Done():
	case err = <-failed:
		running--
	}
	g.draining.Store(true)
	g.endStreams()
	g.logger.Info("draining", "at_most", g.drainTimeout.String())
	// The context has ended, but the requests in flight have not.
	err = errors.Join(err, stop(context.WithoutCancel(ctx), g.public, g.drainTimeout))
	if stopErr := stop(context.WithoutCancel(ctx), g.admin, adminDrain); stopErr != nil {
		g.logger.Info("admin requests were cut off")
	}
	for range running {
		err = errors.Join(err, <-failed)
	}
	return err
}

// serveOn returns nil once the server was stopped.
func serveOn(server *http.Server, listener net.Listener) error {
	serve := server.Serve
	if server.TLSConfig != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

// stop lets the requests in flight end, and cuts them off after the limit.
func stop(ctx context.Context, server *http.Server, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off after %v: %w", limit, err), server.Close())
	}
	return nil
}
