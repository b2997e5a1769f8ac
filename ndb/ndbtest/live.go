package ndbtest

import "github.com/ndbgate/ndbgate/ndb/internal/signal"

// liveTransaction is what uses a transaction id: a transaction, and scans in it
// or a scan that stands alone. Guarded by Cluster.mu.
type liveTransaction struct {
	main  *tcRecord // nil: it has not begun
	buddy *tcRecord // the record that the scans belong to
	scans int
}

const transIDsAreUnique = "transaction ids are unique among those that are open or not acknowledged"

func (c *Cluster) addLive(id signal.TransID, add func(*liveTransaction)) {
	l := c.live[id]
	if l == nil {
		l = &liveTransaction{}
		c.live[id] = l
	}
	add(l)
}

func (c *Cluster) dropLive(id signal.TransID, drop func(*liveTransaction)) {
	l := c.live[id]
	if l == nil {
		return
	}
	drop(l)
	if l.main == nil && l.scans == 0 {
		delete(c.live, id)
	}
}
