package ndb

import (
	"sync"

	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// Stats counts what a client has done since Connect, and tells what it does at
// this moment.
type Stats struct {
	// What all links together have carried.
	SignalsSent, SignalsReceived uint64
	BytesSent, BytesReceived     uint64
	Writes, Reads                uint64 // calls of the system: each may carry many signals

	LinksUp      int    // to data nodes that can be used
	LinksLost    uint64 // that were usable
	ClustersLost uint64 // how often no usable data node was left

	Operations    uint64 // sent in transactions; each is one row
	SchemaRetries uint64 // operations that were done once more with a table's new definition

	Transactions int // that run now
	Waiting      int // callers that wait for a transaction
	Records      int // transaction records that the client holds at the data nodes
	Requests     int // to the dictionary and for checkpoints, without an answer yet
}

// Stats may be called at any time; its numbers are not all of the same instant.
func (c *Client) Stats() Stats {
	s := c.traffic.read()
	s.ClustersLost = c.cluster.epoch.Load()
	s.Requests = c.replies.len()
	s.Operations, s.SchemaRetries = c.operations.Load(), c.schemaRetries.Load()
	for _, m := range c.members {
		s.Transactions += m.api.admit.inUse()
		s.Waiting += int(m.api.admit.waiting.Load())
		m.api.records.each(func(*txRecord) { s.Records++ })
		for _, n := range m.api.nodes {
			if m.api.linkTo(n.id) != nil {
				s.LinksUp++
			}
		}
	}
	return s
}

// traffic counts what the links carry, and what those carried that are no more.
type traffic struct {
	mu   sync.Mutex // guards all below
	live map[*link]struct{}
	past Stats
}

func (t *traffic) begin(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == nil {
		t.live = map[*link]struct{}{}
	}
	t.live[l] = struct{}{}
}

func (t *traffic) end(l *link, wasUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, l)
	t.past.add(l.conn.Stats())
	if wasUp {
		t.past.LinksLost++
	}
}

func (t *traffic) read() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.past
	for l := range t.live {
		s.add(l.conn.Stats())
	}
	return s
}

func (s *Stats) add(t transporter.Stats) {
	s.SignalsSent += t.SignalsSent
	s.SignalsReceived += t.SignalsReceived
	s.BytesSent += t.BytesSent
	s.BytesReceived += t.BytesReceived
	s.Writes += t.Writes
	s.Reads += t.Reads
}
