package ndbtest

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Violation is a signal that a real data node would not have survived, or for
// which it would have dropped its sender.
type Violation struct {
	APINode int    // who sent it; 0 where that is not known
	Node    int    // the data node that got it
	Signal  string // what it was
	Rule    string // which it breaks
	Effect  string // what a real data node does
	Detail  string
}

// Error says all that is known.
func (v *Violation) Error() string {
	text := "ndbtest: violated rule: " + v.Rule
	if v.Detail != "" {
		text += " (" + v.Detail + ")"
	}
	if v.APINode != 0 {
		text += fmt.Sprintf("; %s from API node %d to data node %d", v.Signal, v.APINode, v.Node)
	}
	if v.Effect != "" {
		text += "; a real cluster: " + v.Effect
	}
	return text
}

// The effects.
const (
	effectStops    = "the data node stops"
	effectAllStop  = "all data nodes stop"
	effectEjected  = "all data nodes drop the API node's connections, its transactions are rolled back"
	effectDropped  = "the data node closes the connection"
	effectMarkers  = "commit markers gather until the data nodes have no more"
	effectIgnored  = "the signal is ignored or worse"
	effectNoAnswer = "no answer comes"
)

// Violations returns all violations so far.
func (c *Cluster) Violations() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.violations)
}

func (c *Cluster) violate(v *Violation) {
	c.violations = append(c.violations, v)
	c.unreported = append(c.unreported, v)
}

// violates reports what came over l, and cuts the connection, or for effects
// that reach further all connections of the API node.
func (l *link) violates(gsn signal.GSN, rule, effect, format string, args ...any) {
	c := l.node.cluster
	c.violate(&Violation{
		APINode: int(l.api.id), Node: int(l.node.id), Signal: gsn.String(),
		Rule: rule, Effect: effect, Detail: fmt.Sprintf(format, args...),
	})
	if effect == effectEjected || effect == effectAllStop {
		c.eject(l.api)
		return
	}
	l.cut()
}

// eject closes all links of an API node.
func (c *Cluster) eject(api *apiNode) {
	for _, n := range c.nodes {
		if l := api.links[n.id]; l != nil {
			l.cut()
		}
	}
}
