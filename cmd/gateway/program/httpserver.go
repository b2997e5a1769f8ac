package program

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"

	"github.com/ndbgate/ndbgate/api"
)

// Limits of the listeners. A handler that streams for longer moves its own
// deadlines with http.ResponseController.
const (
	idleTimeout       = 2 * time.Minute // longer than the usual minute of load balancers
	readHeaderTimeout = 5 * time.Second

	// bodyGrace is how long after the deadline of a request its body may still
	// come. It is not zero: net/http takes the end of the read timeout for the
	// client leaving, and would cancel requests that wait for the database.
	bodyGrace = 2 * time.Second
	// answerGrace is left to write an answer once all of that is over.
	answerGrace = 5 * time.Second

	// connectionStreams is how many requests a connection of HTTP/2 may have at once,
	// the least that its standard advises.
	connectionStreams = 100
	// deadConnection is how long a connection of HTTP/2 may be silent, or take
	// nothing, before it is looked at and closed: as long as a stream may be idle.
	deadConnection = time.Minute
)

// newHTTPServer makes the server of the public listener. Its timeouts end clients
// that send or take a byte now and then.
func newHTTPServer(handler http.Handler, requestTimeout time.Duration, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       bodyTime(requestTimeout),
		WriteTimeout:      bodyTime(requestTimeout) + answerGrace,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    api.MaxRequestHeadBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		// OPTIONS * gets a problem as all else that is no path.
		DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: connectionStreams,
			SendPingTimeout:      deadConnection,
			WriteByteTimeout:     deadConnection,
		},
	}
}

// bodyTime is how long a request and its body may take to come.
func bodyTime(requestTimeout time.Duration) time.Duration {
	return readHeaderTimeout + requestTimeout + bodyGrace
}

// apiOptions adds to the options what settings say.
func apiOptions(cfg *Config, connections int, opts api.Options) api.Options {
	opts.RequestTimeout, opts.KeyLifetime, opts.SlowRequest = cfg.RequestTimeout, cfg.KeyLifetime, cfg.SlowRequest
	opts.Tracer = cfg.tracer
	opts.RateLimit, opts.RateBurst, opts.TrustedProxies = cfg.RateLimit, cfg.RateBurst, cfg.TrustedProxies
	opts.MaxInFlight, opts.MaxStreams = cfg.maxInFlight(), cfg.MaxStreams
	opts.MaxItems, opts.MaxComparisons = cfg.MaxItems, cfg.MaxComparisons
	opts.MoreLimits = serverLimits(cfg, connections)
	return opts
}

// serverLimits are those of newHTTPServer and its listener.
func serverLimits(cfg *Config, connections int) []api.Limit {
	in := func(name string, d time.Duration, setting string) api.Limit {
		return api.Limit{Name: name, Value: d.Seconds(), Unit: api.UnitSeconds, Setting: setting}
	}
	return []api.Limit{
		{Name: "connections", Value: float64(connections), Unit: "connections", Setting: "max-connections"},
		{Name: "connection_streams", Value: connectionStreams, Unit: "requests"},
		in("head_time", readHeaderTimeout, ""),
		in("body_time", bodyTime(cfg.RequestTimeout), "request-timeout"),
		in("answer_time", bodyTime(cfg.RequestTimeout)+answerGrace, "request-timeout"),
		in("idle_time", idleTimeout, ""),
	}
}

// mostConnections is what the setting allows, or less where the process may not
// open so many files; then it says so.
func mostConnections(cfg *Config, logger *slog.Logger) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		logger.Warn("the limit of open files is not known", "error", err.Error())
		return cfg.MaxConnections
	}
	fitting := cfg.fittingConnections(files.Cur)
	if fitting < cfg.MaxConnections {
		logger.Warn("fewer connections than max-connections: raise the limit of open files",
			"connections", fitting, "max_connections", cfg.MaxConnections, "open_files", files.Cur)
	}
	return fitting
}

// countedConnections are the open connections of the public listener.
type countedConnections struct {
	max  int
	open atomic.Int64
}

// limit leaves connections that are one too many with the kernel until
// another ends: it keeps some, and refuses others as it does where nobody listens.
func (c *countedConnections) limit(l net.Listener) net.Listener {
	return netutil.LimitListener(l, c.max)
}

// count is a http.Server's ConnState.
func (c *countedConnections) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	}
}

func (c *countedConnections) register(metrics prometheus.Registerer) {
	metrics.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ndbgate_connections", Help: "Open connections of the API's listener.",
		}, func() float64 { return float64(c.open.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ndbgate_connections_max", Help: "The most of them; more wait until one ends.",
		}, func() float64 { return float64(c.max) }),
	)
}
