package ndbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// This file is the two networks that a cluster can listen on: TCP, and one
// within the process. The latter waits on nothing but condition variables and
// timers, as testing/synctest needs it.

type network interface {
	listen(host string, port int) (net.Listener, error)
	dial(ctx context.Context, address string) (net.Conn, error)
}

type tcpNetwork struct{}

func (tcpNetwork) listen(host string, port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

func (tcpNetwork) dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

const (
	firstMemoryPort  = 20000
	memoryBufferSize = 64 << 10
)

var (
	errRefused     = errors.New("connection refused")
	errAddressUsed = errors.New("address already in use")
	errReset       = errors.New("connection reset by peer")
)

// memoryNetwork carries bytes within the process. It is safe for concurrent
// use.
type memoryNetwork struct {
	mu        sync.Mutex // guards all below
	listeners map[string]*memoryListener
	lastPort  int
}

func newMemoryNetwork() *memoryNetwork {
	return &memoryNetwork{listeners: map[string]*memoryListener{}, lastPort: firstMemoryPort}
}

func (n *memoryNetwork) listen(host string, port int) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == 0 {
		n.lastPort++
		port = n.lastPort
	}
	l := &memoryListener{network: n, address: memoryAddr(net.JoinHostPort(host, strconv.Itoa(port)))}
	l.changed = sync.NewCond(&l.mu)
	if n.listeners[string(l.address)] != nil {
		return nil, fmt.Errorf("listen %s: %w", l.address, errAddressUsed)
	}
	n.listeners[string(l.address)] = l
	return l, nil
}

func (n *memoryNetwork) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case l == nil:
		return nil, fmt.Errorf("dial %s: %w", address, errRefused)
	}
	client, server := newMemoryPipe(l.address)
	if !l.offer(server) {
		return nil, fmt.Errorf("dial %s: %w", address, errRefused)
	}
	return client, nil
}

func (n *memoryNetwork) remove(l *memoryListener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, string(l.address))
}

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

type memoryListener struct {
	network *memoryNetwork
	address memoryAddr

	mu      sync.Mutex // guards all below
	changed *sync.Cond
	waiting []net.Conn
	closed  bool
}

func (l *memoryListener) offer(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.waiting = append(l.waiting, nc)
	l.changed.Signal()
	return true
}

// Accept implements net.Listener.
func (l *memoryListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.waiting) == 0 {
		l.changed.Wait()
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	nc := l.waiting[0]
	l.waiting = l.waiting[1:]
	return nc, nil
}

// Close implements net.Listener.
func (l *memoryListener) Close() error {
	l.network.remove(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, nc := range l.waiting {
		_ = nc.Close()
	}
	l.waiting = nil
	l.changed.Broadcast()
	return nil
}

// Addr implements net.Listener.
func (l *memoryListener) Addr() net.Addr { return l.address }

// memoryConn is one end of a connection: it reads from one stream and writes
// to the other.
type memoryConn struct {
	in, out *memoryStream
	address memoryAddr
}

func newMemoryPipe(address memoryAddr) (client, server *memoryConn) {
	there, back := newMemoryStream(), newMemoryStream()
	return &memoryConn{in: back, out: there, address: address}, &memoryConn{in: there, out: back, address: address}
}

// Read implements net.Conn.
func (c *memoryConn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write implements net.Conn.
func (c *memoryConn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close implements net.Conn: the peer reads what was written before, then EOF.
func (c *memoryConn) Close() error {
	c.out.closeWrite()
	c.in.closeRead()
	return nil
}

// LocalAddr implements net.Conn.
func (c *memoryConn) LocalAddr() net.Addr { return c.address }

// RemoteAddr implements net.Conn.
func (c *memoryConn) RemoteAddr() net.Addr { return c.address }

// SetDeadline implements net.Conn.
func (c *memoryConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.readDeadline.set(c.in, t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.writeDeadline.set(c.out, t)
	return nil
}

// memoryStream is one direction of a connection.
type memoryStream struct {
	mu            sync.Mutex // guards all below
	changed       *sync.Cond
	buf           []byte
	readerGone    bool
	writerGone    bool
	readDeadline  memoryDeadline
	writeDeadline memoryDeadline
}

func newMemoryStream() *memoryStream {
	s := &memoryStream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// memoryDeadline is over when its timer has fired.
type memoryDeadline struct {
	timer *time.Timer
	over  bool
}

func (d *memoryDeadline) set(s *memoryStream, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.over = false
	if t.IsZero() {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.timer == timer { // else another deadline was set meanwhile
			d.over = true
			s.changed.Broadcast()
		}
	})
	d.timer = timer
}

func (s *memoryStream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerGone:
			return 0, net.ErrClosed
		case len(s.buf) > 0:
			n := copy(b, s.buf)
			s.buf = s.buf[n:]
			s.changed.Broadcast()
			return n, nil
		case s.writerGone:
			return 0, io.EOF
		case s.readDeadline.over:
			return 0, os.ErrDeadlineExceeded
		}
		s.changed.Wait()
	}
}

func (s *memoryStream) write(b []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(b) > 0 {
		switch {
		case s.writerGone:
			return written, net.ErrClosed
		case s.readerGone:
			return written, errReset
		case s.writeDeadline.over:
			return written, os.ErrDeadlineExceeded
		}
		if room := memoryBufferSize - len(s.buf); room > 0 {
			n := min(room, len(b))
			s.buf = append(s.buf, b[:n]...)
			b, written = b[n:], written+n
			s.changed.Broadcast()
			continue
		}
		s.changed.Wait()
	}
	return written, nil
}

func (s *memoryStream) closeWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.writeDeadline.stop()
	s.changed.Broadcast()
}

func (s *memoryStream) closeRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerGone, s.buf = true, nil
	s.readDeadline.stop()
	s.changed.Broadcast()
}

func (d *memoryDeadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
