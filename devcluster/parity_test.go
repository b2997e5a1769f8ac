package main

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/internal/parity"
)

// paritySteps is the number of steps on all tables together.
const paritySteps = 2000

// skipIfShort leaves out random steps of one client where they take minutes, as
// under the race detector.
func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one client's random steps are for the full run")
	}
}

// TestParity compares the roads on twins of each table whose texts ndbtest knows
// how to compare.
func TestParity(t *testing.T) {
	skipIfShort(t)
	for _, table := range parity.Tables() {
		if table.KnownToNDBTest() {
			t.Run(table.Name, func(t *testing.T) {
				parity.Run(t, parityTwins(t, &table), parity.Config{Steps: table.StepsOf(paritySteps), NoOrder: table.NoOrder(), CalendarOnly: true})
			})
		}
	}
}

// Lists of many rows come in parts from several data nodes, or in pages.
func TestParity_ManyRows(t *testing.T) {
	skipIfShort(t)
	const rows = 1000
	table := parity.Tables()[0]
	parity.Run(t, parityTwins(t, &table), parity.Config{Steps: paritySteps / 20, Rows: rows, CalendarOnly: true})
}

func TestParity_RowsInUse_SameKindsOfErrors(t *testing.T) {
	table := parity.Tables()[0]
	parity.RunBlocked(t, parityTwins(t, &table)[0])
}

// parityTwins makes the table in two databases of a cluster of its own.
func parityTwins(t *testing.T, table *parity.Table) [2]parity.Twin {
	t.Helper()
	c := testCluster(t)
	var twins [2]parity.Twin
	for i := range twins {
		name := fmt.Sprintf("twin%d", i)
		twins[i].Others = others(t, c, name)
		execute(t, twins[i].Others, "CREATE DATABASE "+name, "USE "+name, table.Create(), parity.CreateAnswers)
		native := openNDB(t, c, name)
		twins[i].NDB, twins[i].SQL = native, openDurableSQL(t, c, name, native.WaitAllDurable)
	}
	return twins
}

// others is one connection of other programs.
func others(t *testing.T, c *cluster, database string) *sql.DB {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", c.sql.Addr()
	cfg.InterpolateParams = true
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

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
