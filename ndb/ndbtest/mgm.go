package ndbtest

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is the management server:
//
//   - get version, get mgmd nodeid, check connection, get status, end session;
//   - dump events tells how much memory the data nodes use, and knows no other
//     events;
//   - get nodeid reserves an ID until its node comes, or for reservationTimeout;
//     1101 while it is taken or its last link was closed a moment ago, and while
//     no data node is started; 1102 for one that is not in the configuration;
//   - get config_v2 hands out the configuration of an API node;
//   - get connection parameter tells the port of a data node, where it is dynamic;
//   - anything else is unknown.

// reservationTimeout is how long an allocated node ID without a link stays taken,
// where the request does not say.
const reservationTimeout = 20 * time.Second

// mgmServer is the management server. What is not said to be fixed is guarded by
// Cluster.mu.
type mgmServer struct {
	cluster  *Cluster // fixed
	address  string   // fixed
	listener net.Listener
	sessions map[net.Conn]bool
	stalled  chan struct{} // nil: it answers
}

func newMgmServer(c *Cluster) (*mgmServer, error) {
	s := &mgmServer{cluster: c}
	return s, s.open(c.opt.mgmPort)
}

func (s *mgmServer) open(port int) error {
	listener, err := s.cluster.network.listen(s.cluster.opt.host, port)
	if err != nil {
		return err
	}
	s.listener, s.sessions = listener, map[net.Conn]bool{}
	if s.address == "" {
		s.address = listener.Addr().String()
	}
	s.cluster.running.Go(func() { s.accept(listener) }) // ends when the listener is closed
	return nil
}

func (s *mgmServer) close() {
	if s.listener == nil {
		return
	}
	_ = s.listener.Close()
	s.listener = nil
	for nc := range s.sessions {
		_ = nc.Close()
	}
}

// StopManagement stops the management server, until StartManagement. Running
// nodes do not need it.
func (c *Cluster) StopManagement() { c.do(func() { c.mgm.close() }) }

// StartManagement starts the management server again, at its old address.
func (c *Cluster) StartManagement() (err error) {
	c.do(func() {
		if c.mgm.listener == nil {
			err = c.mgm.open(portOf(c.mgm.address))
		}
	})
	return err
}

// StallManagement makes the management server take connections and requests, and
// answer none, until ResumeManagement.
func (c *Cluster) StallManagement() {
	c.do(func() {
		if c.mgm.stalled == nil {
			c.mgm.stalled = make(chan struct{})
		}
	})
}

// ResumeManagement ends a StallManagement: what has gathered is answered.
func (c *Cluster) ResumeManagement() {
	c.do(func() {
		if c.mgm.stalled != nil {
			close(c.mgm.stalled)
			c.mgm.stalled = nil
		}
	})
}

func (s *mgmServer) awaitStall() {
	var stalled chan struct{}
	s.cluster.do(func() { stalled = s.stalled })
	if stalled != nil {
		select {
		case <-stalled:
		case <-s.cluster.life.Done():
		}
	}
}

func (s *mgmServer) accept(listener net.Listener) {
	for {
		nc, err := listener.Accept()
		if err != nil {
			return
		}
		s.cluster.running.Go(func() { s.serve(listener, nc) }) // ends when the connection is closed
	}
}

// serve is one session.
func (s *mgmServer) serve(listener net.Listener, nc net.Conn) {
	open := false
	s.cluster.do(func() {
		if open = s.listener == listener; open {
			s.sessions[nc] = true
		}
	})
	if !open {
		_ = nc.Close()
		return
	}
	_ = mgm.Serve(s.cluster.life, nc, s.answer) // what a client does wrong here does no harm
	s.cluster.do(func() { delete(s.sessions, nc) })
}

// answer is nil for commands that are not known.
func (s *mgmServer) answer(r *mgm.Request) (reply *mgm.Reply) {
	s.awaitStall()
	switch r.Command {
	case mgm.CommandVersion:
		return mgm.VersionReply(mgm.ThisVersion)
	case "get mgmd nodeid":
		return &mgm.Reply{Header: "get mgmd nodeid reply", Fields: mgm.Fields{{Name: "nodeid", Value: strconv.Itoa(mgmNode)}}}
	case "check connection":
		return &mgm.Reply{Header: "check connection reply", Fields: mgm.Fields{{Name: "result", Value: "Ok"}}}
	case "end session":
		return &mgm.Reply{Header: "end session reply"}
	}
	s.cluster.do(func() { reply = s.answerFromState(r) })
	return reply
}

func (s *mgmServer) answerFromState(r *mgm.Request) *mgm.Reply {
	switch r.Command {
	case mgm.CommandNodeID:
		return s.cluster.allocate(r)
	case mgm.CommandConfig:
		return s.config(r)
	case mgm.CommandServerPort:
		return s.serverPort(r)
	case mgm.CommandStatus:
		return mgm.StatusReply(s.status(r))
	case mgm.CommandEvents:
		if !r.WantsMemoryUse() {
			return mgm.EventsRefusal(fmt.Sprintf("ndb_logevent_type %s not supported", r.Fields.Get("type")))
		}
		return mgm.MemoryReply(s.cluster.memoryUse())
	}
	return nil
}

// allocate reserves an ID: the wanted one, or for 0 any.
func (c *Cluster) allocate(r *mgm.Request) *mgm.Reply {
	refuse := func(code int, format string, args ...any) *mgm.Reply {
		return mgm.NodeIDRefusal(&mgm.Error{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	wanted, _, err := r.WantedNodeID()
	if err != nil {
		return refuse(mgm.CodeNotConfigured, "%v", err)
	}
	if len(c.liveNodes()) == 0 {
		return refuse(mgm.CodeNotNow, "Cluster not ready for nodeid allocation.")
	}
	if wanted == 0 {
		i := slices.IndexFunc(c.opt.apiNodes, func(id signal.NodeID) bool { return c.apis[id].free() })
		if i < 0 {
			return refuse(mgm.CodeNotNow, "No free node id found for mysqld(API).")
		}
		wanted = c.opt.apiNodes[i]
	}
	api := c.apis[wanted]
	switch {
	case api == nil:
		return refuse(mgm.CodeNotConfigured, "No node defined with id=%d in config file.", wanted)
	case !api.free():
		return refuse(mgm.CodeNotNow, "Id %d already allocated by another node.", wanted)
	}
	keep := reservationTimeout
	if seconds, err := r.Fields.Int("timeout", 1, 1<<20); err == nil {
		keep = time.Duration(seconds) * time.Second
	}
	api.reserved = c.after(keep, func() { api.reserved = nil })
	return mgm.NodeIDReply(wanted)
}

func (api *apiNode) free() bool {
	return api.reserved == nil && len(api.links) == 0 && api.arriving == 0 && api.closing == 0
}

// release ends the reservation: the node is there.
func (api *apiNode) release() {
	if api.reserved != nil {
		api.reserved.stop()
		api.reserved = nil
	}
}

func (s *mgmServer) config(r *mgm.Request) *mgm.Reply {
	id, err := r.ConfigNodeID()
	if err != nil || !slices.Contains(s.cluster.opt.apiNodes, id) {
		return &mgm.Reply{Header: "get config reply", Fields: mgm.Fields{{Name: "result", Value: "No such node"}}}
	}
	return mgm.ConfigReply(s.cluster.opt.config(id, s.address).Blob())
}

// config is the configuration with the connections of an API node.
func (o *options) config(api signal.NodeID, address string) *mgm.Config {
	c := &mgm.Config{
		SystemName: "MC_ndbtest",
		Nodes:      []mgm.Node{{ID: mgmNode, Type: mgm.TypeMGM, Host: o.host, ArbitrationRank: 1, Port: portOf(address)}},
	}
	for i := range o.dataNodes {
		c.Nodes = append(c.Nodes, mgm.Node{
			ID: signal.NodeID(firstDataNode + i), Type: mgm.TypeData, Host: o.host,
			DataNode: mgm.DataNodeConfig{
				HeartbeatInterval: o.heartbeat, TransactionInactiveTimeout: o.inactive,
				TransactionDeadlockDetection: o.lockWait, MaxConcurrentOperations: uint32(o.maxOperations),
			},
		})
	}
	for _, id := range o.apiNodes {
		c.Nodes = append(c.Nodes, mgm.Node{ID: id, Type: mgm.TypeAPI})
	}
	for i := range o.dataNodes {
		port := dynamicPorts
		if o.serverPort != 0 {
			port = o.serverPort + i
		}
		c.Links = append(c.Links, mgm.Link{
			Node1: api, Node2: signal.NodeID(firstDataNode + i), Host2: o.host, Port: port,
			SignalID: o.format.SignalID, Checksum: o.format.Checksum, RequireTLS: o.requireTLS,
		})
	}
	return c
}

func (s *mgmServer) serverPort(r *mgm.Request) *mgm.Reply {
	c := s.cluster
	own, id, err := r.PortNodeIDs()
	i := slices.IndexFunc(c.nodes, func(n *dataNode) bool { return n.id == id })
	switch {
	case err != nil || i < 0 || c.apis[own] == nil:
		return mgm.PortRefusal(fmt.Sprintf("Unable to find connection between nodes %d -> %d", own, id))
	case c.opt.serverPort != 0:
		return mgm.PortRefusal(fmt.Sprintf("Server port for %d -> %d is not marked as dynamic, value: %d", own, id, c.opt.serverPort+i))
	}
	return mgm.PortReply(c.nodes[i].port)
}

// status is what the server sees of the nodes of the wanted types.
func (s *mgmServer) status(r *mgm.Request) []mgm.NodeStatus {
	c := s.cluster
	var all []mgm.NodeStatus
	add := func(n mgm.NodeStatus) {
		if !r.WantsType(n.Type) {
			return
		}
		if n.Status != mgm.StatusNoContact {
			n.Version, n.MySQLVersion, n.Address = mgm.ThisVersion, mgm.ThisVersion, c.opt.host
		}
		all = append(all, n)
	}
	for _, n := range c.nodes {
		seen := mgm.NodeStatus{ID: n.id, Type: mgm.TypeData, Status: n.status(), NodeGroup: n.group}
		if n.alive() {
			seen.DynamicID = n.dynamicID
		}
		add(seen)
	}
	add(mgm.NodeStatus{ID: mgmNode, Type: mgm.TypeMGM, Status: mgm.StatusConnected})
	for _, id := range c.opt.apiNodes {
		seen := mgm.NodeStatus{ID: id, Type: mgm.TypeAPI, Status: mgm.StatusNoContact, Address: "0.0.0.0"}
		if len(c.apis[id].links) > 0 {
			seen.Status = mgm.StatusConnected
		}
		add(seen)
	}
	return all
}

func (n *dataNode) status() string {
	switch {
	case !n.alive():
		return mgm.StatusNoContact
	case n.level <= signal.StartLevelCMVMI:
		return mgm.StatusNotStarted
	case n.level == signal.StartLevelStarting:
		return mgm.StatusStarting
	case n.level == signal.StartLevelStarted:
		return mgm.StatusStarted
	case n.level == signal.StartLevelSingleUser:
		return mgm.StatusSingleUser
	}
	return mgm.StatusShuttingDown
}

// portOf is 0 for an address without a port.
func portOf(address string) int {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}
