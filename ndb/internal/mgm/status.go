package mgm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// The states of a node, as a management server sees it. Of API nodes it knows by
// the data nodes whether they are connected.
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
	DynamicID    int // of data nodes, in the order in which they joined: -1, 2, 3…; 0 for one that has not
	NodeGroup    int
	ConnectCount int
	Address      string // empty or 0.0.0.0 where it is not known
}

// Status asks for all nodes of the types, or of all types where none is given.
// They come in the server's order: data nodes first. Of data nodes it knows by
// itself. For management servers it asks one data node, another one each time,
// and for API nodes all of them, and waits for those that hang.
func (s *Session) Status(ctx context.Context, types ...NodeType) ([]NodeStatus, error) {
	if len(types) == 0 {
		types = []NodeType{TypeData, TypeMGM, TypeAPI}
	}
	var names []string
	for _, t := range types {
		names = append(names, t.String())
	}
	fields, err := s.call(ctx, CommandStatus, headerStatus, Fields{{"types", strings.Join(names, " ")}}, nil)
	if err != nil {
		return nil, err
	}
	return parseStatus(fields)
}

// WantsType tells whether CommandStatus asks for nodes of that type.
func (r *Request) WantsType(t NodeType) bool {
	types := strings.Fields(r.Fields.Get("types"))
	return len(types) == 0 || slices.Contains(types, t.String())
}

func parseStatus(fields Fields) ([]NodeStatus, error) {
	count, err := fields.Int("nodes", 0, maxNodeID)
	if err != nil {
		return nil, err
	}
	var nodes []NodeStatus
	typed := 0 // nodes whose type is told
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
		if name == "type" {
			typed++
		}
	}
	stateless := slices.ContainsFunc(nodes, func(n NodeStatus) bool { return n.Status == "" })
	if len(nodes) != count || typed != count || stateless {
		return nil, fmt.Errorf("%w: %d nodes, %d with a type, instead of %d", ErrProtocol, len(nodes), typed, count)
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
