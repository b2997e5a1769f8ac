package ndbtest

import (
	"slices"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is QMGR, which knows the other nodes:
//
//   - API_REGREQ is answered with API_REGCONF, or API_REGREF for a version that
//     is too old; the first answer opens the other blocks;
//   - an API node that sends none for more than four intervals is dropped;
//   - a node that becomes started, or changes its level in another way, sends
//     API_REGCONF by itself.

const (
	ndbVersion      = 0x090702
	oldestAPI       = 0x070400
	missedIntervals = 4
)

func (l *link) onAPIRegReq(m *signal.Message) {
	var req signal.APIRegReq
	if err := req.Decode(m); err != nil {
		l.malformed(m, err)
		return
	}
	l.missed, l.heard = 0, time.Now()
	switch {
	case l.node.mute:
	case req.Version < oldestAPI:
		l.send(signal.BlockQMGR, signal.BlockCluster, &signal.APIRegRef{
			Ref: signal.NewBlockRef(signal.BlockQMGR, l.node.id), Version: ndbVersion,
			Error: signal.RegErrorVersion, MySQLVersion: ndbVersion,
		})
	default:
		l.registered = true
		l.sendRegConf()
	}
}

func (l *link) sendRegConf() {
	n := l.node
	c := n.cluster
	conf := signal.APIRegConf{
		QMGR:          signal.NewBlockRef(signal.BlockQMGR, n.id),
		Version:       ndbVersion,
		Heartbeat:     c.opt.heartbeat.Truncate(heartbeatUnit),
		MySQLVersion:  ndbVersion,
		MinDBVersion:  ndbVersion,
		StartLevel:    n.level,
		NodeGroup:     uint32(n.group),
		DynamicID:     uint32(n.dynamicID),
		Connected:     n.connected(),
		MinAPIVersion: ndbVersion,
	}
	if c.singleUser != nil {
		conf.SingleUser, conf.SingleUserAPI = true, c.singleUser.id
	}
	l.send(signal.BlockQMGR, signal.BlockCluster, &conf)
}

const heartbeatUnit = 10 * time.Millisecond

func (n *dataNode) connected() signal.NodeSet {
	set := signal.NewNodeSet(mgmNode)
	for _, other := range n.cluster.nodes {
		if other.alive() {
			set.Add(other.id)
		}
	}
	for id := range n.links {
		set.Add(id)
	}
	return set
}

// firstDynamicID is that of the node with which the cluster begins. The others
// count on from 2.
const firstDynamicID = -1

// nextDynamicID is for a data node that joins. The lowest one is the master.
func (c *Cluster) nextDynamicID() int {
	if !slices.ContainsFunc(c.nodes, (*dataNode).alive) {
		c.joined = 1
		return firstDynamicID
	}
	c.joined++
	return c.joined
}

// isMaster tells whether the node leads the others.
func (n *dataNode) isMaster() bool {
	return n.alive() && !slices.ContainsFunc(n.cluster.nodes, func(other *dataNode) bool {
		return other.alive() && other.dynamicID < n.dynamicID
	})
}

// setLevel changes the start level and tells all API nodes.
func (n *dataNode) setLevel(level signal.StartLevel) {
	n.level = level
	for _, l := range n.links {
		if l.registered && !n.mute {
			l.sendRegConf()
		}
	}
}

// countHeartbeats is called once in an interval.
func (c *Cluster) countHeartbeats() {
	for _, n := range c.nodes {
		for _, l := range n.links {
			l.missed++
			if l.registered && l.missed > missedIntervals {
				c.eject(l.api) // it missed them everywhere
			}
		}
	}
}
