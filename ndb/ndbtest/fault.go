package ndbtest

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is the faults that tests ask for. What they mean for transactions
// is in takeover.go.

// CutLink closes the connection between an API node and a data node, as a broken
// network does. The data node rolls back what was open over it.
func (c *Cluster) CutLink(apiNode, dataNode int) {
	c.do(func() {
		if l := c.node(dataNode).links[signal.NodeID(apiNode)]; l != nil {
			l.cut()
		}
	})
}

// CutLinks closes all connections of all API nodes.
func (c *Cluster) CutLinks() {
	c.do(func() {
		for _, n := range c.nodes {
			for _, l := range n.links {
				l.cut()
			}
		}
	})
}

// StallLink lets nothing through between an API node and a data node, in either
// direction, until ResumeLink. The connection stays.
func (c *Cluster) StallLink(apiNode, dataNode int) {
	c.do(func() {
		if l := c.node(dataNode).links[signal.NodeID(apiNode)]; l != nil && l.stalled == nil {
			l.stalled = make(chan struct{})
		}
	})
}

// ResumeLink ends a StallLink: what has gathered goes on.
func (c *Cluster) ResumeLink(apiNode, dataNode int) {
	var l *link
	c.do(func() { l = c.node(dataNode).links[signal.NodeID(apiNode)] })
	if l != nil {
		l.unstall()
	}
}

func (l *link) unstall() {
	c := l.node.cluster
	c.do(func() {
		if l.stalled == nil {
			return
		}
		close(l.stalled)
		l.stalled = nil
		c.dirty = append(c.dirty, l)
	})
}

// awaitStall is called by the link's reader.
func (l *link) awaitStall() {
	c := l.node.cluster
	c.mu.Lock()
	stalled := l.stalled
	c.mu.Unlock()
	if stalled != nil {
		select {
		case <-stalled:
		case <-c.life.Done():
		}
	}
}

// StopHeartbeats makes a data node answer no heartbeats of API nodes, until
// ResumeHeartbeats. All else goes on.
func (c *Cluster) StopHeartbeats(dataNode int) { c.do(func() { c.node(dataNode).mute = true }) }

// ResumeHeartbeats ends a StopHeartbeats.
func (c *Cluster) ResumeHeartbeats(dataNode int) { c.do(func() { c.node(dataNode).mute = false }) }

// Step is where a data node dies on its way through a commit.
type Step uint8

// The steps.
const (
	// BeforeCommit: the transaction is not committed.
	BeforeCommit Step = iota + 1
	// AfterCommit: the transaction is committed, and nobody was told.
	AfterCommit
)

// KillNodeAt makes a data node die at the given step of the first commit of a
// write that it coordinates after so many others.
func (c *Cluster) KillNodeAt(node int, step Step, skip int) {
	c.do(func() { c.node(node).death = &death{step: step, skip: skip} })
}

// KillNodeAfter makes a data node die when it has received so many signals more,
// heartbeats included: before it does anything about the last one.
func (c *Cluster) KillNodeAfter(node, signals int) {
	c.do(func() { c.node(node).death = &death{signals: max(signals, 1)} })
}

// death is when a node dies.
type death struct {
	step    Step
	skip    int
	signals int
}

// diesAt tells whether the node has died at that step.
func (n *dataNode) diesAt(step Step) bool {
	d := n.death
	if d == nil || d.step != step {
		return false
	}
	if d.skip--; d.skip >= 0 {
		return false
	}
	n.cluster.die(n)
	return true
}

// diesOfSignal tells whether the node has died instead of receiving a signal.
func (n *dataNode) diesOfSignal() bool {
	d := n.death
	if d == nil || d.signals == 0 {
		return false
	}
	if d.signals--; d.signals > 0 {
		return false
	}
	n.cluster.die(n)
	return true
}

// Match chooses requests. Empty fields match all.
type Match struct {
	// Operation is read, insert, update, delete, write, scan, seize or commit.
	Operation string
	Table     string // without the database
	Node      int    // the data node that coordinates
	APINode   int
	Skip      int // so many pass first
	Times     int // and so many are chosen; 0: all
}

type refusal struct {
	match Match
	code  uint32
}

// Refuse makes data nodes answer the requests that match with an error, until
// remove is called. Operations do nothing then, and what follows for their
// transactions is as for any failure; a commit is refused as a whole.
func (c *Cluster) Refuse(match Match, code int) (remove func()) {
	r := &refusal{match, uint32(code)}
	c.do(func() { c.refusals = append(c.refusals, r) })
	return func() {
		c.do(func() {
			c.refusals = slices.DeleteFunc(c.refusals, func(other *refusal) bool { return other == r })
		})
	}
}

var operationNames = [...]string{
	signal.OpRead: "read", signal.OpUpdate: "update", signal.OpInsert: "insert", signal.OpDelete: "delete",
	signal.OpWrite: "write", signal.OpReadExclusive: "read", 6: "refresh", 7: "unlock",
}

// refusal returns the code with which a request is to be refused, or 0. t may be
// nil.
func (c *Cluster) refusal(l *link, operation string, t *table) uint32 {
	for _, r := range c.refusals {
		m := &r.match
		switch {
		case m.Operation != "" && m.Operation != operation,
			m.Node != 0 && m.Node != int(l.node.id),
			m.APINode != 0 && m.APINode != int(l.api.id),
			m.Table != "" && (t == nil || m.Table != tableName(t)):
			continue
		case m.Skip > 0:
			m.Skip--
			continue
		case m.Times < 0:
			continue // spent
		case m.Times == 1:
			m.Times = -1
		case m.Times > 1:
			m.Times--
		}
		return r.code
	}
	return 0
}

// tableName is the name of a table without its database.
func tableName(t *table) string {
	_, name, err := dictinfo.SplitTableName(t.desc.Name)
	if err != nil {
		return t.desc.Name
	}
	return name
}

// EnterSingleUser gives the cluster to one API node: others get 299. It lasts
// until ExitSingleUser.
func (c *Cluster) EnterSingleUser(apiNode int) {
	c.do(func() {
		c.singleUser = c.apis[signal.NodeID(apiNode)]
		if c.singleUser == nil {
			panic(fmt.Sprintf("ndbtest: no API node %d", apiNode))
		}
		for _, n := range c.liveNodes() {
			n.setLevel(signal.StartLevelSingleUser)
		}
	})
}

// ExitSingleUser ends the single user mode.
func (c *Cluster) ExitSingleUser() {
	c.do(func() {
		c.singleUser = nil
		for _, n := range c.liveNodes() {
			n.setLevel(signal.StartLevelStarted)
		}
	})
}
