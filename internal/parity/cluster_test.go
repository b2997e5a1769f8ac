package parity

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clusterSteps is the number of steps on all tables together.
const clusterSteps = 3000

// patience is how long a test waits for what comes at once where all is well.
const patience = time.Minute

const pingInterval = 100 * time.Millisecond

// TestRealCluster compares the roads on tables that it makes.
func TestRealCluster(t *testing.T) {
	needCluster(t)
	for _, table := range Tables() {
		t.Run(table.Name, func(t *testing.T) {
			Run(t, realTwins(t, &table), Config{Steps: table.StepsOf(clusterSteps), NoOrder: table.NoOrder()})
		})
	}
}

// Lists of many rows come in parts from several data nodes, or in pages.
func TestRealCluster_ManyRows(t *testing.T) {
	const rows = 3000
	needCluster(t)
	for _, table := range Tables() {
		if table.Name == "original" || table.Name == "unicode" {
			Run(t, realTwins(t, &table), Config{Steps: episodeSteps, Rows: rows, NoOrder: table.NoOrder()})
		}
	}
}

// What one road has begun the other goes on with.
func TestRealCluster_Contract_EachCallTakesTheOtherRoad(t *testing.T) {
	needCluster(t)
	twin := realTwins(t, &Tables()[0])[0]
	storetest.Run(t, func(*testing.T) store.Employees { return Alternate(twin.NDB, twin.SQL) })
}

func TestRealCluster_RowsInUse_SameKindsOfErrors(t *testing.T) {
	needCluster(t)
	RunBlocked(t, realTwins(t, &Tables()[0])[0])
}

// needCluster skips the test where there is none, and waits for its turn.
func needCluster(t testing.TB) {
	t.Helper()
	for _, name := range []string{"TEST_NDB_CONNECTSTRING", "TEST_MYSQL_DSN"} {
		if os.Getenv(name) == "" {
			t.Skipf("%s is not set: no cluster to test on", name)
		}
	}
	takeTurn(t)
}

// dsns are those of the SQL nodes, for a database.
func dsns(t testing.TB, database string) []*mysql.Config {
	t.Helper()
	var all []*mysql.Config
	for _, dsn := range strings.Fields(os.Getenv("TEST_MYSQL_DSN")) {
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.DBName = database
		all = append(all, cfg)
	}
	return all
}

// connect is one connection of other programs, to the first SQL node.
func connect(t testing.TB, database string) *sql.DB {
	t.Helper()
	cfg := dsns(t, database)[0]
	cfg.Params = map[string]string{"sql_mode": "'ALLOW_INVALID_DATES'"}
	cfg.InterpolateParams = true // for a text in a statement, what its column cannot store becomes "?"; a parameter is refused
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// takeTurn waits for the end of other runs on the same cluster: the databases
// have the same names.
func takeTurn(t testing.TB) {
	t.Helper()
	var got sql.NullInt64
	row := connect(t, "").QueryRowContext(t.Context(), "SELECT GET_LOCK('parity', ?)", int((10 * patience).Seconds()))
	if err := row.Scan(&got); err != nil || got.Int64 != 1 {
		t.Fatalf("the turn did not come: %v, %v", got, err)
	}
}

// realTwins makes the table in two databases.
func realTwins(t testing.TB, table *Table) [2]Twin {
	t.Helper()
	names := [2]string{"parity_" + table.Name + "_first", "parity_" + table.Name + "_second"}
	server := connect(t, "")
	var twins [2]Twin
	for i, name := range names {
		exec(t, server, "DROP DATABASE IF EXISTS "+name)
		exec(t, server, "CREATE DATABASE "+name)
		t.Cleanup(func() {
			if _, err := server.Exec("DROP DATABASE " + name); err != nil {
				t.Error(err)
			}
		})
		twins[i].Others = connect(t, name)
		exec(t, twins[i].Others, table.Create())
		exec(t, twins[i].Others, CreateAnswers)
		native := openNDB(t, name)
		twins[i].NDB, twins[i].SQL = native, openSQL(t, name, native)
	}
	for _, road := range []store.Backend{twins[0].NDB, twins[0].SQL, twins[1].NDB, twins[1].SQL} {
		await(t, road)
	}
	return twins
}

// await waits until a road serves. A node ID that somebody has just given back is
// not free at once.
func await(t testing.TB, road store.Backend) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(pingInterval)
	defer again.Stop()
	for {
		err := road.Ping(ctx)
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func exec(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%.200s: %v", statement, err)
	}
}

func openNDB(t testing.TB, database string) *ndbapi.Store {
	t.Helper()
	s, err := ndbapi.Open(ndbapi.Config{Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING"), Database: database})
	if err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	return s
}

// openSQL opens the SQL road, for which the native one waits for the disk.
func openSQL(t testing.TB, database string, native *ndbapi.Store) store.Backend {
	t.Helper()
	cfg := sqlstore.Config{WaitDurable: native.WaitAllDurable}
	for _, dsn := range dsns(t, database) {
		cfg.DSNs = append(cfg.DSNs, dsn.FormatDSN())
	}
	s, err := sqlstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	return s
}

func closing(t testing.TB, s store.Backend) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
