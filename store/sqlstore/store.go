// Package sqlstore is the SQL road: GORM over one or more mysqlds that share
// the table, as the SQL nodes of an NDB Cluster do.
//
// Calls take the nodes in turn. A node that cannot be reached is skipped until
// a probe in the background finds it back, and one that answers nothing comes
// last; a call that a node surely did not carry out goes to the next one, as
// does one that waits for a silent node and has written nothing.
package sqlstore

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

// Config describes the SQL nodes. The zero value of a field other than DSNs
// means its default.
type Config struct {
	// DSNs names one SQL node each, in the form of go-sql-driver/mysql:
	// user:password@tcp(host:port)/database?param=value. What the road needs
	// for itself is set whatever a DSN says: the character set, found rows,
	// strict SQL mode, autocommit, isolation READ COMMITTED and the limits of
	// StatementTimeout.
	DSNs []string

	Table        string        // default: the table of the model
	MaxOpenConns int           // the most connections to each SQL node; default 64
	DialTimeout  time.Duration // for DSNs without the parameter timeout; default 2 s
	Logger       *slog.Logger  // told when a node goes down or comes back; default: none

	// TLS is for DSNs without the parameter tls; default TLSAuto. CAs are those
	// that sign the servers' certificates; nil: those of the system.
	TLS TLSMode
	CAs *x509.CertPool

	// StatementTimeout, in whole seconds, is how long a server lets a statement
	// wait for locks, or read. It is meant to be about the longest deadline of
	// a call: what goes on after that is of no use. Default 10 s.
	StatementTimeout time.Duration

	// WaitDurable returns once everything that any SQL node has committed before
	// the call is on disk in the cluster, which no SQL node can tell. Nil: the
	// road cannot wait for that.
	WaitDurable func(ctx context.Context) error
	// CheckDurable tells why WaitDurable would fail now, without a round trip;
	// see store.CheckDurable. Default: there is never a reason.
	CheckDurable func() error
}

const (
	defaultMaxOpenConns     = 64
	defaultDialTimeout      = 2 * time.Second
	defaultStatementTimeout = 10 * time.Second
)

var tableName = regexp.MustCompile(`^[0-9A-Za-z_$]{1,64}$`)

// Validate names the field that is wrong, never a password.
func (c *Config) Validate() error {
	if c.Table != "" && !tableName.MatchString(c.Table) {
		return fmt.Errorf("table %q: not a plain name", c.Table)
	}
	if c.MaxOpenConns < 0 {
		return fmt.Errorf("max open connections %d: must not be negative", c.MaxOpenConns)
	}
	if c.DialTimeout < 0 {
		return fmt.Errorf("dial timeout %v: must not be negative", c.DialTimeout)
	}
	if c.StatementTimeout < 0 {
		return fmt.Errorf("statement timeout %v: must not be negative", c.StatementTimeout)
	}
	if err := c.validateTLS(); err != nil {
		return err
	}
	if len(c.DSNs) == 0 {
		return errors.New("no DSN: at least one SQL node is needed")
	}
	for i, dsn := range c.DSNs {
		if _, err := parseDSN(dsn, c); err != nil {
			return fmt.Errorf("DSN %d of %d: %w", i+1, len(c.DSNs), err)
		}
	}
	return nil
}

// Store is the SQL road. It is safe for concurrent use.
type Store struct {
	nodes   []*node
	columns columns
	turn    atomic.Uint64
	saves   atomic.Int64 // numbers the upserts, see upsert

	waitDurable  func(context.Context) error // nil: cannot be told
	checkDurable func() error                // may be nil
	retries      atomic.Uint64
	unknown      atomic.Uint64 // outcomes

	closing   context.Context // done once Close was called
	close     context.CancelFunc
	listening sync.WaitGroup
}

var (
	_ store.Backend  = (*Store)(nil)
	_ store.Durable  = (*Store)(nil)
	_ store.Counting = (*Store)(nil)
)

// Open returns a store without waiting for any SQL node: what is down is found
// out in the background and by the first calls. The caller must Close it.
func Open(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.MaxOpenConns = cmp.Or(cfg.MaxOpenConns, defaultMaxOpenConns)
	cfg.StatementTimeout = cmp.Or(cfg.StatementTimeout, defaultStatementTimeout)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	columns, err := readColumns()
	if err != nil {
		return nil, err
	}
	s := &Store{columns: columns, waitDurable: cfg.WaitDurable, checkDurable: cfg.CheckDurable}
	s.closing, s.close = context.WithCancel(context.Background())
	for i, dsn := range cfg.DSNs {
		n, err := openNode(s.closing, dsn, cmp.Or(cfg.Table, columns.table), &cfg)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("DSN %d of %d: %w", i+1, len(cfg.DSNs), err), s.Close())
		}
		s.nodes = append(s.nodes, n)
	}
	s.listening.Go(s.listen) // ends with Close
	return s, nil
}

// Close ends the pools. Calls still running end with an error.
func (s *Store) Close() error {
	s.close()
	s.listening.Wait()
	var errs []error
	for _, n := range s.nodes {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}

// Ping implements store.Backend: it reads at most one row of the table on any
// node that answers.
func (s *Store) Ping(ctx context.Context) error {
	err := s.do(ctx, call{op: "ping", shares: true}, readAnyRow)
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

var errNeverDurable = errors.New("the SQL road alone cannot tell when a commit is on disk")

// CheckDurable tells why WaitDurable would fail now; see store.CheckDurable.
func (s *Store) CheckDurable() error {
	switch {
	case s.waitDurable == nil:
		return errNeverDurable
	case s.checkDurable != nil:
		return s.checkDurable()
	default:
		return nil
	}
}

// WaitDurable implements store.Durable by the function of the Config.
func (s *Store) WaitDurable(ctx context.Context) error {
	if s.waitDurable == nil {
		return errNeverDurable
	}
	return s.waitDurable(ctx)
}

// Counters implements store.Counting. A retry is a call that went on to another
// SQL node, or an upsert whose row was deleted under it.
func (s *Store) Counters() store.Counters {
	return store.Counters{Retries: s.retries.Load(), UnknownOutcomes: s.unknown.Load()}
}

// Status implements store.Backend.
func (s *Store) Status() store.Status {
	status := store.Status{Nodes: make([]store.NodeStatus, len(s.nodes))}
	for i, n := range s.nodes {
		status.Nodes[i] = n.status()
		status.Up = status.Up || status.Nodes[i].Up
	}
	if !status.Up {
		status.Reason = s.whyDown()
	}
	return status
}

// whyDown lists the reasons of all nodes that are down or silent.
func (s *Store) whyDown() string {
	var reasons []string
	for _, n := range s.nodes {
		if err := n.whyNot(); err != nil {
			reasons = append(reasons, n.address+": "+err.Error())
		}
	}
	return strings.Join(reasons, "; ")
}
