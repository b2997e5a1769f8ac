package sqlstore

import "database/sql/driver"

// maxStmts bounds the prepared statements of a connection. 64 connections keep
// at most a quarter of what a mysqld allows for all its clients.
const maxStmts = 64

// preparedStmt is what the statements of the MySQL driver can do.
type preparedStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmtCache keeps the prepared statements of one connection that were used
// last. Like the connection it is used by one goroutine at a time.
type stmtCache struct {
	entries map[string]*stmtEntry
	uses    uint64
}

type stmtEntry struct {
	stmt    preparedStmt
	lastUse uint64
}

func newStmtCache() *stmtCache {
	return &stmtCache{entries: map[string]*stmtEntry{}}
}

func (c *stmtCache) get(query string) (preparedStmt, bool) {
	e, ok := c.entries[query]
	if !ok {
		return nil, false
	}
	c.uses++
	e.lastUse = c.uses
	return e.stmt, true
}

func (c *stmtCache) put(query string, stmt preparedStmt) {
	if len(c.entries) >= maxStmts {
		c.drop(c.oldest())
	}
	c.uses++
	c.entries[query] = &stmtEntry{stmt, c.uses}
}

func (c *stmtCache) oldest() string {
	oldest, lastUse := "", c.uses+1
	for query, e := range c.entries {
		if e.lastUse < lastUse {
			oldest, lastUse = query, e.lastUse
		}
	}
	return oldest
}

// drop closes the statement. The server does not answer that, and an error
// shows at the next use of the connection.
func (c *stmtCache) drop(query string) {
	if e, ok := c.entries[query]; ok {
		delete(c.entries, query)
		_ = e.stmt.Close()
	}
}
