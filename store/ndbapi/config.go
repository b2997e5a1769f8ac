package ndbapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// Config describes the cluster and how much of it the road may take. The zero
// value of a field means its default.
type Config struct {
	// Connectstring names the management servers, as ndb.Config has it. The
	// default is the one on this host.
	Connectstring string

	Database string // default: ndbtest

	// NodeIDs are the IDs of the API nodes to be; none: one that the management
	// server chooses.
	NodeIDs []int

	// MaxTransactions is how many sessions there are, and so how many
	// transactions run at once. The default is 64.
	MaxTransactions int

	// MaxWaiting is how many callers may wait for a session; more are refused at
	// once. The default is 16 times MaxTransactions; a negative number means
	// none.
	MaxWaiting int

	// ConnectTimeout bounds each attempt to connect. It should be longer than the
	// 4 s for which the cluster keeps the node ID of a client that has left. The
	// default is 10 s.
	ConnectTimeout time.Duration

	// CheckInterval is how often the mapping is compared with a dictionary that
	// has changed. The default is 1 s.
	CheckInterval time.Duration

	// Dialer opens connections; see ndb.Config.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)

	// Trace gets calls about what the client below does. Nil means none.
	Trace *ndb.Trace

	// Logger is told when the road can or cannot serve, and what package ndb
	// tells. Nil: nothing is logged.
	Logger *slog.Logger
}

const (
	defaultDatabase        = "ndbtest"
	defaultMaxTransactions = 64
	defaultConnectTimeout  = 10 * time.Second
	defaultCheckInterval   = time.Second
	waitingPerSession      = 16

	// spareTransactions is how many more transactions the client may run than
	// there are sessions: pings have none, and a call that was given up leaves a
	// transaction to be rolled back.
	spareTransactions = 8

	// A batch of single writes runs eachWindow transactions at once, beside the
	// sessions, and maxEach of these batches run; others wait.
	eachWindow = 128
	maxEach    = 4

	// clientName is how the cluster log calls us.
	clientName = "ndbgate"
)

// Validate names the field that is wrong.
func (c *Config) Validate() error {
	switch {
	case c.MaxTransactions < 0:
		return fmt.Errorf("max transactions %d: must not be negative", c.MaxTransactions)
	case c.ConnectTimeout < 0:
		return fmt.Errorf("connect timeout %v: must not be negative", c.ConnectTimeout)
	case c.CheckInterval < 0:
		return fmt.Errorf("check interval %v: must not be negative", c.CheckInterval)
	case strings.ContainsAny(c.Database, "/\x00"):
		return errors.New("database: not a plain name")
	}
	return c.client().Validate()
}

// withDefaults returns c with every field set but NodeIDs, Dialer and Trace.
func (c Config) withDefaults() Config {
	c.Connectstring = cmp.Or(c.Connectstring, ndb.DefaultConnectstring)
	c.Database = cmp.Or(c.Database, defaultDatabase)
	c.MaxTransactions = cmp.Or(c.MaxTransactions, defaultMaxTransactions)
	c.MaxWaiting = max(cmp.Or(c.MaxWaiting, waitingPerSession*c.MaxTransactions), 0)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTimeout)
	c.CheckInterval = cmp.Or(c.CheckInterval, defaultCheckInterval)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// client is the configuration of the client below.
func (c *Config) client() ndb.Config {
	cfg := ndb.Config{
		Connectstring: c.Connectstring, NodeIDs: c.NodeIDs, Name: clientName, ConnectTimeout: c.ConnectTimeout,
		Dialer: c.Dialer, Trace: c.Trace, Logger: c.Logger,
	}
	if c.MaxTransactions > 0 {
		cfg.MaxTransactions = c.MaxTransactions + spareTransactions + maxEach*eachWindow
	}
	return cfg
}
