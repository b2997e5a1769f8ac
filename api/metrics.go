package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestMetrics counts and times requests.
type requestMetrics struct {
	seconds *prometheus.HistogramVec
}

func newRequestMetrics(registerer prometheus.Registerer) *requestMetrics {
	m := &requestMetrics{seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ndbgate_http_request_duration_seconds",
		Help: "Time from the end of a request's header to the end of its answer.",
		// From 100 µs, a read over the native road, to the deadline.
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"method", "route", "backend", "status"})}
	if registerer != nil {
		registerer.MustRegister(m.seconds)
	}
	return m
}

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions,
}

func (m *requestMetrics) observe(method, route, road string, status int, elapsed time.Duration) {
	if !slices.Contains(knownMethods, method) {
		method = "other" // A client can invent methods without end.
	}
	m.seconds.WithLabelValues(method, route, road, strconv.Itoa(status)).Observe(elapsed.Seconds())
}
