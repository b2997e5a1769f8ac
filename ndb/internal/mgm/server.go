package mgm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
)

// Request is a command with its arguments, as a management server gets it.
type Request struct {
	Command string
	Fields  Fields
}

// Reply is what a management server answers.
type Reply struct {
	Header string
	Fields Fields
	Body   string // what follows the empty line after them
}

// TLSRequired answers everything where the server demands TLS.
func TLSRequired() *Reply {
	return &Reply{Header: headerUnauthorized, Fields: Fields{{"Error", errorNeedsTLS}}}
}

// UnknownCommand answers a command that the server does not know. Later one
// empty line too many comes.
func UnknownCommand(command string) *Reply {
	return &Reply{Header: fmt.Sprintf("%sUnknown command, '%s'", prefixFailed, command), Body: "\n"}
}

// Serve plays a management server on one connection: it reads requests, and
// writes what handle answers; nil means that it does not know the command. It
// returns nil when the client has left, and closes nc. It ends with ctx.
func Serve(ctx context.Context, nc net.Conn, handle func(*Request) *Reply) error {
	defer func() { _ = nc.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	in := newLines(nc)
	for {
		request, err := readRequest(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
			return nil
		}
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		reply := handle(request)
		if reply == nil {
			reply = UnknownCommand(request.Command)
		}
		if err := reply.write(nc); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// readRequest returns io.EOF where the client has left between two requests.
func readRequest(in *lines) (*Request, error) {
	command, err := in.header()
	if err != nil {
		return nil, err
	}
	fields, err := in.fields()
	if err != nil {
		return nil, err
	}
	return &Request{Command: command, Fields: fields}, nil
}

func (r *Reply) write(w io.Writer) error {
	text, err := appendText(nil, r.Header, r.Fields)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, r.Body...))
	return err
}
