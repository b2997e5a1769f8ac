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
	address string
	pool    *sql.DB
	db      *gorm.DB // on pool
	log     *slog.Logger

	reason atomic.Pointer[error] // why it is down; nil while it is up
	doubt  chan struct{}         // wakes watch; holds one
	done   sync.WaitGroup        // of watch
}

// openNode connects to nothing yet. Its goroutine ends when ctx is done; close
// waits for that.
func openNode(ctx context.Context, dsn string, cfg *Config) (*node, error) {
	c, err := parseDSN(dsn, cfg)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errParamDSN
	}
	n := &node{address: c.Addr, log: cfg.Logger.With("node", c.Addr), doubt: make(chan struct{}, 1)}
	connector := connector{inner, c.Timeout}
	n.pool = sql.OpenDB(connector)
	n.pool.SetMaxOpenConns(cfg.MaxOpenConns)
	n.pool.SetMaxIdleConns(cfg.MaxOpenConns)
	n.pool.SetConnMaxLifetime(connMaxLifetime)
	n.pool.SetConnMaxIdleTime(connMaxIdleTime)
	// A probe has its own connection: the pool may have none to spare.
	probePool := sql.OpenDB(connector)
	probePool.SetMaxIdleConns(-1)
	var errPool, errProbe error
	var probeDB *gorm.DB
	n.db, errPool = openGORM(n.pool, cfg.Table)
	probeDB, errProbe = openGORM(probePool, cfg.Table)
	if err := errors.Join(errPool, errProbe); err != nil {
		return nil, errors.Join(fmt.Errorf("open GORM: %w", err), n.pool.Close(), probePool.Close())
	}
	n.suspect() // what is true at the start is not known yet
	n.done.Go(func() {
		n.watch(ctx, probeDB)
		_ = probePool.Close()
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
	if err == nil && table != "" {
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
			err := probe(ctx, db)
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

func probe(ctx context.Context, db *gorm.DB) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return readAnyRow(db.WithContext(ctx))
}

// learn takes the result of a probe. A node with no connection to spare still
// serves those that it has.
func (n *node) learn(err error) {
	switch {
	case err == nil || isCrowded(err):
		if n.reason.Swap(nil) != nil {
			n.log.Info("SQL node is up")
		}
	default:
		reason := scrub(err)
		if n.reason.Swap(&reason) == nil {
			n.log.Warn("SQL node is down", "reason", reason.Error())
		}
	}
}

func (n *node) status() store.NodeStatus {
	stats := n.pool.Stats()
	return store.NodeStatus{
		Address:  n.address,
		Up:       n.down() == nil,
		Max:      stats.MaxOpenConnections,
		InUse:    stats.InUse,
		Idle:     stats.Idle,
		Waits:    stats.WaitCount,
		WaitTime: stats.WaitDuration,
	}
}
