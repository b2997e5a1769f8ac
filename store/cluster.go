package store

import "context"

// Cluster is a road that is a node of the cluster itself, and can tell about
// the others. Roads need not implement it.
type Cluster interface {
	// DescribeCluster asks how all nodes of the cluster are. ErrUnavailable says
	// that nobody who knows has answered. The slices are the caller's.
	DescribeCluster(ctx context.Context) (ClusterStatus, error)

	// ClusterLinks tells how the road's connections with the data nodes are,
	// without a round trip; none before the cluster was reached.
	ClusterLinks() []ClusterLink
}

// ClusterStatus is how a cluster is.
type ClusterStatus struct {
	Nodes []ClusterNode // data nodes, management servers, API nodes

	// NoMemory is why the data nodes did not tell their memory; empty where those
	// that are connected did.
	NoMemory string
}

// NodeRole is what a node does in the cluster.
type NodeRole string

// The roles.
const (
	RoleData       NodeRole = "data"       // holds rows
	RoleManagement NodeRole = "management" // holds the configuration
	RoleAPI        NodeRole = "api"        // reads and writes rows: a SQL node, or a gateway
)

// ClusterNode is one node, as the cluster sees it.
type ClusterNode struct {
	ID      int
	Role    NodeRole
	State   string // as in started, no_contact or unknown
	Version string // as in "9.7.2"; empty where it is not connected
	Host    string // that the configuration expects it on; empty: any
	Address string // that it is connected from; empty where it is not

	// Of data nodes alone.
	Group      int // node group; -1: none, or not known
	StartPhase int // while it is starting
	Master     bool
	Memory     *NodeMemory // nil: not known
}

// NodeMemory is the memory of a data node. Both kinds are taken from one pool:
// what one uses is not in the total of the other.
type NodeMemory struct {
	Data  MemoryUse // rows and ordered indexes
	Index MemoryUse // hash indexes
}

// MemoryUse is how much of a memory is in use, in bytes.
type MemoryUse struct {
	Used, Total int64
	Page        int64 // what it is given out in
}

// ClusterLink is a connection of the road with a data node.
type ClusterLink struct {
	Node   int       // the data node
	State  LinkState // of the node, as far as the connection shows
	Usable bool      // transactions may begin over it
}

// LinkState is how far a data node is, as the road sees it.
type LinkState string

// The states.
const (
	LinkDisconnected LinkState = "disconnected"
	LinkRegistering  LinkState = "registering" // connected, and the node has not told its state
	LinkStarting     LinkState = "starting"
	LinkStarted      LinkState = "started"
	LinkSingleUser   LinkState = "single_user" // only one API node may use the node
	LinkStopping     LinkState = "stopping"
)

// LinkStates are all of them.
func LinkStates() []LinkState {
	return []LinkState{LinkDisconnected, LinkRegistering, LinkStarting, LinkStarted, LinkSingleUser, LinkStopping}
}

var _ Cluster = Unavailable{}

// DescribeCluster returns ErrUnavailable.
func (u Unavailable) DescribeCluster(context.Context) (ClusterStatus, error) {
	return ClusterStatus{}, u.err()
}

// ClusterLinks returns none.
func (u Unavailable) ClusterLinks() []ClusterLink { return nil }
