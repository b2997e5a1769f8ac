package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

// clusterTimeout bounds the question how the cluster is. A management server
// answers it in some milliseconds, or hangs.
const clusterTimeout = 3 * time.Second

type clusterView struct {
	Backend      string            `json:"backend"`
	Nodes        []clusterNodeView `json:"nodes"`
	MemoryReason string            `json:"memory_reason,omitempty"`
}

type clusterNodeView struct {
	ID      int    `json:"id"`
	Role    string `json:"role"`
	State   string `json:"state"`
	Version string `json:"version,omitempty"`
	Host    string `json:"host,omitempty"`
	Address string `json:"address,omitempty"`

	// Of data nodes.
	NodeGroup   *int        `json:"node_group,omitzero"`
	StartPhase  int         `json:"start_phase,omitzero"`
	Master      *bool       `json:"master,omitzero"`
	UsableLinks *int        `json:"usable_links,omitzero"`
	Memory      *memoryView `json:"memory,omitzero"`
}

type memoryView struct {
	Data  memoryUseView `json:"data"`
	Index memoryUseView `json:"index"`
}

type memoryUseView struct {
	UsedBytes  int64 `json:"used_bytes"`
	TotalBytes int64 `json:"total_bytes"`
	PageBytes  int64 `json:"page_bytes"`
}

// getCluster asks the first road that knows, by a management server, how the
// nodes of the cluster are.
func (s *server) getCluster(x *exchange) error {
	if err := checkNoQuery(x.r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(x.ctx, min(clusterTimeout, s.requestTimeout))
	defer cancel()
	var reasons []string
	for _, name := range s.backends.Names() {
		_, backend, _ := s.backends.Lookup(name)
		cluster, ok := backend.(store.Cluster)
		if !ok {
			continue
		}
		status, err := cluster.DescribeCluster(ctx)
		if err != nil {
			reasons = append(reasons, name+": "+reasonOf(err))
			continue
		}
		x.w.Header().Set("Cache-Control", "no-store")
		return x.json(http.StatusOK, viewOfCluster(name, status, cluster.ClusterLinks()))
	}
	if len(reasons) == 0 {
		reasons = []string{"no configured backend is a node of the cluster, as the native road is"}
	}
	return newProblem(codeUnavailable, strings.Join(reasons, "; ")).withHeader("Retry-After", retryAfterSeconds)
}

// reasonOf is one line about why a backend cannot serve.
func reasonOf(err error) string {
	text := strings.Replace(err.Error(), store.ErrUnavailable.Error()+": ", "", 1)
	return oneLine(text)
}

// oneLine joins lines, such as those of errors.Join.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

func viewOfCluster(backend string, status store.ClusterStatus, links []store.ClusterLink) clusterView {
	usable := map[int]int{}
	for _, link := range links {
		if link.Usable {
			usable[link.Node]++
		}
	}
	view := clusterView{Backend: backend, Nodes: []clusterNodeView{}, MemoryReason: oneLine(status.NoMemory)}
	for _, n := range status.Nodes {
		node := clusterNodeView{
			ID: n.ID, Role: string(n.Role), State: n.State, Version: n.Version, Host: n.Host, Address: n.Address,
		}
		if n.Role == store.RoleData {
			node.addDataNode(n, usable[n.ID])
		}
		view.Nodes = append(view.Nodes, node)
	}
	return view
}

func (v *clusterNodeView) addDataNode(n store.ClusterNode, usableLinks int) {
	v.StartPhase, v.Master, v.UsableLinks = n.StartPhase, &n.Master, &usableLinks
	if n.Group >= 0 {
		v.NodeGroup = &n.Group
	}
	if n.Memory != nil {
		v.Memory = &memoryView{Data: viewOfMemory(n.Memory.Data), Index: viewOfMemory(n.Memory.Index)}
	}
}

func viewOfMemory(m store.MemoryUse) memoryUseView {
	return memoryUseView{UsedBytes: m.Used, TotalBytes: m.Total, PageBytes: m.Page}
}
