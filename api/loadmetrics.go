package api

import "github.com/prometheus/client_golang/prometheus"

var (
	placesTaken = prometheus.NewDesc("ndbgate_in_flight_requests",
		"Requests that are at a backend now, of imports and exports none.", []string{"backend"}, nil)
	placesMax = prometheus.NewDesc("ndbgate_in_flight_requests_max",
		"The most requests that may be at a backend; beyond are problems overloaded.", []string{"backend"}, nil)
	rateClients = prometheus.NewDesc("ndbgate_rate_limited_clients",
		"Clients whose rate is remembered, at most as many as fit.", nil, nil)
)

// loadMetrics tells how near to its limits the gateway is. What it refuses is
// counted with all other problems, by its code.
type loadMetrics struct{ s *server }

func newLoadMetrics(registerer prometheus.Registerer, s *server) {
	if registerer != nil {
		registerer.MustRegister(loadMetrics{s})
	}
}

// Describe implements prometheus.Collector.
func (loadMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- placesTaken
	descs <- placesMax
	descs <- rateClients
}

// Collect implements prometheus.Collector.
func (m loadMetrics) Collect(metrics chan<- prometheus.Metric) {
	for name, p := range m.s.places {
		metrics <- prometheus.MustNewConstMetric(placesTaken, prometheus.GaugeValue, float64(p.taken.Load()), name)
		metrics <- prometheus.MustNewConstMetric(placesMax, prometheus.GaugeValue, float64(p.max), name)
	}
	if m.s.rates != nil {
		metrics <- prometheus.MustNewConstMetric(rateClients, prometheus.GaugeValue, float64(m.s.rates.clients()))
	}
}
