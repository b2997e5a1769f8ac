package transporter

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"
)

// The text of the handshake. The API node opens it with two lines that say
// whether it speaks TLS; old ones sent a name and a password.
const (
	authNoTLS       = "ndbd TLS disabled"
	authMayTLS      = "ndbd TLS enabled"
	authNeedsTLS    = "ndbd TLS required"
	authOld         = "ndbd"
	answerOld       = "ok"
	answerCleartext = "Cleartext ok"
	answerNeedsTLS  = "TLS required"
	answerNoTLS     = "Cleartext required"
	answerError     = "Error"
	answerBye       = "BYE"

	transporterTCP = 1
)

// Dial connects to the data node at addr and shakes hands. ErrTLSRequired is
// final; ErrNotExpected and all other errors may pass. A data node resets the
// connection without a word where a node ID is wrong.
func Dial(ctx context.Context, dial DialFunc, addr string, cfg Config) (*Conn, error) {
	cfg = cfg.withDefaults()
	nc, err := connect(ctx, dial, addr, cfg.StepTimeout)
	if err != nil {
		return nil, linkError(cfg.Peer, err)
	}
	h := handshake{nc: nc, in: newReceiveBuffer(), cfg: cfg}
	if err := h.run(ctx, h.open); err != nil {
		return nil, linkError(cfg.Peer, err)
	}
	return newConn(nc, h.in, h.cfg), nil
}

func connect(ctx context.Context, dial DialFunc, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return dial(ctx, "tcp", addr)
}

// handshake is the text before the signals, of either side.
type handshake struct {
	nc  net.Conn
	in  *receiveBuffer
	cfg Config
}

// run does steps, and closes the connection where they fail or ctx ends.
func (h *handshake) run(ctx context.Context, steps func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = h.nc.Close() })
	err := steps()
	if err == nil {
		err = h.nc.SetDeadline(time.Time{})
	}
	if !stop() {
		err = ctx.Err() // also where the steps went well: the connection is closed
	}
	if err != nil {
		_ = h.nc.Close()
	}
	return err
}

// open is the API node's side.
func (h *handshake) open() error {
	answer, err := h.ask(authNoTLS + "\n\n")
	if err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	switch answer {
	case answerOld, answerCleartext:
	case answerNeedsTLS:
		return ErrTLSRequired
	default:
		return fmt.Errorf("%w: %q instead of %q", ErrHandshake, answer, answerCleartext)
	}
	answer, err = h.ask(fmt.Sprintf("%d %d %d 0\n", h.cfg.Own, transporterTCP, h.cfg.Peer))
	if err != nil {
		return fmt.Errorf("hello of node %d: %w", h.cfg.Own, err)
	}
	switch want := fmt.Sprintf("%d %d", h.cfg.Peer, transporterTCP); answer {
	case want:
		return nil
	case answerBye:
		return ErrNotExpected
	default:
		return fmt.Errorf("%w: %q instead of %q", ErrHandshake, answer, want)
	}
}

// ask is one step: text there, a line back.
func (h *handshake) ask(text string) (string, error) {
	if err := h.begin(); err != nil {
		return "", err
	}
	if err := h.write(text); err != nil {
		return "", err
	}
	return h.in.line(h.nc)
}

// begin starts the time of a step.
func (h *handshake) begin() error { return h.nc.SetDeadline(time.Now().Add(h.cfg.StepTimeout)) }

func (h *handshake) write(text string) error {
	_, err := io.WriteString(h.nc, text)
	return err
}
