// Package sqlnode plays the SQL node of a cluster: a MySQL server with the
// database ndbtest and its table employee, in this process and in memory.
//
// Parsing and executing is the work of go-mysql-server. The rows and their
// transactions are those of package rows, because the tables that come with
// go-mysql-server know neither row locks nor isolation. What differs from a
// real mysqld is listed in GAPS.md.
package sqlnode

import (
	"errors"
	"fmt"
	"net"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"

	"github.com/ndbgate/ndbgate/devcluster/rows"
)

// Version is what the node says of itself: the MySQL version whose words the
// engine follows, and what it is.
const Version = "8.0.31-devcluster"

// Config says how to start a node. The zero Config is a node on a free port.
type Config struct {
	// Listen is the host and port to listen on; empty means 127.0.0.1:0.
	Listen string
	// LockWait is how long a statement waits for a row that another
	// transaction has locked; zero means rows.DefaultLockWait.
	LockWait time.Duration
	// OnLockWait, if not nil, is called when a statement begins to wait for a
	// row. It is a hook for tests.
	OnLockWait func()
}

// Node is a running SQL node.
type Node struct {
	listener *listener
	engine   *sqle.Engine
	server   *server.Server
	done     chan struct{} // closed when the server accepts no more
}

// Start starts a node. It serves when Start returns, and until Close.
func Start(cfg Config) (*Node, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, err
	}
	store := rows.NewStore(rows.Config{
		Key:      municipalityKey,
		LockWait: cfg.LockWait,
		OnWait:   cfg.OnLockWait,
	})
	table := newTable(store)
	provider := sql.NewDatabaseProvider(&database{table: table})
	engine := sqle.New(analyzer.NewDefaultWithVersion(provider), nil)
	engine.Analyzer.ExecBuilder = executor{table}

	n := &Node{listener: newListener(l), engine: engine, done: make(chan struct{})}
	n.server, err = server.NewServerWithHandler(server.Config{
		Listener: n.listener,
		Version:  Version,
	}, engine, sql.NewContext, newSessionBuilder(store), nil, newHandler)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("SQL node on %s: %w", cfg.Listen, err), l.Close())
	}
	// Ends when Close closes the listener.
	go func() {
		defer close(n.done)
		_ = n.server.Start()
	}()
	return n, nil
}

// Addr returns the host and port of the node.
func (n *Node) Addr() string { return n.listener.Addr().String() }

// DSN returns how to connect to the node, in the form of
// github.com/go-sql-driver/mysql.
func (n *Node) DSN() string {
	return fmt.Sprintf("root@tcp(%s)/%s", n.Addr(), databaseName)
}

// Close closes all connections and waits until nobody uses the node any more.
func (n *Node) Close() error {
	err := n.listener.Close()
	<-n.done
	n.listener.closeConns()
	n.server.SessionManager().WaitForClosedConnections()
	// All it has to say is that it was closed.
	_ = n.engine.Close()
	return err
}
