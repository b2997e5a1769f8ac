package api

import "github.com/prometheus/client_golang/prometheus"

// streamMetrics counts what imports and exports have done with rows.
type streamMetrics struct {
	counter *prometheus.CounterVec
}

func newStreamMetrics(registerer prometheus.Registerer, running func() int) *streamMetrics {
	m := &streamMetrics{counter: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ndbgate_stream_rows_total",
		Help: "Rows of imports (written, skipped, failed, unknown) and exports (read).",
	}, []string{"backend", "outcome"})}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ndbgate_streams",
		Help: "Imports and exports that run now.",
	}, func() float64 { return float64(running()) })
	if registerer != nil {
		registerer.MustRegister(m.counter, gauge)
	}
	return m
}

func (m *streamMetrics) rows(backend, outcome string, n int64) {
	if n > 0 {
		m.counter.WithLabelValues(backend, outcome).Add(float64(n))
	}
}
