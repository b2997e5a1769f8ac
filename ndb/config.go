package ndb

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// Defaults of Config.
const (
	DefaultConnectstring   = "127.0.0.1:1186"
	DefaultName            = "ndb-go"
	DefaultMaxTransactions = 1024
	DefaultConnectTimeout  = 60 * time.Second
	DefaultRequestTimeout  = 30 * time.Second
	DefaultHeartbeatMisses = 3

	waitingPerTransaction = 16
	maxNameBytes          = 64
)

// Config says which cluster a Client belongs to and how much it may take. The
// zero value of each field means its default.
type Config struct {
	// Connectstring names the management servers, as in "host1:1186,host2". They
	// are tried in turn. The default is the one on this host. It may begin with
	// "nodeid=53,", which counts where NodeIDs is empty.
	Connectstring string

	// NodeIDs are the IDs of the API nodes that this client is, one link to each
	// data node for each. They must be free [api] slots of the cluster's
	// configuration, with an ArbitrationRank of 0. Empty means one, which the
	// management server chooses.
	NodeIDs []int

	// Name is how the cluster log calls this client. The default is "ndb-go".
	Name string

	// MaxTransactions is how many transactions of one API node may run at once;
	// others wait. Each takes a transaction record of its coordinator, of which a
	// data node has MaxNoOfConcurrentTransactions (4096 by default) for all its
	// clients. The default is 1024.
	MaxTransactions int

	// MaxWaiting is how many callers of one API node may wait for a transaction;
	// others fail at once with ErrQueueFull. The default is 16 times
	// MaxTransactions; a negative number means none.
	MaxWaiting int

	// ConnectTimeout bounds Connect where its context has no deadline. The
	// default is 60 s.
	ConnectTimeout time.Duration

	// RequestTimeout bounds each call whose context has no deadline. The default
	// is 30 s.
	RequestTimeout time.Duration

	// HeartbeatMisses is after how many whole heartbeat intervals without an
	// answer the link to a data node is given up. The data nodes choose the
	// interval: 1.5 s by default. The default is 3, as in other clients.
	HeartbeatMisses int

	// Dialer opens connections, to data nodes and to management servers. The
	// default is that of package net.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger gets what an operator should know: nodes that come and go. Nil means
	// that nothing is logged.
	Logger *slog.Logger

	// Trace gets calls about the client's life. Nil means none.
	Trace *Trace
}

// Validate names the first field that has a value which cannot work.
func (c Config) Validate() error {
	switch {
	case len(c.Name) > maxNameBytes || !printable(c.Name):
		return fmt.Errorf("ndb: Config.Name is %q; it must be printable ASCII of at most %d bytes", c.Name, maxNameBytes)
	case c.MaxTransactions < 0 || c.MaxTransactions > maxRecordIndexes/2:
		return fmt.Errorf("ndb: Config.MaxTransactions is %d; it must be from 1 to %d", c.MaxTransactions, maxRecordIndexes/2)
	case c.ConnectTimeout < 0:
		return fmt.Errorf("ndb: Config.ConnectTimeout is %v; it must be positive", c.ConnectTimeout)
	case c.RequestTimeout < 0:
		return fmt.Errorf("ndb: Config.RequestTimeout is %v; it must be positive", c.RequestTimeout)
	case c.HeartbeatMisses < 0:
		return fmt.Errorf("ndb: Config.HeartbeatMisses is %d; it must be positive", c.HeartbeatMisses)
	}
	seen := map[int]bool{}
	for _, id := range c.NodeIDs {
		if id < 1 || id > signal.MaxNodeID {
			return fmt.Errorf("ndb: Config.NodeIDs has %d; node IDs are from 1 to %d", id, signal.MaxNodeID)
		}
		if seen[id] {
			return fmt.Errorf("ndb: Config.NodeIDs has %d twice", id)
		}
		seen[id] = true
	}
	return nil
}

// printable: the name goes into a line of the management protocol.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// withDefaults returns c with every field set.
func (c Config) withDefaults() Config {
	setDefault(&c.Connectstring, DefaultConnectstring)
	setDefault(&c.Name, DefaultName)
	setDefault(&c.MaxTransactions, DefaultMaxTransactions)
	setDefault(&c.MaxWaiting, waitingPerTransaction*c.MaxTransactions)
	setDefault(&c.ConnectTimeout, DefaultConnectTimeout)
	setDefault(&c.RequestTimeout, DefaultRequestTimeout)
	setDefault(&c.HeartbeatMisses, DefaultHeartbeatMisses)
	c.MaxWaiting = max(c.MaxWaiting, 0)
	if c.Dialer == nil {
		c.Dialer = new(net.Dialer).DialContext
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Trace == nil {
		c.Trace = &Trace{}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
