// Package sqlnode plays the SQL node of a cluster: a MySQL server in this process
// over the rows of an ndbtest.Cluster, which native clients of the cluster read
// and write at the same time.
//
// Parsing and executing is the work of go-mysql-server. Rows, transactions and
// row locks are the cluster's, and so are the definitions of tables: one that is
// made with CREATE TABLE is there for native clients, and the reverse. What
// differs from a real mysqld is listed in GAPS.md.
package sqlnode

import (
	"errors"
	"fmt"
	"net"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// Version is what the node says of itself: the MySQL version whose words the
// engine follows, and what it is.
const Version = "8.0.31-devcluster"

// Config says how to start a node.
type Config struct {
	// Cluster has the tables and their rows. It has to live longer than the
	// node, and to have been started with Weights, so that both compare text in
	// the same way.
	Cluster *ndbtest.Cluster
	// Listen is the host and port to listen on; empty means 127.0.0.1:0.
	Listen string
	// Database is the one that DSN names. It needs not exist.
	Database string
}

// Node is a running SQL node.
type Node struct {
	listener *listener
	engine   *sqle.Engine
	server   *server.Server
	sessions *sessions
	database string
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
	databases := newDatabases(cfg.Cluster)
	engine := sqle.New(analyzer.NewDefaultWithVersion(databases), nil)
	engine.Analyzer.ExecBuilder = executor{databases}

	n := &Node{
		listener: newListener(l), engine: engine, sessions: &sessions{cfg.Cluster},
		database: cfg.Database, done: make(chan struct{}),
	}
	n.server, err = server.NewServerWithHandler(server.Config{
		Listener: n.listener,
		Version:  Version,
	}, engine, sql.NewContext, n.sessions.build, nil, newHandler)
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
func (n *Node) DSN() string { return fmt.Sprintf("root@tcp(%s)/%s", n.Addr(), n.database) }

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
