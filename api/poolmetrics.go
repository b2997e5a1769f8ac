package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/store"
)

var (
	poolConnections = prometheus.NewDesc("ndbgate_pool_connections",
		"Connections of a backend to a node, by what they do.", []string{"backend", "node", "state"}, nil)
	poolConnectionsMax = prometheus.NewDesc("ndbgate_pool_connections_max",
		"The most connections of a backend to a node at once.", []string{"backend", "node"}, nil)
	poolWaiting = prometheus.NewDesc("ndbgate_pool_waiting",
		"Requests that wait for a connection now.", []string{"backend", "node"}, nil)
	poolWaits = prometheus.NewDesc("ndbgate_pool_waits_total",
		"Requests that had to wait for a connection.", []string{"backend", "node"}, nil)
	poolWaitSeconds = prometheus.NewDesc("ndbgate_pool_wait_seconds_total",
		"Time that requests waited for a connection.", []string{"backend", "node"}, nil)
	nodeUp = prometheus.NewDesc("ndbgate_node_up",
		"1 while the node serves, 0 from a failure until it answers again.", []string{"backend", "node"}, nil)
	backendUp = prometheus.NewDesc("ndbgate_backend_up",
		"1 while the backend serves, as far as is known.", []string{"backend"}, nil)
	backendRetries = prometheus.NewDesc("ndbgate_backend_retries_total",
		"Times that a call which surely was not done was made once more.", []string{"backend"}, nil)
	backendUnknown = prometheus.NewDesc("ndbgate_backend_unknown_outcomes_total",
		"Writes of which nobody knows whether they were done.", []string{"backend"}, nil)
)

// poolCollector reads the pools when it is asked, so nothing has to keep the
// metrics up to date.
type poolCollector struct {
	backends *store.Registry
}

// NewPoolCollector returns the metrics of the backends and their pools.
func NewPoolCollector(backends *store.Registry) prometheus.Collector {
	return &poolCollector{backends: backends}
}

// Describe implements prometheus.Collector.
func (c *poolCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		poolConnections, poolConnectionsMax, poolWaiting, poolWaits, poolWaitSeconds, nodeUp,
		backendUp, backendRetries, backendUnknown,
	} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *poolCollector) Collect(metrics chan<- prometheus.Metric) {
	for _, name := range c.backends.Names() {
		_, backend, _ := c.backends.Lookup(name)
		status := backend.Status()
		metrics <- prometheus.MustNewConstMetric(backendUp, prometheus.GaugeValue, oneIf(status.Up), name)
		if counting, ok := backend.(store.Counting); ok {
			counters := counting.Counters()
			metrics <- prometheus.MustNewConstMetric(backendRetries, prometheus.CounterValue, float64(counters.Retries), name)
			metrics <- prometheus.MustNewConstMetric(backendUnknown, prometheus.CounterValue, float64(counters.UnknownOutcomes), name)
		}
		for _, node := range byAddress(status.Nodes) {
			collectNode(metrics, name, node)
		}
	}
}

func collectNode(metrics chan<- prometheus.Metric, backend string, node store.NodeStatus) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{backend, node.Address}, labels...)...)
	}
	gauge(poolConnections, float64(node.InUse), "in_use")
	gauge(poolConnections, float64(node.Idle), "idle")
	gauge(poolConnectionsMax, float64(node.Max))
	gauge(poolWaiting, float64(node.Waiting))
	gauge(nodeUp, oneIf(node.Up))
	metrics <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(node.Waits), backend, node.Address)
	metrics <- prometheus.MustNewConstMetric(poolWaitSeconds, prometheus.CounterValue, node.WaitTime.Seconds(), backend, node.Address)
}

// byAddress merges pools to the same node, of which one is up if any is:
// Prometheus takes each combination of labels once.
func byAddress(nodes []store.NodeStatus) []store.NodeStatus {
	var merged []store.NodeStatus
	index := map[string]int{}
	for _, node := range nodes {
		i, seen := index[node.Address]
		if !seen {
			index[node.Address] = len(merged)
			merged = append(merged, node)
			continue
		}
		m := &merged[i]
		m.Up = m.Up || node.Up
		m.Max += node.Max
		m.InUse += node.InUse
		m.Idle += node.Idle
		m.Waiting += node.Waiting
		m.Waits += node.Waits
		m.WaitTime += node.WaitTime
	}
	return merged
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
