package ndb

import (
	"context"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
)

// NodeStatus is what a management server says about a node of the cluster.
type NodeStatus struct {
	ID           int
	Type         string // NDB, MGM or API
	Status       string // as in STARTED or NO_CONTACT; API nodes show NO_CONTACT to a server that does not see them
	Version      string // as in "9.7.2"; empty where it is not known
	StartPhase   int
	NodeGroup    int // -1 for what is no data node
	ConnectCount int
	Address      string
}

// ClusterStatus asks a management server how all nodes of the cluster are. See
// Nodes for what the client itself sees of the data nodes.
func (c *Client) ClusterStatus(ctx context.Context) ([]NodeStatus, error) {
	if c.isClosed() {
		return nil, ErrClosed
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	session, err := c.management(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	nodes, err := session.Status(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]NodeStatus, len(nodes))
	for i, n := range nodes {
		all[i] = NodeStatus{
			ID: int(n.ID), Type: n.Type.String(), Status: n.Status, Version: knownVersion(uint32(n.Version)),
			StartPhase: n.StartPhase, NodeGroup: -1, ConnectCount: n.ConnectCount, Address: n.Address,
		}
		if n.Type == mgm.TypeData {
			all[i].NodeGroup = nodeGroup(uint32(n.NodeGroup))
		}
	}
	return all, nil
}

func knownVersion(v uint32) string {
	if v == 0 {
		return ""
	}
	return versionString(v)
}
