package ndbtest

import (
	"slices"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is the life and death of data nodes:
//
//   - when one dies, its links are cut; the others tell their API nodes with
//     NODE_FAILREP, abort the transactions that it took part in (286), and the
//     one that takes over decides those that it coordinated: TCKEY_FAILCONF for
//     the ones that were committed and not acknowledged, TCKEY_FAILREF for the
//     rest; then come TAKE_OVERTCCONF and NF_COMPLETEREP;
//   - transactions that have locked nothing are not known to anybody else: they
//     have no TCKEY_FAILREF;
//   - it takes no links before all that is over; then it starts and says so with
//     API_REGCONF;
//   - one that is stopped goes through the levels 5 (280 for what is new), 6 (280
//     for what is open), 7 and 8 first;
//   - where a node group has no node left, the cluster is lost: nobody says
//     anything, and commits of the checkpoint that was open are gone.

const codeNodeFailed = 286

// failoverDelay is the time between the steps in which the other nodes handle the
// death of a data node.
const failoverDelay = 5 * time.Millisecond

// KillNode makes a data node die at once. The others handle that in steps that
// are failoverDelay apart.
func (c *Cluster) KillNode(id int) { c.do(func() { c.die(c.node(id)) }) }

// KillAll makes all data nodes die at once. Commits since the last global
// checkpoint are lost.
func (c *Cluster) KillAll() { c.do(c.dieAll) }

func (c *Cluster) die(n *dataNode) {
	if !n.alive() {
		return
	}
	took := n.started()
	orphans := c.orphansOf(n)
	n.shut()
	for i := range n.instances {
		for _, rec := range n.instances[i].records {
			rec.drop()
		}
	}
	if !took {
		return
	}
	if !c.groupLives(n.group) {
		c.dieAll()
		return
	}
	c.failures++
	n.blocked = true
	c.handleFailure(n, orphans)
}

func (c *Cluster) dieAll() {
	c.losses++
	for _, n := range c.nodes {
		for i := range n.instances {
			for _, rec := range n.instances[i].records {
				rec.drop()
			}
		}
		n.shut()
		n.blocked = false
	}
	for tx := range c.locals {
		tx.txn.kill(codeClusterFailure)
	}
	clear(c.markers)
	c.loseOpenCheckpoint()
}

func (c *Cluster) groupLives(group int) bool {
	return slices.ContainsFunc(c.nodes, func(n *dataNode) bool { return n.group == group && n.started() })
}

// orphan is a transaction whose coordinator has died.
type orphan struct {
	id        signal.TransID
	api       *apiNode
	apiBlock  signal.Block
	opPointer uint32
	marker    *marker // nil: it was aborted
}

// orphansOf decides the transactions that n coordinates, and takes them away
// from it.
func (c *Cluster) orphansOf(n *dataNode) []orphan {
	var all []orphan
	for i := range n.instances {
		for _, rec := range n.instances[i].records {
			if tx := rec.tx; tx != nil && (tx.locks || len(tx.locked) > 0) {
				all = append(all, orphan{tx.id, rec.link.api, rec.apiBlock, tx.anyPointer, nil})
			}
		}
	}
	for _, mk := range c.markers {
		if mk.node == n {
			mk.node, mk.rec = nil, nil // until another node takes over
			all = append(all, orphan{mk.id, mk.api, mk.apiBlock, mk.opPointer, mk})
		}
	}
	return all
}

// handleFailure is what the living nodes do about n, in steps.
func (c *Cluster) handleFailure(n *dataNode, orphans []orphan) {
	steps := []func(){
		func() { c.reportFailure(n) },
		func() { c.abortParticipants(n) },
		func() { c.decide(orphans) },
		func() {
			c.tellAll(signal.BlockQMGR, func(other *dataNode) signal.Incoming {
				return &signal.TakeOverTCConf{Failed: n.id, Ref: signal.NewBlockRef(signal.BlockQMGR, other.id)}
			})
		},
		func() {
			n.blocked = false
			c.tellAll(signal.BlockQMGR, func(other *dataNode) signal.Incoming {
				return &signal.NFCompleteRep{Block: signal.NewBlockRef(signal.BlockQMGR, 0), Reporting: other.id, Failed: n.id}
			})
		},
	}
	c.inSteps(failoverDelay, steps)
}

// inSteps runs the steps one after another, with a delay before each, unless the
// cluster is lost meanwhile.
func (c *Cluster) inSteps(delay time.Duration, steps []func()) {
	if len(steps) == 0 {
		return
	}
	losses := c.losses
	c.after(delay, func() {
		if c.losses == losses {
			steps[0]()
			c.inSteps(delay, steps[1:])
		}
	})
}

func (c *Cluster) reportFailure(n *dataNode) {
	live := c.liveNodes()
	c.tellAll(signal.BlockQMGR, func(*dataNode) signal.Incoming {
		return &signal.NodeFailRep{FailureNumber: c.failures, Master: live[0].id, Failed: signal.NewNodeSet(n.id)}
	})
}

// tellAll makes each living node send its API nodes a signal.
func (c *Cluster) tellAll(sender signal.Block, s func(*dataNode) signal.Incoming) {
	for _, n := range c.liveNodes() {
		for _, l := range n.links {
			if l.registered {
				l.send(sender, signal.BlockCluster, s(n))
			}
		}
	}
}

// abortParticipants aborts the transactions that a dead node took part in.
func (c *Cluster) abortParticipants(n *dataNode) {
	for _, other := range c.liveNodes() {
		for i := range other.instances {
			for _, rec := range other.instances[i].records {
				if rec.tx != nil && rec.tx.nodes[n] {
					rec.tx.abortWith(codeNodeFailed, 0)
				}
				if rec.scan != nil {
					rec.scan.nodeFailed(n)
				}
			}
		}
	}
}

// decide tells what became of orphans, from the node that takes over.
func (c *Cluster) decide(orphans []orphan) {
	live := c.liveNodes()
	if len(live) == 0 {
		return
	}
	n := live[0]
	block := signal.BlockDBTC.WithInstance(1)
	for _, o := range orphans {
		l := o.api.links[n.id]
		if o.marker != nil {
			o.marker.node, o.marker.block = n, block
			if l == nil {
				c.forget(o.marker)
			}
		}
		switch {
		case l == nil:
		case o.marker != nil && c.markers[o.id] == o.marker:
			l.send(block, o.apiBlock, &signal.TCKeyFailConf{OpPointer: o.opPointer, Marker: true, TransID: o.id})
		case o.marker == nil:
			l.send(block, o.apiBlock, &signal.TCKeyFailRef{OpPointer: o.opPointer, TransID: o.id})
		}
	}
}

// StartNode starts a data node that has died or was stopped; one that is still
// stopping starts afterwards. It takes links when its failure is handled, and is
// started after StartDelay. Where all nodes are down they start together: call
// it for each.
func (c *Cluster) StartNode(id int) error {
	var err error
	c.do(func() { err = c.start(c.node(id)) })
	return err
}

func (c *Cluster) start(n *dataNode) error {
	switch {
	case n.level >= signal.StartLevelStopping1:
		n.restarts = true
		return nil
	case n.alive():
		return nil
	}
	n.restarts = false
	if err := n.open(signal.StartLevelStarting); err != nil {
		return err
	}
	n.expectsAPIs = !n.blocked
	c.awaitStart(n)
	return nil
}

// awaitStart starts a node once it may.
func (c *Cluster) awaitStart(n *dataNode) {
	life := n.life
	c.after(c.opt.startDelay, func() {
		switch {
		case life.Err() != nil:
		case n.blocked || !c.canStart(n):
			c.awaitStart(n)
		default:
			n.expectsAPIs = true
			n.setLevel(signal.StartLevelStarted)
		}
	})
}

// canStart tells whether the cluster is up, or all its nodes are starting.
func (c *Cluster) canStart(n *dataNode) bool {
	if len(c.liveNodes()) > 0 {
		return true
	}
	return !slices.ContainsFunc(c.nodes, func(other *dataNode) bool { return other.group != n.group && !other.alive() })
}

// StopNode stops a data node in the orderly way: each step takes StartDelay.
func (c *Cluster) StopNode(id int) { c.do(func() { c.stopNode(c.node(id)) }) }

func (c *Cluster) stopNode(n *dataNode) {
	toLevel := func(level signal.StartLevel) func() {
		return func() {
			if n.started() {
				n.setLevel(level)
			}
		}
	}
	toLevel(signal.StartLevelStopping1)()
	c.inSteps(c.opt.startDelay, []func(){
		toLevel(signal.StartLevelStopping2),
		func() { c.abortAllOf(n) },
		toLevel(signal.StartLevelStopping3),
		toLevel(signal.StartLevelStopping4),
		func() { c.endStopped(n) },
	})
}

// endStopped ends a node that has been stopped: nothing is lost.
func (c *Cluster) endStopped(n *dataNode) {
	c.epochs.undo = nil
	if live := c.liveNodes(); len(live) == 1 && live[0] == n {
		c.dieAll()
	}
	c.die(n)
	if n.restarts {
		_ = c.start(n) // where the port is taken, it stays down
	}
}

func (c *Cluster) abortAllOf(n *dataNode) {
	for i := range n.instances {
		for _, rec := range n.instances[i].records {
			if rec.tx != nil {
				rec.tx.abortWith(n.stoppingCode(), 0)
			}
		}
	}
}
