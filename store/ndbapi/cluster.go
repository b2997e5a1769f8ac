package ndbapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Cluster = (*Store)(nil)

// memoryTimeout bounds what the data nodes are asked: they tell their memory in
// a millisecond, and one that hangs would hold up all that is known.
const memoryTimeout = time.Second

// DescribeCluster implements store.Cluster: it asks a management server. Calls
// within a second share an answer.
func (s *Store) DescribeCluster(ctx context.Context) (store.ClusterStatus, error) {
	client, err := s.connected()
	if err != nil {
		return store.ClusterStatus{}, err
	}
	memory, noMemory := map[int]*store.NodeMemory{}, error(nil)
	var asking sync.WaitGroup
	asking.Go(func() { noMemory = memoryOf(ctx, client, memory) }) // ends with ctx
	nodes, err := client.ClusterStatus(ctx)
	asking.Wait()
	if err != nil {
		return store.ClusterStatus{}, fmt.Errorf("%w: no management server has answered: %w", store.ErrUnavailable, err)
	}
	status := store.ClusterStatus{Nodes: make([]store.ClusterNode, len(nodes))}
	if noMemory != nil {
		status.NoMemory = "the data nodes did not tell their memory: " + noMemory.Error()
	}
	for i, n := range nodes {
		status.Nodes[i] = clusterNode(n)
		status.Nodes[i].Memory = memory[n.ID]
	}
	return status, nil
}

func memoryOf(ctx context.Context, client *ndb.Client, memory map[int]*store.NodeMemory) error {
	ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
	defer cancel()
	nodes, err := client.MemoryUse(ctx)
	for _, n := range nodes {
		memory[n.ID] = &store.NodeMemory{Data: memoryUse(n.Data), Index: memoryUse(n.Index)}
	}
	return err
}

func memoryUse(p ndb.Pages) store.MemoryUse {
	return store.MemoryUse{Used: p.UsedBytes(), Total: p.TotalBytes(), Page: p.PageBytes}
}

// roles are by the words of the management server.
var roles = map[string]store.NodeRole{"NDB": store.RoleData, "MGM": store.RoleManagement, "API": store.RoleAPI}

// noAddress is what a management server tells of API nodes that are not there.
const noAddress = "0.0.0.0"

func clusterNode(n ndb.NodeStatus) store.ClusterNode {
	node := store.ClusterNode{
		ID: n.ID, Role: roles[n.Type], State: clusterState(n.Status), Version: n.Version, Host: n.Host,
		Group: n.NodeGroup, StartPhase: n.StartPhase, Master: n.Master,
	}
	if n.Address != noAddress {
		node.Address = n.Address
	}
	return node
}

// clusterState writes the states of the management server as other words of the
// gateway are: NO_CONTACT is no_contact.
func clusterState(status string) string {
	switch status {
	case "":
		return "unknown"
	case "SINGLEUSER MODE":
		return "single_user"
	default:
		return strings.ReplaceAll(strings.ToLower(status), " ", "_")
	}
}

// ClusterLinks implements store.Cluster: one link for each API node of the road
// and each data node.
func (s *Store) ClusterLinks() []store.ClusterLink {
	var links []store.ClusterLink
	for _, n := range s.Nodes() {
		links = append(links, store.ClusterLink{Node: n.ID, State: linkState(n.State), Usable: n.Usable})
	}
	return links
}

func linkState(state ndb.NodeState) store.LinkState {
	switch state {
	case ndb.NodeDisconnected:
		return store.LinkDisconnected
	case ndb.NodeRegistering:
		return store.LinkRegistering
	case ndb.NodeStarting:
		return store.LinkStarting
	case ndb.NodeStarted:
		return store.LinkStarted
	case ndb.NodeSingleUser:
		return store.LinkSingleUser
	case ndb.NodeStopping:
		return store.LinkStopping
	default:
		panic(fmt.Sprintf("ndbapi: no link state for %v", state))
	}
}
