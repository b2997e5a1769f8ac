package transporter

import "runtime"

// maxInlineWrites is how often a caller writes before it hands the pen to the
// writer goroutine: its own signals are gone with the first.
const maxInlineWrites = 2

// write empties the queue. The caller holds the pen. It writes itself as long as
// the socket takes everything at once, and leaves the rest to the writer
// goroutine, so it never waits.
//
// In a crowd it first lets the others run: their signals then leave in the same
// write. Alone, that would cost a switch of goroutines for nothing.
func (c *Conn) write(crowded bool) {
	if c.direct == nil {
		if !c.out.putDownIfEmpty() {
			c.wakeWriter()
		}
		return
	}
	if crowded {
		runtime.Gosched()
	}
	var written []byte
	for range maxInlineWrites {
		buf, signals := c.out.next(written)
		if buf == nil {
			return
		}
		n, err := c.direct.write(buf)
		c.stats.wrote(n, signals)
		if err != nil {
			c.Fail(err)
			return
		}
		if n < len(buf) {
			c.unwritten, c.unwrittenFrom = buf, n
			c.wakeWriter()
			return
		}
		written = buf
	}
	c.unwritten, c.unwrittenFrom = written, len(written)
	c.wakeWriter()
}

// wakeWriter hands the pen to the writer goroutine. The channel has room for
// the one pen that there is.
func (c *Conn) wakeWriter() { c.wake <- struct{}{} }

// writeLoop is the writer goroutine. It ends when the link is down.
func (c *Conn) writeLoop() {
	defer c.goroutineEnds()
	for {
		select {
		case <-c.down:
			return
		case <-c.wake:
		}
		if err := c.drain(); err != nil {
			c.Fail(err)
			return
		}
	}
}

// drain writes, waiting for the socket, until the queue is empty.
func (c *Conn) drain() error {
	written := c.unwritten
	err := c.writeAll(written[c.unwrittenFrom:])
	c.unwritten, c.unwrittenFrom = nil, 0
	for err == nil {
		runtime.Gosched() // those who are about to send join this write
		buf, signals := c.out.next(written)
		if buf == nil {
			return nil
		}
		c.stats.signalsSent.Add(uint64(signals))
		err = c.writeAll(buf)
		written = buf
	}
	return err
}

// writeAll writes in pieces: what a slow peer has taken makes room in the queue
// before it has taken all.
func (c *Conn) writeAll(buf []byte) error {
	for len(buf) > 0 {
		n, err := c.nc.Write(buf[:min(len(buf), pieceBytes)])
		c.stats.wrote(n, 0)
		if err != nil {
			return err
		}
		c.out.wrote(n)
		buf = buf[n:]
	}
	return nil
}

const pieceBytes = 256 << 10
