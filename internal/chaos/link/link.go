// Package link is a TCP proxy whose links fail on demand: they are cut, stand
// still, are slow, or are open at one end alone.
package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Mode is how a link is.
type Mode uint8

// The modes.
const (
	Passing Mode = iota
	// Cut resets every connection at both ends, and new ones at once.
	Cut
	// Stalled passes nothing on, and keeps what comes.
	Stalled
	// Slow delays all that comes.
	Slow
	// CallerLost has lost the caller: what it sends goes nowhere and nothing comes
	// back, while the server's connection stays open and hears nothing.
	CallerLost
	// ServerLost resets the server's ends; the caller's stay open and hear nothing.
	ServerLost
)

// String says it behind the name of a link: "X is cut".
func (m Mode) String() string {
	return [...]string{"passing", "cut", "stalled", "slow", "half open at the server", "half open at the caller"}[m]
}

// Modes are those that are faults.
var Modes = []Mode{Cut, Stalled, Slow, CallerLost, ServerLost}

const (
	slowness   = 30 * time.Millisecond // that a slow link takes for each piece
	chunkBytes = 16 << 10              // of a piece at most
	dialLimit  = 3 * time.Second       // for the connection to the server
)

// Link is one address on loopback that leads to another one. Its methods are
// safe for concurrent use.
type Link struct {
	name string

	listener net.Listener
	ctx      context.Context // until Close
	cancel   context.CancelFunc
	target   atomic.Pointer[string]
	running  sync.WaitGroup

	mu      sync.Mutex // guards all below
	mode    Mode
	changed chan struct{} // closed when the mode changes
	pairs   map[*pair]bool
}

// pair is a caller's connection and the one to the server.
type pair struct {
	caller, server net.Conn
	lost           bool // one end was lost: it never passes anything again
}

// New opens a link to an address; empty means that there is no server so far.
// Close ends it.
func New(name, target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", name, err)
	}
	l := &Link{name: name, listener: listener, changed: make(chan struct{}), pairs: map[*pair]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.target.Store(&target)
	l.running.Go(l.accept) // ends when the listener closes
	return l, nil
}

// String is the link's name.
func (l *Link) String() string { return l.name }

// Addr is where callers connect to.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// SetTarget leads new connections elsewhere.
func (l *Link) SetTarget(address string) { l.target.Store(&address) }

// Close ends the link and its connections.
func (l *Link) Close() error {
	l.cancel()
	err := l.listener.Close()
	l.mu.Lock()
	for p := range l.pairs {
		p.reset(true, true)
	}
	l.mu.Unlock()
	l.running.Wait()
	return err
}

// Set changes the mode. Connections of which one end was lost are reset when
// another mode comes.
func (l *Link) Set(m Mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = m
	close(l.changed)
	l.changed = make(chan struct{})
	for p := range l.pairs {
		switch {
		case m == Cut || p.lost:
			p.reset(true, true)
		case m == ServerLost:
			p.lost = true
			p.reset(false, true)
		case m == CallerLost:
			p.lost = true
		}
	}
}

func (p *pair) reset(caller, server bool) {
	if caller {
		reset(p.caller)
	}
	if server && p.server != nil {
		reset(p.server)
	}
}

// reset closes a connection so that its other end hears of it at once, whatever
// is on its way.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	_ = c.Close()
}

func (l *Link) accept() {
	for {
		caller, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.serve(caller) }) // ends with the connections, which Close closes
	}
}

// serve carries one connection until it ends.
func (l *Link) serve(caller net.Conn) {
	p := &pair{caller: caller}
	defer reset(caller)
	if !l.add(p) {
		return
	}
	defer l.remove(p)
	// Nobody can tell from outside that a link stands still when it is opened.
	if l.wait() == Cut {
		return
	}
	server, err := (&net.Dialer{Timeout: dialLimit}).DialContext(l.ctx, "tcp", *l.target.Load())
	if err != nil {
		return
	}
	defer reset(server)
	if !l.connect(p, server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pump(p, caller, server) }) // both end when either connection closes
	both.Go(func() { l.pump(p, server, caller) })
	both.Wait()
}

// add takes a new connection in, or tells that it is refused.
func (l *Link) add(p *pair) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mode == Cut || l.ctx.Err() != nil {
		return false
	}
	l.pairs[p] = true
	return true
}

// connect completes a pair, or tells that it was cut meanwhile.
func (l *Link) connect(p *pair, server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mode == Cut || p.lost || l.ctx.Err() != nil {
		return false
	}
	p.server = server
	return true
}

func (l *Link) remove(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, p)
}

// now is the mode, whether an end of the pair was lost (of nil none was), and what is
// closed when the mode changes.
func (l *Link) now(p *pair) (m Mode, lost bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mode, p != nil && p.lost, l.changed
}

// wait returns once the link passes something, or is cut or closed, and how it
// then is. A slow one passes after a moment.
func (l *Link) wait() Mode {
	for {
		m, _, changed := l.now(nil)
		switch m {
		case Passing, Cut:
			return m
		case Slow:
			timer := time.NewTimer(slowness)
			select {
			case <-timer.C:
				return m
			case <-l.ctx.Done():
				timer.Stop()
				return Cut
			}
		}
		select {
		case <-changed:
		case <-l.ctx.Done():
			return Cut
		}
	}
}

// pump passes on what one end sends, until either is closed. What comes from an
// end whose other end is lost goes nowhere.
func (l *Link) pump(p *pair, from, to net.Conn) {
	buffer := make([]byte, chunkBytes)
	for {
		n, err := from.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			// Closed here: by Set, by Close, or by the other pump.
			return
		}
		_, lost, changed := l.now(p)
		if err != nil && lost && l.ctx.Err() == nil {
			// Nobody tells the other end, until another mode resets it.
			select {
			case <-changed:
			case <-l.ctx.Done():
			}
		}
		if err != nil {
			// One end is closed in an orderly way: so is the other.
			_ = to.Close()
			return
		}
		if lost {
			continue
		}
		if l.wait() == Cut {
			return
		}
		if _, lost, _ := l.now(p); lost {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			_ = from.Close()
			return
		}
	}
}
