package transporter

import "sync/atomic"

// Stats counts what a link has carried.
type Stats struct {
	SignalsSent, BytesSent, Writes        uint64
	SignalsReceived, BytesReceived, Reads uint64
}

// counters are Stats that both goroutines and all callers add to.
type counters struct {
	signalsSent, bytesSent, writes        atomic.Uint64
	signalsReceived, bytesReceived, reads atomic.Uint64
}

func (c *counters) wrote(bytes, signals int) {
	c.writes.Add(1)
	c.bytesSent.Add(uint64(bytes))
	c.signalsSent.Add(uint64(signals))
}

func (c *counters) read(bytes int) {
	c.reads.Add(1)
	c.bytesReceived.Add(uint64(bytes))
}

// Stats returns the counts so far. Signals sent are those that went into a
// write.
func (c *Conn) Stats() Stats {
	s := &c.stats
	return Stats{
		SignalsSent: s.signalsSent.Load(), BytesSent: s.bytesSent.Load(), Writes: s.writes.Load(),
		SignalsReceived: s.signalsReceived.Load(), BytesReceived: s.bytesReceived.Load(), Reads: s.reads.Load(),
	}
}
