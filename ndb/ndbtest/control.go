package ndbtest

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is the hooks: functions that see each signal of some kind before
// the data node that gets it, or after the one that sends it, and decide what
// becomes of it. They are for the tests of the packages below ndb, which know
// the signals; the faults of fault.go are for everybody.

// Direction is where a signal goes.
type Direction uint8

// The directions.
const (
	ToDataNode Direction = iota
	ToAPINode
)

// Signal is what a hook sees. Its slices are its own.
type Signal struct {
	signal.Message
	Direction Direction
	Node      int // the data node
	APINode   int

	cluster *Cluster
	link    *link
}

// Answer sends the API node a signal from the block that the hooked one goes
// to, without further hooks.
func (s *Signal) Answer(receiver signal.Block, answer signal.Incoming) {
	s.cluster.do(func() { s.link.sendUnhooked(s.Receiver, receiver, answer) })
}

// Decision is what becomes of a signal. The zero value lets it pass.
type Decision struct {
	drop   bool
	double bool
	delay  time.Duration
}

// Pass lets the signal go on.
func Pass() Decision { return Decision{} }

// Drop loses the signal.
func Drop() Decision { return Decision{drop: true} }

// Double makes two of the signal.
func Double() Decision { return Decision{double: true} }

// Delay lets the signal go on later. Others pass it meanwhile.
func Delay(d time.Duration) Decision { return Decision{delay: d} }

// Hook decides about a signal. It may call all methods of the Cluster, and may
// wait: nothing else comes over the link meanwhile.
type Hook func(*Signal) Decision

type hook struct {
	direction Direction
	gsn       signal.GSN
	f         Hook
}

type hookList struct {
	mu    sync.Mutex // guards changes of list
	list  atomic.Pointer[[]*hook]
	known [2]atomic.Bool // some hook is for that direction
}

// Hook calls f for each signal of that kind and direction, until remove is
// called. The hook that was added last decides first; the others see what it
// lets pass.
func (c *Cluster) Hook(direction Direction, gsn signal.GSN, f Hook) (remove func()) {
	h := &hook{direction, gsn, f}
	c.hooks.change(func(list []*hook) []*hook { return append([]*hook{h}, list...) })
	return func() {
		c.hooks.change(func(list []*hook) []*hook {
			var rest []*hook
			for _, other := range list {
				if other != h {
					rest = append(rest, other)
				}
			}
			return rest
		})
	}
}

func (hs *hookList) change(f func([]*hook) []*hook) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	var list []*hook
	if old := hs.list.Load(); old != nil {
		list = *old
	}
	list = f(list)
	hs.list.Store(&list)
	var known [2]bool
	for _, h := range list {
		known[h.direction] = true
	}
	for d := range known {
		hs.known[d].Store(known[d])
	}
}

// decide asks the hooks for m. It is called without any lock.
func (l *link) decide(direction Direction, m *signal.Message) Decision {
	c := l.node.cluster
	if !c.hooks.known[direction].Load() {
		return Decision{}
	}
	for _, h := range *c.hooks.list.Load() {
		if h.direction != direction || h.gsn != m.GSN {
			continue
		}
		s := &Signal{
			Message: cloneMessage(m), Direction: direction, Node: int(l.node.id), APINode: int(l.api.id),
			cluster: c, link: l,
		}
		if d := h.f(s); d != (Decision{}) {
			return d
		}
	}
	return Decision{}
}

func cloneMessage(m *signal.Message) signal.Message {
	clone := *m
	clone.Data = bytes.Clone(m.Data)
	for i := range clone.Sections {
		clone.Sections[i] = bytes.Clone(m.Sections[i])
	}
	return clone
}
