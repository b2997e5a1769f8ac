package ndb

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// NodeState is how far a data node is, as far as a client can see.
type NodeState uint8

// The states.
const (
	NodeDisconnected NodeState = iota // no connection
	NodeRegistering                   // connected, and has not yet told its state
	NodeStarting
	NodeStarted
	NodeSingleUser // only one API node may use it
	NodeStopping   // takes no new transactions
)

var nodeStateNames = [...]string{
	NodeDisconnected: "disconnected", NodeRegistering: "registering", NodeStarting: "starting",
	NodeStarted: "started", NodeSingleUser: "single user", NodeStopping: "stopping",
}

// String names the state.
func (s NodeState) String() string {
	if int(s) < len(nodeStateNames) {
		return nodeStateNames[s]
	}
	return fmt.Sprintf("NodeState(%d)", uint8(s))
}

// NodeInfo is what one API node of the client knows of one data node.
type NodeInfo struct {
	ID        int
	APINode   int    // the client's own node ID
	NodeGroup int    // -1 where it is not known yet, or the node belongs to none
	Version   string // as in "9.7.2"; empty where it is not known yet
	State     NodeState
	Usable    bool      // transactions may begin there
	Since     time.Time // of the connection; zero where there is none
	Address   string    // where it was last dialled; empty before
	LastError error     // why there is no connection; nil while there is one
}

// setInfo changes what is told about the node, and tells it.
func (n *dataNode) setInfo(change func(*NodeInfo)) {
	n.mu.Lock()
	before := n.info
	change(&n.info)
	after := n.info
	n.mu.Unlock()
	if after.State == before.State && after.Usable == before.Usable {
		if after.LastError != nil {
			n.member.client.changed.notify() // Connect may wait for a refusal
		}
		return
	}
	c := n.member.client
	attributes := []any{"node", after.ID, "api_node", after.APINode, "state", after.State.String(), "usable", after.Usable}
	if after.LastError != nil {
		attributes = append(attributes, "error", after.LastError.Error())
	}
	level := slog.LevelInfo
	if before.Usable {
		level = slog.LevelWarn
	}
	c.cfg.Logger.Log(c.life, level, "data node", attributes...)
	if c.cfg.Trace.NodeChanged != nil {
		c.cfg.Trace.NodeChanged(after)
	}
	c.changed.notify()
}

func (n *dataNode) snapshot() NodeInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.info
}

func stateOf(level signal.StartLevel) NodeState {
	switch level {
	case signal.StartLevelStarted:
		return NodeStarted
	case signal.StartLevelSingleUser:
		return NodeSingleUser
	case signal.StartLevelStopping1, signal.StartLevelStopping2, signal.StartLevelStopping3, signal.StartLevelStopping4:
		return NodeStopping
	default:
		return NodeStarting
	}
}

const maxNodeGroup = 1 << 15 // numbers above stand for none

func nodeGroup(word uint32) int {
	if word >= maxNodeGroup {
		return -1
	}
	return int(word)
}

func versionString(v uint32) string { return mgm.Version(v).String() }
