package mgm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	connectTimeout = 3 * time.Second
	// callTimeout bounds a request where ctx does not. A server that has no
	// contact with the data nodes thinks for 3 s before it refuses a node ID.
	callTimeout = 30 * time.Second
)

// DialFunc opens a connection, as net.Dialer's DialContext does.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Session is a connection to a management server. It is for one goroutine at a
// time. A call that fails in any other way than by an Error closes it.
type Session struct {
	addr   string
	nc     net.Conn
	in     *lines
	broken error
}

// Dial connects to the first management server that can be reached, beginning
// with the one after that of the last Dial with this Connectstring: a server
// that takes connections and does not answer holds nobody up twice.
func Dial(ctx context.Context, dial DialFunc, servers Connectstring) (*Session, error) {
	var errs []error
	for range servers.Addrs {
		addr := servers.next()
		nc, err := connect(ctx, dial, addr)
		if err == nil {
			return &Session{addr: addr, nc: nc, in: newLines(nc)}, nil
		}
		errs = append(errs, fmt.Errorf("management server %s: %w", addr, err))
		if ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 0 {
		return nil, errors.New("no management server is known")
	}
	return nil, errors.Join(errs...)
}

func connect(ctx context.Context, dial DialFunc, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return dial(ctx, "tcp", addr)
}

// Close closes the connection. A node ID stays reserved.
func (s *Session) Close() {
	s.breakWith(net.ErrClosed)
}

// Addr is where the server is.
func (s *Session) Addr() string { return s.addr }

func (s *Session) breakWith(err error) {
	if s.broken == nil {
		s.broken = err
		_ = s.nc.Close()
	}
}

// call sends a request and reads the fields of the reply that begins with
// header. Where read is given, it reads what follows them.
func (s *Session) call(ctx context.Context, command, header string, args Fields, read func(Fields) error) (Fields, error) {
	fields, err := s.try(ctx, command, header, args, read)
	if err != nil {
		err = fmt.Errorf("management server %s: %s: %w", s.addr, command, err)
	}
	return fields, err
}

func (s *Session) try(ctx context.Context, command, header string, args Fields, read func(Fields) error) (Fields, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	request, err := appendText(nil, command, args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = s.nc.Close() })
	fields, err := s.exchange(request, header, read)
	if !stop() {
		err = ctx.Err() // the connection is closed, whatever came of it
	}
	var refused *Error
	if err != nil && !errors.As(err, &refused) {
		s.breakWith(err)
	}
	return fields, err
}

func (s *Session) exchange(request []byte, header string, read func(Fields) error) (Fields, error) {
	if _, err := s.nc.Write(request); err != nil {
		return nil, err
	}
	got, err := s.in.header()
	if err != nil {
		return nil, noEOF(err)
	}
	if got != header {
		return nil, s.unexpected(got, header)
	}
	fields, err := s.in.fields()
	if err == nil && read != nil {
		err = read(fields)
	}
	return fields, err
}

const (
	headerUnauthorized = "Authorization failed"
	errorNeedsTLS      = "Requires TLS"
	prefixFailed       = "result: "
)

// unexpected tells what is wrong with a reply that begins in another way.
func (s *Session) unexpected(got, want string) error {
	switch text, failed := strings.CutPrefix(got, prefixFailed); {
	case got == headerUnauthorized:
		fields, err := s.in.fields()
		if reason := fields.Get("Error"); reason != errorNeedsTLS {
			return fmt.Errorf("%s: %w", headerUnauthorized, errors.Join(err, errors.New(reason)))
		}
		return ErrTLSRequired
	case failed: // the server does not know the command or an argument
		return fmt.Errorf("%w: %s", ErrProtocol, text)
	default:
		return fmt.Errorf("%w: got %q, want %q", ErrProtocol, got, want)
	}
}
