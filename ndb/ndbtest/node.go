package ndbtest

import (
	"context"
	"net"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// dataNode is one data node, through all its lives. What is not said to be fixed
// is guarded by Cluster.mu.
type dataNode struct {
	cluster *Cluster      // fixed
	id      signal.NodeID // fixed
	group   int           // fixed

	level       signal.StartLevel
	dynamicID   int  // grows with each node that joins
	expectsAPIs bool // takes links
	listener    net.Listener
	port        int
	stop        context.CancelFunc // ends the life
	life        context.Context
	links       map[signal.NodeID]*link // by API node
	mute        bool                    // answers no heartbeats
	restarts    bool                    // when it has stopped
	blocked     bool                    // its failure is still being handled

	instances [tcInstances]tcInstance
	lastTC    int // instance that gave the last record
	waiters   []gcpWaiter
	scans     int
	death     *death // that a test has planned
}

func newDataNode(c *Cluster, id signal.NodeID, group int) *dataNode {
	return &dataNode{cluster: c, id: id, group: group, links: map[signal.NodeID]*link{}}
}

// open begins a life: the node listens.
func (n *dataNode) open(level signal.StartLevel) error {
	c := n.cluster
	port := dynamicPorts
	if c.opt.serverPort != 0 {
		port = c.opt.serverPort + int(n.id) - firstDataNode
	}
	listener, err := c.network.listen(c.opt.host, port)
	if err != nil {
		return err
	}
	n.dynamicID = c.nextDynamicID()
	n.listener, n.port = listener, portOf(listener.Addr().String())
	n.life, n.stop = context.WithCancel(c.life)
	n.level, n.expectsAPIs, n.mute, n.death = level, true, false, nil
	n.instances = [tcInstances]tcInstance{}
	for i := range n.instances {
		n.instances[i] = tcInstance{node: n, number: i + 1, records: map[uint32]*tcRecord{}}
	}
	life := n.life
	c.running.Go(func() { n.accept(life, listener) }) // ends when the listener is closed
	return nil
}

// alive tells whether the node's process runs.
func (n *dataNode) alive() bool { return n.listener != nil }

// started tells whether the node takes part in the cluster.
func (n *dataNode) started() bool { return n.alive() && n.level >= signal.StartLevelStarted }

// shut ends the life without a word.
func (n *dataNode) shut() {
	if !n.alive() {
		return
	}
	if n.isMaster() {
		defer n.cluster.masterLost()
	}
	n.stop()
	_ = n.listener.Close()
	n.listener, n.port, n.level = nil, 0, signal.StartLevelNothing
	for _, l := range n.links {
		l.cut()
	}
}

// accept receives API nodes until the listener is closed.
func (n *dataNode) accept(life context.Context, listener net.Listener) {
	c := n.cluster
	for {
		nc, err := listener.Accept()
		if err != nil {
			return
		}
		c.running.Go(func() { n.serve(life, nc) }) // ends with the connection, which ends with the life
	}
}

// serve is the life of one connection.
func (n *dataNode) serve(life context.Context, nc net.Conn) {
	c := n.cluster
	var arriving *apiNode // counted in
	l := transporter.Listener{
		Config:     transporter.Config{Own: n.id, Format: c.opt.format, MaxQueueBytes: maxQueueBytes},
		RequireTLS: c.opt.requireTLS,
		Admit: func(api signal.NodeID) (admission transporter.Admission) {
			c.do(func() { admission, arriving = n.admit(life, api) })
			return admission
		},
	}
	conn, err := l.Accept(life, nc)
	var arrived *link
	c.do(func() {
		if arriving != nil {
			arriving.arriving--
			arriving.release()
		}
		if err == nil && life.Err() == nil {
			arrived = n.attach(arriving, conn)
		}
	})
	if err != nil {
		return
	}
	if arrived == nil {
		conn.Close()
		return
	}
	conn.Start(arrived.receive)
	<-conn.Done()
	c.do(arrived.ended)
}

// maxQueueBytes is how much may wait for an API node that does not read.
const maxQueueBytes = 64 << 20

// admit decides about an API node that says hello. It counts those it admits.
func (n *dataNode) admit(life context.Context, id signal.NodeID) (transporter.Admission, *apiNode) {
	api := n.cluster.apis[id]
	switch {
	case life.Err() != nil || api == nil:
		return transporter.Refuse, nil
	case !n.expectsAPIs || api.links[n.id] != nil || api.closing > 0:
		return transporter.NotNow, nil
	}
	api.arriving++
	return transporter.Admit, api
}

func (n *dataNode) attach(api *apiNode, conn *transporter.ServerConn) *link {
	if api.links[n.id] != nil {
		return nil // two came at once
	}
	l := &link{node: n, api: api, conn: conn, records: map[tcPointer]*tcRecord{}}
	api.links[n.id], n.links[api.id] = l, l
	return l
}
