package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	maxVictims  = 64 // that wait for the killer; more go on until the limits of their session
	killTimeout = time.Second
)

// killer ends sessions whose statement was cut off by a deadline: the server
// notices that its client has left only after the statement.
type killer struct {
	pool    *sql.DB // keeps no connection
	victims chan session
}

func newKiller(c connector) *killer {
	k := &killer{pool: sql.OpenDB(c), victims: make(chan session, maxVictims)}
	k.pool.SetMaxIdleConns(-1)
	return k
}

// end has the session ended soon, if it still runs.
func (k *killer) end(victim session) {
	if victim == (session{}) {
		return
	}
	select {
	case k.victims <- victim:
	default:
	}
}

// run ends when ctx is done.
func (k *killer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case victim := <-k.victims:
			// An error says that it is gone already, or that the server is.
			_ = k.kill(ctx, victim)
		}
	}
}

func (k *killer) kill(ctx context.Context, victim session) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	c, err := k.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return c.Raw(func(driverConn any) error {
		own := driverConn.(*conn)
		// Behind a balancer this may be another server, and after a restart
		// the number may be another session's: numbers then start anew.
		if own.session.server != victim.server || own.session.id <= victim.id {
			return nil
		}
		_, err := own.innerConn.ExecContext(ctx, fmt.Sprintf("KILL %d", victim.id), nil)
		return err
	})
}
