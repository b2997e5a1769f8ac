package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requestMetrics counts and times requests and comparisons.
type requestMetrics struct {
	seconds         *prometheus.HistogramVec
	problems        *prometheus.CounterVec
	comparisons     *prometheus.CounterVec
	comparedSeconds *prometheus.HistogramVec
	replays         *prometheus.CounterVec
	idConflicts     *prometheus.CounterVec
}

// secondsBuckets go from 100 µs, a read over the native road, to the deadline.
var secondsBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

func newRequestMetrics(registerer prometheus.Registerer) *requestMetrics {
	m := &requestMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ndbgate_http_request_duration_seconds",
			Help:    "Time from the end of a request's header to the end of its answer.",
			Buckets: secondsBuckets,
		}, []string{"method", "route", "backend", "status"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ndbgate_http_problems_total",
			Help: "Answers that were problems, by their code.",
		}, []string{"backend", "code"}),
		comparisons: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ndbgate_comparisons_total",
			Help: "Reads with X-Backend-Compare, by the backend that answered, the one compared with, and the result.",
		}, []string{"backend", "compared", "result"}),
		comparedSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ndbgate_comparison_duration_seconds",
			Help:    "Time of the backend that an answer was compared with.",
			Buckets: secondsBuckets,
		}, []string{"backend", "compared"}),
		replays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ndbgate_replays_total",
			Help: "Answers that were kept under an idempotency key and sent again.",
		}, []string{"backend"}),
		idConflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ndbgate_assigned_id_conflicts_total",
			Help: "Assigned ids that were taken already, so that another one was assigned.",
		}, []string{"backend"}),
	}
	if registerer != nil {
		registerer.MustRegister(m.seconds, m.problems, m.comparisons, m.comparedSeconds, m.replays, m.idConflicts)
	}
	return m
}

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions,
}

// labelOf is a method as metrics name it: a client can invent methods without end.
func labelOf(method string) string {
	if slices.Contains(knownMethods, method) {
		return method
	}
	return "other"
}

func (m *requestMetrics) observe(method, route string, info *requestInfo, status int, elapsed time.Duration) {
	m.seconds.WithLabelValues(labelOf(method), route, info.road, strconv.Itoa(status)).Observe(elapsed.Seconds())
	if info.problem != "" {
		m.problems.WithLabelValues(info.road, string(info.problem)).Inc()
	}
}
