package mgm

import (
	"fmt"
	"slices"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Config is what a client needs to know of the cluster's configuration.
type Config struct {
	SystemName string
	Nodes      []Node
	Links      []Link // of the node that asked, as far as they are TCP
}

// NodeType says what a node is; the numbers are those of a request for a node
// ID.
type NodeType uint8

// The node types.
const (
	TypeData NodeType = 0
	TypeAPI  NodeType = 1
	TypeMGM  NodeType = 2
)

var nodeTypeNames = []string{TypeData: "NDB", TypeAPI: "API", TypeMGM: "MGM"}

// String names the type as the status reply does.
func (t NodeType) String() string {
	if int(t) < len(nodeTypeNames) {
		return nodeTypeNames[t]
	}
	return fmt.Sprintf("NodeType(%d)", uint8(t))
}

func parseNodeType(name string) (NodeType, error) {
	i := slices.Index(nodeTypeNames, name)
	if i < 0 {
		return 0, fmt.Errorf("%w: node type %q", ErrProtocol, name)
	}
	return NodeType(i), nil
}

// Node is a node of the configuration.
type Node struct {
	ID   signal.NodeID
	Type NodeType
	Host string // empty: any

	ArbitrationRank int // of API and management nodes

	DataNode DataNodeConfig // of data nodes
	API      APINodeConfig  // of API nodes
	Port     int            // of management servers
}

// DataNodeConfig are the settings of a data node that its API nodes notice.
type DataNodeConfig struct {
	HeartbeatInterval              time.Duration // of API nodes
	TransactionInactiveTimeout     time.Duration // 0: never
	TransactionDeadlockDetection   time.Duration
	MaxConcurrentOperations        uint32 // of a coordinator
	MaxDMLOperationsPerTransaction uint32
}

// APINodeConfig are the settings of an API node.
type APINodeConfig struct {
	ScanBatchRows     uint32 // of one fragment
	ScanBatchBytes    uint32
	MaxScanBatchBytes uint32 // of all fragments together
	ConnectBackoffMax time.Duration
}

// Link is a connection between two nodes. Where one is a data node and the other
// is not, the second is the data node.
type Link struct {
	Node1, Node2 signal.NodeID
	Host1, Host2 string
	Port         int // of the second node; 0 or less: dynamic
	SignalID     bool
	Checksum     bool
	RequireTLS   bool

	SendBufferBytes, ReceiveBufferBytes uint32
}

// Connection is a link as the node at one end of it sees it.
type Connection struct {
	Peer       signal.NodeID
	Host       string
	Port       int // 0 or less: dynamic, ask with ServerPort
	SignalID   bool
	Checksum   bool
	RequireTLS bool

	SendBufferBytes, ReceiveBufferBytes uint32
}

// ConnectionsOf returns the connections between a node and the data nodes. They
// are there only for the node that asked for the configuration.
func (c *Config) ConnectionsOf(id signal.NodeID) []Connection {
	var connections []Connection
	for _, l := range c.Links {
		peer, host := l.Node2, l.Host2
		switch id {
		case l.Node1:
		case l.Node2:
			peer, host = l.Node1, l.Host1
		default:
			continue
		}
		node, ok := c.Node(peer)
		if !ok || node.Type != TypeData {
			continue
		}
		if host == "" {
			host = node.Host
		}
		connections = append(connections, Connection{
			Peer: peer, Host: host, Port: l.Port, SignalID: l.SignalID, Checksum: l.Checksum, RequireTLS: l.RequireTLS,
			SendBufferBytes: l.SendBufferBytes, ReceiveBufferBytes: l.ReceiveBufferBytes,
		})
	}
	return connections
}

// Node returns a node by its ID.
func (c *Config) Node(id signal.NodeID) (Node, bool) {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.ID == id })
	if i < 0 {
		return Node{}, false
	}
	return c.Nodes[i], true
}

// ArbitrationRank is above 0 where the data nodes may ask the node to
// arbitrate.
func (c *Config) ArbitrationRank(id signal.NodeID) int {
	node, _ := c.Node(id)
	return node.ArbitrationRank
}
