package transporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Admission is what a data node does with an API node that says hello.
type Admission uint8

// The admissions.
const (
	Admit  Admission = iota
	NotNow           // the peer gets ErrNotExpected
	Refuse           // the connection ends without a word, as for an unknown node ID
)

// Listener says how a data node that ndbtest plays receives its API nodes.
type Listener struct {
	Config     Config // without Peer
	RequireTLS bool
	// Admit decides about a node that says hello. Nil admits all.
	Admit func(api signal.NodeID) Admission
}

// errRefused is all that Accept says about a peer that was sent away.
var errRefused = errors.New("peer refused")

// Accept shakes hands with an API node that has connected. It closes nc where
// that fails.
func (l Listener) Accept(ctx context.Context, nc net.Conn) (*ServerConn, error) {
	h := handshake{nc: nc, in: newReceiveBuffer(), cfg: l.Config.withDefaults()}
	err := h.run(ctx, func() error { return h.answer(l) })
	if err != nil {
		return nil, linkError(h.cfg.Peer, err)
	}
	return &ServerConn{newConn(nc, h.in, h.cfg)}, nil
}

// answer is the data node's side.
func (h *handshake) answer(l Listener) error {
	if err := h.authenticate(l.RequireTLS); err != nil {
		return err
	}
	if err := h.begin(); err != nil {
		return err
	}
	hello, err := h.in.line(h.nc)
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if h.cfg.Peer, err = parseHello(hello, h.cfg.Own); err != nil {
		return err
	}
	admission := Admit
	if l.Admit != nil {
		admission = l.Admit(h.cfg.Peer)
	}
	switch admission {
	case Admit:
		return h.write(fmt.Sprintf("%d %d\n", h.cfg.Own, transporterTCP))
	case NotNow:
		if err := h.write(answerBye + "\n"); err != nil {
			return err
		}
		return errRefused
	default:
		if tcp, ok := h.nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as a data node does it
		}
		return errRefused
	}
}

func (h *handshake) authenticate(requireTLS bool) error {
	if err := h.begin(); err != nil {
		return err
	}
	first, err := h.in.line(h.nc)
	if err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	if _, err := h.in.line(h.nc); err != nil { // empty, or the old password
		return fmt.Errorf("authentication: %w", err)
	}
	answer := answerError
	switch first {
	case authOld:
		answer = answerOld
	case authNoTLS, authMayTLS:
		answer = answerCleartext
	case authNeedsTLS:
		answer = answerNoTLS
	}
	accepted := answer == answerOld || answer == answerCleartext
	if requireTLS && accepted {
		answer, accepted = answerNeedsTLS, false
	}
	if err := h.write(answer + "\n"); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	if !accepted {
		return errRefused
	}
	return nil
}

// parseHello reads "<node> 1 <own> 0", of which the last two may be missing,
// and returns the node.
func parseHello(hello string, own signal.NodeID) (signal.NodeID, error) {
	fields := strings.Fields(hello)
	if len(fields) < 2 || len(fields) > 4 || fields[1] != strconv.Itoa(transporterTCP) ||
		len(fields) > 2 && fields[2] != strconv.Itoa(int(own)) {
		return 0, fmt.Errorf("%w: hello %q", ErrHandshake, hello)
	}
	id, err := strconv.ParseUint(fields[0], 10, 8)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%w: hello %q", ErrHandshake, hello)
	}
	return signal.NodeID(id), nil
}

// ServerConn is the data node's end of a link. It alone can send whatever there
// is: for API nodes there is the closed set of signal.Outgoing.
type ServerConn struct{ *Conn }

// SendMessage queues m as Send does. It keeps no reference to m.
func (c *ServerConn) SendMessage(m *signal.Message) error {
	return c.enqueueMessages(1, func(dst []byte) []byte { return c.cfg.Format.Append(dst, m) })
}

// SendSignal queues s, from our block sender to the peer's block receiver, as
// Send does. It keeps no reference to s.
func (c *ServerConn) SendSignal(sender, receiver signal.Block, s signal.Incoming) error {
	return c.enqueueMessages(1, func(dst []byte) []byte {
		return signal.AppendIncoming(c.cfg.Format, dst, sender, receiver, s)
	})
}

// SendFragments queues m in messages of up to pieceWords words of sections. No
// other signal in progress has the same sender and id.
func (c *ServerConn) SendFragments(m *signal.Message, id uint32, pieceWords int) error {
	return c.enqueueMessages(1, func(dst []byte) []byte {
		return c.cfg.Format.AppendFragments(dst, m, id, pieceWords)
	})
}
