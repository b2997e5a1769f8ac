package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// connector wraps the connector of the MySQL driver: its connections keep their
// prepared statements, mark in the attempt when a write leaves and tell the node
// what they hear.
type connector struct {
	driver.Connector
	node    *node
	open    *atomic.Int64 // its connections
	timeout time.Duration // for dialing and handshake together; the MySQL driver bounds only the first
	limits  []string      // of a session
}

// connectError is a failure to get a connection: surely nothing was done.
type connectError struct {
	cause error
}

func (e *connectError) Error() string { return "connect: " + e.cause.Error() }
func (e *connectError) Unwrap() error { return e.cause }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	connected, err := c.connect(ctx)
	if err == nil || errorNumber(err) != 0 {
		c.node.answered()
	}
	if err != nil {
		return nil, &connectError{err}
	}
	c.open.Add(1)
	return connected, nil
}

func (c connector) connect(ctx context.Context) (*conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	mysqlConn, ok := inner.(innerConn)
	if !ok {
		panic(fmt.Sprintf("sqlstore: the connections of the MySQL driver (%T) lack methods", inner))
	}
	if err := setLimits(ctx, mysqlConn, c.limits); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	own, err := askSession(ctx, mysqlConn)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return &conn{innerConn: mysqlConn, node: c.node, open: c.open, session: own, stmts: newStmtCache()}, nil
}

// innerConn is what the connections of the MySQL driver can do.
type innerConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn runs every statement with arguments as a prepared one, which it keeps unless
// the call says that it is of no further use.
// GORM's own cache is not used: it prepares on the context of one caller while
// others wait for that without a deadline, and prepares again in each
// transaction. Nor may sql.DB prepare: its statements would mark nothing.
type conn struct {
	innerConn
	node    *node
	open    *atomic.Int64
	session session
	stmts   *stmtCache
	inTx    bool // until the server has said that the transaction is over
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.open.Add(-1)
	return c.innerConn.Close()
}

// heard takes note of how a statement ended.
func (c *conn) heard(ctx context.Context, err error) {
	switch {
	case err == nil || errorNumber(err) != 0:
		c.node.answered()
	case ctx.Err() != nil && !c.innerConn.IsValid():
		c.node.killer.end(c.session)
	}
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	attemptOf(ctx).reached = true
	text, span := c.traced(ctx, query)
	result, err := c.exec(ctx, text, args, attemptOf(ctx).oneShot || text != query)
	endSpan(span, err)
	return result, err
}

// exec runs a statement, and keeps it prepared unless it is of no further use.
func (c *conn) exec(ctx context.Context, query string, args []driver.NamedValue, once bool) (driver.Result, error) {
	run := func() (driver.Result, error) { return c.innerConn.ExecContext(ctx, query, nil) }
	if len(args) > 0 {
		stmt, release, err := c.prepared(ctx, query, once)
		if err != nil {
			return nil, err
		}
		defer release()
		run = func() (driver.Result, error) { return stmt.ExecContext(ctx, args) }
	}
	if c.inTx {
		result, err := run()
		c.heard(ctx, err)
		c.forgetLost(query, err)
		return result, err
	}
	var result driver.Result
	err := send(ctx, func() (err error) {
		result, err = run()
		return err
	})
	c.heard(ctx, err)
	c.forgetLost(query, err)
	return result, err
}

// QueryContext implements driver.QueryerContext. The span of a traced query ends
// with the first rows; its statement stays until others push it out.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	attemptOf(ctx).reached = true
	query, span := c.traced(ctx, query)
	rows, err := c.query(ctx, query, args)
	endSpan(span, err)
	return rows, err
}

func (c *conn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		rows, err := c.innerConn.QueryContext(ctx, query, nil)
		c.heard(ctx, err)
		return rows, err
	}
	stmt, err := c.kept(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args)
	c.heard(ctx, err)
	c.forgetLost(query, err)
	return rows, err
}

// send marks the attempt while a write leaves. The MySQL driver answers
// ErrBadConn only where it wrote nothing; database/sql then tries again.
func send(ctx context.Context, write func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := attemptOf(ctx)
	first := a.progress.CompareAndSwap(unsent, sent)
	if !first && !a.isSent() {
		return context.Canceled // called off at this moment
	}
	err := write()
	if first && errors.Is(err, driver.ErrBadConn) {
		a.progress.Store(unsent)
	}
	return err
}

// prepared returns a statement to be released after use.
func (c *conn) prepared(ctx context.Context, query string, once bool) (stmt preparedStmt, release func(), err error) {
	if !once {
		stmt, err = c.kept(ctx, query)
		return stmt, func() {}, err
	}
	stmt, err = c.prepare(ctx, query)
	// The server does not answer that, and an error shows at the next use of the
	// connection.
	return stmt, func() { _ = stmt.Close() }, err
}

// kept returns a statement that stays prepared.
func (c *conn) kept(ctx context.Context, query string) (preparedStmt, error) {
	if stmt, ok := c.stmts.get(query); ok {
		return stmt, nil
	}
	stmt, err := c.prepare(ctx, query)
	if err == nil {
		c.stmts.put(query, stmt)
	}
	return stmt, err
}

func (c *conn) prepare(ctx context.Context, query string) (preparedStmt, error) {
	inner, err := c.PrepareContext(ctx, query)
	c.heard(ctx, err)
	if err != nil {
		return nil, err
	}
	stmt, ok := inner.(preparedStmt)
	if !ok {
		panic(fmt.Sprintf("sqlstore: the statements of the MySQL driver (%T) lack methods", inner))
	}
	return stmt, nil
}

// forgetLost drops a statement that the server no longer has.
func (c *conn) forgetLost(query string, err error) {
	if n := errorNumber(err); n == errUnknownStmt || n == errNeedReprepare {
		c.stmts.drop(query)
	}
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	attemptOf(ctx).reached = true
	_, err := c.innerConn.BeginTx(ctx, opts)
	c.heard(ctx, err)
	if err != nil {
		return nil, err
	}
	c.inTx = true
	return &tx{conn: c, ctx: ctx}, nil
}

// IsValid implements driver.Validator. A connection that may still be in a
// transaction is given up: the next one would commit it.
func (c *conn) IsValid() bool { return !c.inTx && c.innerConn.IsValid() }

// tx ends a transaction by statements that heed the context; the MySQL driver's
// own Commit and Rollback would wait for a silent server for ever. driver.Tx
// passes no context, so it is kept.
type tx struct {
	conn *conn
	ctx  context.Context
}

// Commit implements driver.Tx.
func (t *tx) Commit() error {
	return send(t.ctx, func() error { return t.end("COMMIT") })
}

// Rollback implements driver.Tx. Once the context has ended it gives the
// connection up instead, and the server rolls back.
func (t *tx) Rollback() error {
	if t.ctx.Err() != nil {
		return driver.ErrBadConn
	}
	return t.end("ROLLBACK")
}

func (t *tx) end(statement string) error {
	_, err := t.conn.innerConn.ExecContext(t.ctx, statement, nil)
	t.conn.heard(t.ctx, err)
	if err == nil {
		t.conn.inTx = false
	}
	return err
}
