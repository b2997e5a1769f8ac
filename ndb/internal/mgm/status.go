package mgm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// The states of a node, as a management server sees it. It does not see API
// nodes that have no link with it: they have no contact.
const (
	StatusNoContact    = "NO_CONTACT"
	StatusNotStarted   = "NOT_STARTED"
	StatusStarting     = "STARTING"
	StatusStarted      = "STARTED"
	StatusShuttingDown = "SHUTTING_DOWN"
	StatusRestarting   = "RESTARTING"
	StatusSingleUser   = "SINGLEUSER MODE"
	StatusConnected    = "CONNECTED"
)

// NodeStatus is what a management server knows about a node.
type NodeStatus struct {
	ID           signal.NodeID
	Type         NodeType
	Status       string // one of the states above
	Version      Version
	MySQLVersion Version
	StartPhase   int
	DynamicID    int // -1: the president of the data nodes
	NodeGroup    int
	ConnectCount int
	Address      string // 0.0.0.0 where it is not known
}

// Status asks for all nodes. They come in the server's order: data nodes first.
func (s *Session) Status(ctx context.Context) ([]NodeStatus, error) {
	fields, err := s.call(ctx, CommandStatus, headerStatus, Fields{{"types", "NDB MGM API"}}, nil)
	if err != nil {
		return nil, err
	}
	return parseStatus(fields)
}

func parseStatus(fields Fields) ([]NodeStatus, error) {
	count, err := fields.Int("nodes", 0, maxNodeID)
	if err != nil {
		return nil, err
	}
	var nodes []NodeStatus
	for _, f := range fields {
		rest, ok := strings.CutPrefix(f.Name, "node.")
		if !ok {
			continue
		}
		number, name, _ := strings.Cut(rest, ".")
		id, err := parseNodeID(number)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		i := slices.IndexFunc(nodes, func(n NodeStatus) bool { return n.ID == id })
		if i < 0 {
			i = len(nodes)
			nodes = append(nodes, NodeStatus{ID: id})
		}
		if err := nodes[i].set(name, f.Value); err != nil {
			return nil, fmt.Errorf("%w: %s is %q", ErrProtocol, f.Name, f.Value)
		}
	}
	if len(nodes) != count {
		return nil, fmt.Errorf("%w: %d nodes instead of %d", ErrProtocol, len(nodes), count)
	}
	return nodes, nil
}

// set takes one field. Names that later versions add are passed over.
func (n *NodeStatus) set(name, value string) (err error) {
	switch name {
	case "type":
		n.Type, err = parseNodeType(value)
	case "status":
		n.Status = value
	case "version":
		n.Version, err = parseVersion(value)
	case "mysql_version":
		n.MySQLVersion, err = parseVersion(value)
	case "startphase":
		n.StartPhase, err = strconv.Atoi(value)
	case "dynamic_id":
		n.DynamicID, err = strconv.Atoi(value)
	case "node_group":
		n.NodeGroup, err = strconv.Atoi(value)
	case "connect_count":
		n.ConnectCount, err = strconv.Atoi(value)
	case "address":
		n.Address = value
	}
	return err
}

func parseVersion(value string) (Version, error) {
	v, err := strconv.ParseUint(value, 10, 32)
	return Version(v), err
}

// StatusReply answers CommandStatus.
func StatusReply(nodes []NodeStatus) *Reply {
	r := &Reply{Header: headerStatus, Fields: Fields{{"nodes", strconv.Itoa(len(nodes))}}}
	for _, n := range nodes {
		for _, f := range (Fields{
			{"type", n.Type.String()},
			{"status", n.Status},
			{"version", strconv.Itoa(int(n.Version))},
			{"mysql_version", strconv.Itoa(int(n.MySQLVersion))},
			{"startphase", strconv.Itoa(n.StartPhase)},
			{"dynamic_id", strconv.Itoa(n.DynamicID)},
			{"node_group", strconv.Itoa(n.NodeGroup)},
			{"connect_count", strconv.Itoa(n.ConnectCount)},
			{"address", n.Address},
		}) {
			r.Fields = append(r.Fields, Field{fmt.Sprintf("node.%d.%s", n.ID, f.Name), f.Value})
		}
	}
	return r
}
