package api

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/store"
)

var (
	dataNodeLinks = prometheus.NewDesc("ndbgate_data_node_links",
		"Connections of a backend with a data node, by how the node is.", []string{"backend", "node", "state"}, nil)
	dataNodeUsableLinks = prometheus.NewDesc("ndbgate_data_node_usable_links",
		"Connections of a backend with a data node over which transactions may begin.", []string{"backend", "node"}, nil)
	dataNodeMemoryUsed = prometheus.NewDesc("ndbgate_data_node_memory_used_bytes",
		"Memory of a data node in use: data is rows and ordered indexes, index is hash indexes.", []string{"backend", "node", "memory"}, nil)
	dataNodeMemoryTotal = prometheus.NewDesc("ndbgate_data_node_memory_total_bytes",
		"Memory of a data node that there is; what the other kind uses is not in it.", []string{"backend", "node", "memory"}, nil)
)

const (
	// memoryAskTimeout bounds the question how much memory is in use.
	memoryAskTimeout = time.Second
	// memoryAskEvery is how long the answer, or its lack, serves all scrapes:
	// every data node takes part in it.
	memoryAskEvery = 5 * time.Second
)

// clusterCollector reads the state of the data nodes when it is asked, and the
// memory that they use seldom.
type clusterCollector struct {
	backends *store.Registry
	memory   map[string]*memoryProbes // by the backend's name
}

// NewClusterCollector returns the metrics of the data nodes, of the backends
// that are connected with them. Memory that is not known has none.
func NewClusterCollector(backends *store.Registry) prometheus.Collector {
	c := &clusterCollector{backends: backends, memory: map[string]*memoryProbes{}}
	for _, name := range backends.Names() {
		c.memory[name] = &memoryProbes{}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{dataNodeLinks, dataNodeUsableLinks, dataNodeMemoryUsed, dataNodeMemoryTotal} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(metrics chan<- prometheus.Metric) {
	for name, probes := range c.memory {
		_, backend, _ := c.backends.Lookup(name)
		if cluster, ok := backend.(store.Cluster); ok {
			collectLinks(metrics, name, cluster.ClusterLinks())
			collectMemory(metrics, name, probes.nodes(cluster))
		}
	}
}

// nodeLinks counts the connections with one data node.
type nodeLinks struct {
	byState map[store.LinkState]int
	usable  int
}

func collectLinks(metrics chan<- prometheus.Metric, backend string, links []store.ClusterLink) {
	nodes := map[int]*nodeLinks{}
	for _, link := range links {
		if nodes[link.Node] == nil {
			nodes[link.Node] = &nodeLinks{byState: map[store.LinkState]int{}}
		}
		n := nodes[link.Node]
		n.byState[link.State]++
		if link.Usable {
			n.usable++
		}
	}
	for id, n := range nodes {
		node := strconv.Itoa(id)
		metrics <- prometheus.MustNewConstMetric(dataNodeUsableLinks, prometheus.GaugeValue, float64(n.usable), backend, node)
		for _, state := range store.LinkStates() {
			metrics <- prometheus.MustNewConstMetric(dataNodeLinks, prometheus.GaugeValue, float64(n.byState[state]), backend, node, string(state))
		}
	}
}

func collectMemory(metrics chan<- prometheus.Metric, backend string, nodes []store.ClusterNode) {
	for _, n := range nodes {
		if n.Memory == nil {
			continue
		}
		node := strconv.Itoa(n.ID)
		for kind, use := range map[string]store.MemoryUse{"data": n.Memory.Data, "index": n.Memory.Index} {
			metrics <- prometheus.MustNewConstMetric(dataNodeMemoryUsed, prometheus.GaugeValue, float64(use.Used), backend, node, kind)
			metrics <- prometheus.MustNewConstMetric(dataNodeMemoryTotal, prometheus.GaugeValue, float64(use.Total), backend, node, kind)
		}
	}
}

// memoryProbes asks a cluster once for all scrapes within memoryAskEvery.
type memoryProbes struct {
	mu     sync.Mutex // guards latest
	latest *memoryProbe
}

// memoryProbe is one answer. Its fields are set before done is closed.
type memoryProbe struct {
	begun time.Time // set at once
	done  chan struct{}
	nodes []store.ClusterNode // none where nobody has answered
}

// nodes waits for the latest probe, which it makes where that is too old.
func (ps *memoryProbes) nodes(cluster store.Cluster) []store.ClusterNode {
	p, ours := ps.join()
	if ours {
		// An error is seen in GET /v1/cluster; here it shows as no memory.
		ctx, cancel := context.WithTimeout(context.Background(), memoryAskTimeout)
		defer cancel()
		if status, err := cluster.DescribeCluster(ctx); err == nil {
			p.nodes = status.Nodes
		}
		close(p.done)
	}
	<-p.done
	return p.nodes
}

func (ps *memoryProbes) join() (p *memoryProbe, ours bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.latest != nil && time.Since(ps.latest.begun) < memoryAskEvery {
		return ps.latest, false
	}
	ps.latest = &memoryProbe{begun: time.Now(), done: make(chan struct{})}
	return ps.latest, true
}
