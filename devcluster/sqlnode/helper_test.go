package sqlnode_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	stdlog "log"
	"os"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/deploy"
	"github.com/ndbgate/ndbgate/devcluster/sqlnode"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	stdlog.SetOutput(io.Discard)
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// config says how to start a node.
type config struct {
	// LockWait is how long a statement waits for a row; zero is the cluster's
	// default.
	LockWait time.Duration
	// OnLockWait is called when a statement begins to wait for a row.
	OnLockWait func()
}

// start starts a node and returns a client of it, connected in the way the
// gateway connects.
func start(t testing.TB, cfg config) *sql.DB {
	t.Helper()
	return connect(t, startNode(t, cfg), false)
}

// startNode starts a node with the tables of deploy/schema.sql.
func startNode(t testing.TB, cfg config) *sqlnode.Node {
	t.Helper()
	n, _ := startCluster(t, cfg)
	return n
}

// startCluster is startNode with the cluster below it.
func startCluster(t testing.TB, cfg config) (*sqlnode.Node, *ndbtest.Cluster) {
	t.Helper()
	opts := []ndbtest.Option{ndbtest.InMemory(), sqlnode.Weights()}
	if cfg.LockWait != 0 {
		opts = append(opts, ndbtest.LockWaitTimeout(cfg.LockWait))
	}
	if cfg.OnLockWait != nil {
		opts = append(opts, ndbtest.OnLockWait(cfg.OnLockWait))
	}
	cluster := ndbtest.Run(t, opts...)
	n, err := sqlnode.Start(sqlnode.Config{Cluster: cluster, Database: "ndbtest"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := n.Run(t.Context(), deploy.Schema); err != nil {
		t.Fatal(err)
	}
	return n, cluster
}

// connect returns a client that sends arguments as parameters of prepared
// statements, or with literals writes them into the text of the statement.
func connect(t testing.TB, n *sqlnode.Node, literals bool) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(n.DSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.ClientFoundRows = true
	cfg.ParseTime = true
	cfg.InterpolateParams = literals
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// execer is a *sql.DB, a *sql.Tx or a *sql.Conn.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func exec(t testing.TB, db execer, query string, args ...any) sql.Result {
	t.Helper()
	res, err := db.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return res
}

func affected(t testing.TB, res sql.Result) int64 {
	t.Helper()
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func lastInsertID(t testing.TB, res sql.Result) int64 {
	t.Helper()
	id, err := res.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// query returns all rows with a single column.
func query[T any](t testing.TB, db execer, query string, args ...any) []T {
	t.Helper()
	res, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer res.Close()
	var got []T
	for res.Next() {
		var v T
		if err := res.Scan(&v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		got = append(got, v)
	}
	if err := res.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}

// wantError checks an error of the server.
func wantError(t testing.TB, err error, number uint16, message string) {
	t.Helper()
	var my *mysql.MySQLError
	if !errors.As(err, &my) {
		t.Fatalf("error is %v, want MySQL error %d", err, number)
	}
	if my.Number != number || my.Message != message {
		t.Fatalf("error is %d %q, want %d %q", my.Number, my.Message, number, message)
	}
}
