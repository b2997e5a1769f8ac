package ndbsql

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/ndb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is both roads to the same tables.
type bed struct {
	client   *ndb.Client
	db       *sql.DB
	database string
}

// newBed connects to the servers that the environment names, or skips the test.
func newBed(t testing.TB) *bed {
	t.Helper()
	for _, name := range []string{"TEST_NDB_CONNECTSTRING", "TEST_MYSQL_DSN"} {
		if os.Getenv(name) == "" {
			t.Skip("needs a cluster and its SQL node: " + name + " is not set")
		}
	}
	dsn, _, _ := strings.Cut(os.Getenv("TEST_MYSQL_DSN"), " ") // the first of several
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["sql_mode"] = "''"
	cfg.Params["optimizer_switch"] = "'engine_condition_pushdown=off'" // the server tests rows itself
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{db: sql.OpenDB(connector), database: cfg.DBName}
	t.Cleanup(func() {
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b.client, err = ndb.Connect(ctx, ndb.Config{Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING"), Name: "ndbsql-test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	return b
}

func (b *bed) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := b.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%.200s: %v", statement, err)
	}
}

// create makes a table that the test owns, and drops it at the end.
func (b *bed) create(t testing.TB, name, columns string) *ndb.Table {
	t.Helper()
	b.exec(t, "DROP TABLE IF EXISTS "+name)
	b.exec(t, "CREATE TABLE "+name+" ("+columns+") ENGINE=NDBCLUSTER")
	t.Cleanup(func() {
		if _, err := b.db.Exec("DROP TABLE IF EXISTS " + name); err != nil {
			t.Error(err)
		}
	})
	table, err := b.client.Table(t.Context(), b.database, name)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// null stands for NULL in the text form of a row.
const null = "<NULL>"

// query returns the rows of a SELECT, each as its values in text.
func (b *bed) query(t testing.TB, statement string, args ...any) [][]string {
	t.Helper()
	rows, err := b.db.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%.300s: %v", statement, err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	values, places := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(values))
		for i, v := range values {
			if row[i] = v.String; !v.Valid {
				row[i] = null
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// scan returns the rows of a scan, as query does.
func (b *bed) scan(t testing.TB, scan ndb.Scan) [][]string {
	t.Helper()
	rows, err := b.tryScan(t, scan)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func (b *bed) tryScan(t testing.TB, scan ndb.Scan) ([][]string, error) {
	t.Helper()
	s, err := b.client.Scan(t.Context(), scan)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return collect(t, s, scan.Columns)
}

func collect(t testing.TB, s *ndb.Scanner, columns *ndb.Projection) (all [][]string, err error) {
	t.Helper()
	for s.Next(t.Context()) {
		row := make([]string, len(columns.Columns()))
		for i := range row {
			if s.Row().IsNull(i) {
				row[i] = null
				continue
			}
			if row[i], err = s.Row().String(i); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, row)
	}
	return all, s.Err()
}

func column(t testing.TB, table *ndb.Table, name string) *ndb.Column {
	t.Helper()
	c, err := table.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func selectColumns(t testing.TB, table *ndb.Table, names ...string) *ndb.Projection {
	t.Helper()
	p, err := table.Select(names...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func index(t testing.TB, table *ndb.Table, name string) *ndb.Index {
	t.Helper()
	x, err := table.Index(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// awaitIdle waits until the client has given back all that it took.
func (b *bed) awaitIdle(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for b.client.Stats().Transactions > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want no transactions", b.client.Stats())
		}
		// A round trip takes its time, which is what this waits for.
		if _, err := b.db.ExecContext(t.Context(), "DO 1"); err != nil {
			t.Fatal(err)
		}
	}
}
