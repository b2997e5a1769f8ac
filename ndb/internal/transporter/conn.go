package transporter

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Conn is a link after the handshake. It owns the connection. Its methods are
// safe for concurrent use.
type Conn struct {
	cfg    Config
	nc     net.Conn
	direct *directWriter // nil where every write is the writer goroutine's
	out    outgoing
	stats  counters

	// Whoever holds the pen may use these. A buffer that was written to
	// unwrittenFrom goes to the writer goroutine with the pen.
	unwritten     []byte
	unwrittenFrom int

	// Of the reader goroutine. They are here, and not in its frame, because a
	// call of handler would move them to the heap each time.
	in        *receiveBuffer
	assembler signal.Assembler
	handler   func(*signal.Message)
	deliver   func(*signal.Message) error // calls handler
	message   signal.Message
	delivered int // signals of this read

	wake     chan struct{} // holds the pen on its way to the writer goroutine
	down     chan struct{} // closed by the first failure or Close
	downOnce sync.Once
	state    atomic.Int32  // one of the states below
	running  atomic.Int32  // goroutines, and 1 until Start or Close
	done     chan struct{} // closed when nothing runs any more
}

// A Conn is new until Start or Close, whichever comes first.
const (
	stateNew int32 = iota
	stateStarted
	stateNeverStarted
)

func newConn(nc net.Conn, in *receiveBuffer, cfg Config) *Conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		// Best effort: a socket that refuses these works all the same.
		_ = tcp.SetNoDelay(true)
		_ = tcp.SetKeepAlive(true)
	}
	c := &Conn{
		cfg:    cfg,
		nc:     nc,
		direct: newDirectWriter(nc),
		out:    outgoing{maxBytes: cfg.MaxQueueBytes},
		in:     in,
		wake:   make(chan struct{}, 1),
		down:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	c.running.Store(1)
	return c
}

// Own is our node.
func (c *Conn) Own() signal.NodeID { return c.cfg.Own }

// Peer is the node at the other end.
func (c *Conn) Peer() signal.NodeID { return c.cfg.Peer }

// Format is that of the messages we send.
func (c *Conn) Format() signal.Format { return c.cfg.Format }

// Start begins to receive, and must be called once. One goroutine calls handler
// for each signal in the order of the wire. Handler must not wait for anything:
// nothing is received meanwhile. The message is void when it returns. What it
// sends over this link leaves together, once all that was read is handled.
func (c *Conn) Start(handler func(*signal.Message)) {
	if !c.state.CompareAndSwap(stateNew, stateStarted) {
		if c.state.Load() == stateStarted {
			panic("transporter: link started twice")
		}
		return // closed before
	}
	c.handler = handler
	c.deliver = func(m *signal.Message) error {
		c.delivered++
		c.handler(m)
		return nil
	}
	c.running.Add(2)
	go c.readLoop()  // ends when the connection is closed
	go c.writeLoop() // ends when down is closed
	c.goroutineEnds()
}

// goroutineEnds lets the last one out close done.
func (c *Conn) goroutineEnds() {
	if c.running.Add(-1) == 0 {
		close(c.done)
	}
}

// Close closes the link and waits until its goroutines have ended: handler is
// not called afterwards. What was not written is dropped; the data node cleans
// up after us anyway. Handler must not call it. Closing twice is fine.
func (c *Conn) Close() {
	c.Fail(ErrClosed)
	if c.state.CompareAndSwap(stateNew, stateNeverStarted) {
		c.goroutineEnds()
	}
	<-c.done
}

// Done is closed when the link is down and handler is not called any more. A link
// that was never started needs Close for that.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err tells why the link is down. It is nil while it is up, and ErrClosed after
// Close.
func (c *Conn) Err() error { return c.out.failure() }

// Fail closes the link because of err, the first of which stays, and does not
// wait. It is also for a handler that got a signal that makes no sense.
func (c *Conn) Fail(err error) {
	c.downOnce.Do(func() {
		c.out.close(linkError(c.cfg.Peer, err))
		close(c.down)
		_ = c.nc.Close()
	})
}

// readLoop is the reader goroutine. It ends when the connection is closed.
func (c *Conn) readLoop() {
	defer c.goroutineEnds()
	for {
		if err := c.handleRead(); err != nil {
			c.Fail(err)
			return
		}
		n, err := c.in.fill(c.nc)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errClosedByPeer
			}
			c.Fail(err)
			return
		}
		c.stats.read(n)
	}
}

var errClosedByPeer = errors.New("closed by the peer")

// handleRead hands over all whole messages that were read. It holds the pen
// meanwhile, if it gets it: what handler sends, and what callers send who have
// got their answers, leaves in one write at the end.
func (c *Conn) handleRead() error {
	if len(c.in.unused()) == 0 {
		return nil
	}
	pen := c.out.takePen()
	c.delivered = 0
	err := c.handleMessages()
	c.stats.signalsReceived.Add(uint64(c.delivered))
	if pen && err == nil {
		c.write(c.delivered > 1)
	}
	return err
}

func (c *Conn) handleMessages() error {
	m := &c.message
	for {
		size, err := signal.Parse(c.in.unused(), m)
		if err != nil || size == 0 {
			return err
		}
		c.in.start += size
		whole, err := c.assembler.Add(m)
		if err != nil {
			return err
		}
		if !whole {
			continue
		}
		if err := signal.Unpack(m, c.deliver); err != nil {
			return err
		}
	}
}
