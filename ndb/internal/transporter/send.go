package transporter

import (
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Send queues s from our block sender and sees to it that it leaves: at once
// where nothing else is being written, else with the next write. It never waits
// for the peer. An error says that nothing of s was queued; ErrQueueFull may
// pass, all others are those of a link that is down.
//
// Safe for concurrent use, also by the handler of Start.
func Send[S signal.Outgoing](c *Conn, sender signal.Block, s S, sections ...[]byte) error {
	pen, crowded, err := enqueue(c, sender, s, sections)
	if pen {
		c.write(crowded)
	}
	return err
}

// enqueue is apart for its deferred unlock: encoding panics where only a bug
// can get, and then the queue is as it was.
func enqueue[S signal.Outgoing](c *Conn, sender signal.Block, s S, sections [][]byte) (pen, crowded bool, err error) {
	gsn, _ := s.Route()
	q := &c.out
	q.mu.Lock()
	defer q.mu.Unlock()
	// The size comes with the encoding: up to one message more than the limit.
	if err := q.check(0, q.limitFor(gsn)); err != nil {
		return false, false, err
	}
	pen, crowded = q.appended(signal.AppendOutgoing(c.cfg.Format, q.pending, sender, s, sections...), 1)
	return pen, crowded, nil
}

// enqueueMessages queues what encode appends, and sees to it that it leaves.
func (c *Conn) enqueueMessages(signals int, encode func(dst []byte) []byte) error {
	pen, crowded, err := c.out.encode(signals, encode)
	if pen {
		c.write(crowded)
	}
	return err
}

// Batch gathers signals for one link that leave together, in order, in one
// write where the socket takes it. It keeps its memory between uses. Not safe
// for concurrent use.
type Batch struct {
	conn    *Conn
	buf     []byte
	signals int
}

// Reset empties b and makes it one for c.
func (b *Batch) Reset(c *Conn) {
	if cap(b.buf) > keepBufferBytes {
		b.buf = nil
	}
	b.conn, b.buf, b.signals = c, b.buf[:0], 0
}

// Len is how many signals b holds.
func (b *Batch) Len() int { return b.signals }

// SizeBytes is how much b adds to the queue.
func (b *Batch) SizeBytes() int { return len(b.buf) }

// Append adds s to b. It keeps no reference to s and the sections.
func Append[S signal.Outgoing](b *Batch, sender signal.Block, s S, sections ...[]byte) {
	b.buf = signal.AppendOutgoing(b.conn.cfg.Format, b.buf, sender, s, sections...)
	b.signals++
}

// Send queues all of b as Send does one signal, or nothing, and then says why.
// Afterwards b is empty, or as it was.
func (b *Batch) Send() error {
	if b.signals == 0 {
		return nil
	}
	pen, crowded, err := b.conn.out.copyIn(b.buf, b.signals)
	if pen {
		b.conn.write(crowded)
	}
	if err == nil {
		b.Reset(b.conn)
	}
	return err
}
