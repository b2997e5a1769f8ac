package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/ndbgate/ndbgate/store"
)

const (
	connMaxLifetime = 30 * time.Minute // so that connections follow a changed address or balancer
	connMaxIdleTime = 5 * time.Minute

	probeTimeout  = 2 * time.Second
	firstInterval = 100 * time.Millisecond // between probes of a node that is down
	maxInterval   = 2 * time.Second
)

// node is one SQL node with its pool.
type node struct {
	address     string
	table       string
	packetBytes int64 // longest packet that the DSN allows; 0: what the server does
	pool        *sql.DB
	db          *gorm.DB // on pool
	killer      *killer
	log         *slog.Logger

	opened     time.Time
	open       atomic.Int64 // connections of the pool
	calls      atomic.Int64 // that have a connection or wait for one
	waiting    waiting
	lastAnswer atomic.Int64 // on clock
	silent     atomic.Bool  // what it was asked is unanswered for too long
	limits     atomic.Pointer[knownLimits]
	batches    atomic.Pointer[batchLimits]

	reason atomic.Pointer[error] // why it is down; nil while it is up
	doubt  chan struct{}         // wakes watch; holds one
	done   sync.WaitGroup        // of watch and the killer
}

// openNode connects to nothing yet. Its goroutines end when ctx is done; close
// waits for that.
func openNode(ctx context.Context, dsn, table string, cfg *Config) (*node, error) {
	c, err := parseDSN(dsn, cfg)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errParamDSN
	}
	n := &node{
		address: c.Addr, table: table, packetBytes: int64(c.MaxAllowedPacket), log: cfg.Logger.With("node", c.Addr),
		opened: time.Now(), doubt: make(chan struct{}, 1),
	}
	pooled := connector{inner, n, &n.open, c.Timeout, limits(cfg.StatementTimeout)}
	n.pool = sql.OpenDB(pooled)
	n.pool.SetMaxOpenConns(cfg.MaxOpenConns)
	n.pool.SetMaxIdleConns(cfg.MaxOpenConns)
	n.pool.SetConnMaxLifetime(connMaxLifetime)
	n.pool.SetConnMaxIdleTime(connMaxIdleTime)
	// A probe has its own connection: the pool may have none to spare.
	alone := pooled
	alone.open = new(atomic.Int64)
	probePool := sql.OpenDB(alone)
	probePool.SetMaxIdleConns(-1)
	n.killer = newKiller(alone)
	var errPool, errProbe error
	var probeDB *gorm.DB
	n.db, errPool = openGORM(n.pool, table)
	probeDB, errProbe = openGORM(probePool, table)
	if err := errors.Join(errPool, errProbe); err != nil {
		return nil, errors.Join(fmt.Errorf("open GORM: %w", err), n.pool.Close(), probePool.Close(), n.killer.pool.Close())
	}
	n.suspect() // what is true at the start is not known yet

	n.done.Go(func() { // ends with ctx
		n.watch(ctx, probeDB)
		_ = probePool.Close()
	})
	n.done.Go(func() { // ends with ctx
		n.killer.run(ctx)
		_ = n.killer.pool.Close()
	})
	return n, nil
}

func openGORM(pool *sql.DB, table string) (*gorm.DB, error) {
	db, err := gorm.Open(
		gormmysql.New(gormmysql.Config{Conn: pool, SkipInitializeWithVersion: true}),
		&gorm.Config{
			SkipDefaultTransaction: true, // one statement is a transaction by itself
			DisableAutomaticPing:   true,
			QueryFields:            true, // a column that the model lacks does no harm
			Logger:                 logger.Discard,
		})
	if err == nil {
		db = db.Table(table).Session(&gorm.Session{})
	}
	return db, err
}

// close ends the pool; the context given to openNode must be done.
func (n *node) close() error {
	n.done.Wait()
	return n.pool.Close()
}

// down returns why the node is down, or nil.
func (n *node) down() error {
	if reason := n.reason.Load(); reason != nil {
		return *reason
	}
	return nil
}

// fail takes the node out of the turn until a probe finds it back.
func (n *node) fail(reason error) {
	if n.reason.Swap(&reason) == nil {
		n.log.Warn("SQL node is down", "reason", reason.Error())
	}
	n.suspect()
}

// serves takes note of a call that the node carried out.
func (n *node) serves() {
	if n.down() != nil && n.reason.Swap(nil) != nil {
		n.log.Info("SQL node is up")
	}
}

// suspect has the node probed soon.
func (n *node) suspect() {
	select {
	case n.doubt <- struct{}{}:
	default: // a probe is due anyway
	}
}

// watch probes the node when it is in doubt, and while it is down at growing
// intervals, until ctx is done.
func (n *node) watch(ctx context.Context, db *gorm.DB) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.doubt:
		}
		interval := firstInterval
		for {
			err := n.probe(ctx, db)
			if ctx.Err() != nil {
				return
			}
			n.learn(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(interval): // also after success: doubts come in crowds
			}
			if err == nil {
				break
			}
			interval = min(2*interval, maxInterval)
		}
	}
}

func (n *node) probe(ctx context.Context, db *gorm.DB) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	a := n.begin(ctx)
	defer n.end(a)
	a.progress.Store(sent) // no other node can answer for this one
	return readAnyRow(db.WithContext(a.ctx))
}

// learn takes the result of a probe. A node with no connection to spare still
// serves those that it has.
func (n *node) learn(err error) {
	if err == nil || isCrowded(err) && n.open.Load() > 0 {
		n.serves()
		return
	}
	reason := scrub(err)
	if n.reason.Swap(&reason) == nil {
		n.log.Warn("SQL node is down", "reason", reason.Error())
	}
}

// whyNot returns why the node is down or silent, or nil.
func (n *node) whyNot() error {
	if err := n.down(); err != nil {
		return err
	}
	if n.silent.Load() {
		return errSilent
	}
	return nil
}

func (n *node) status() store.NodeStatus {
	stats := n.pool.Stats()
	return store.NodeStatus{
		Address:  n.address,
		Up:       n.whyNot() == nil,
		Max:      stats.MaxOpenConnections,
		InUse:    stats.InUse,
		Idle:     stats.Idle,
		Waiting:  max(0, int(n.calls.Load())-stats.InUse), // two numbers of almost the same instant
		Waits:    stats.WaitCount,
		WaitTime: stats.WaitDuration,
	}
}
