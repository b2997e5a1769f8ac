// Package transporter is one link between an API node and a data node: a TCP
// connection, opened with two steps of text, that carries signals both ways.
package transporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Defaults of a Config.
const (
	DefaultMaxQueueBytes = 8 << 20
	DefaultStepTimeout   = 3 * time.Second
)

// Config describes a link. The zero values of the last two mean the defaults.
type Config struct {
	Own    signal.NodeID
	Peer   signal.NodeID // Accept learns it from the peer
	Format signal.Format // of what we send, as the link's configuration says

	// MaxQueueBytes bounds what waits to be written. Past it Send fails with
	// ErrQueueFull, but signals that finish work, and heartbeats even after
	// those, have a reserve of their own.
	MaxQueueBytes int
	// StepTimeout bounds the connecting, and each of the two text steps after it.
	StepTimeout time.Duration
}

func (cfg Config) withDefaults() Config {
	if cfg.MaxQueueBytes == 0 {
		cfg.MaxQueueBytes = DefaultMaxQueueBytes
	}
	if cfg.StepTimeout == 0 {
		cfg.StepTimeout = DefaultStepTimeout
	}
	return cfg
}

// DialFunc opens a connection, as net.Dialer's DialContext does.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// The errors to test for.
var (
	// ErrTLSRequired: the data node takes no link in clear text. Trying again
	// is no use.
	ErrTLSRequired = errors.New("the data node requires TLS, which this client does not speak: " +
		"set RequireTls=0 for the data nodes in the cluster's configuration, and let only trusted hosts reach them")
	// ErrNotExpected: the data node does not take the link now. It still has
	// one with this node ID, has not finished with the last one, or is
	// starting. Try again soon.
	ErrNotExpected = errors.New("the data node does not expect this node now")
	// ErrHandshake: the peer answered with text that makes no sense.
	ErrHandshake = errors.New("unexpected answer to the handshake")
	// ErrQueueFull: the signal was not queued, because the peer takes too
	// little of what waits already.
	ErrQueueFull = errors.New("outgoing queue is full")
	// ErrClosed: the link was closed on our side.
	ErrClosed = errors.New("link closed")
)

// linkError names the peer in an error of the link.
func linkError(peer signal.NodeID, err error) error {
	return fmt.Errorf("link to node %d: %w", peer, err)
}
