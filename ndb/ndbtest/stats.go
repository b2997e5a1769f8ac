package ndbtest

// Stats counts what the data nodes hold at the moment.
type Stats struct {
	Links          int // with API nodes
	Records        int // of transactions, seized and not released
	Transactions   int // open
	Scans          int
	LockedRows     int
	LockWaits      int
	Unacknowledged int // commits without TC_COMMIT_ACK
}

// Stats counts what the data nodes hold at the moment: after a client has left,
// and when none has anything to do, most of it is zero.
func (c *Cluster) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Unacknowledged: len(c.markers)}
	for _, n := range c.nodes {
		s.Links += len(n.links)
		s.Scans += n.scans
		for i := range n.instances {
			s.Records += len(n.instances[i].records)
			for _, rec := range n.instances[i].records {
				if rec.tx != nil {
					s.Transactions++
				}
			}
		}
	}
	for _, t := range c.dictionary.tables {
		for _, r := range t.rows {
			if r.lock.exclusive != nil || len(r.lock.shared) > 0 {
				s.LockedRows++
			}
			s.LockWaits += len(r.lock.queue)
		}
	}
	return s
}
