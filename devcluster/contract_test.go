package main

import (
	"context"
	"testing"

	"github.com/ndbgate/ndbgate/internal/parity"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

// TestContract proves that both roads over this cluster are ones that the
// gateway's own suite accepts.
func TestContract(t *testing.T) {
	t.Run("ndb", func(t *testing.T) {
		c := testCluster(t)
		storetest.Run(t, func(t *testing.T) store.Employees { return openNDB(t, c, databaseName) })
	})
	t.Run("sql", func(t *testing.T) {
		c := testCluster(t)
		storetest.Run(t, func(t *testing.T) store.Employees { return openSQL(t, c, databaseName) })
	})
	t.Run("crossed", func(t *testing.T) {
		c := testCluster(t)
		storetest.Run(t, func(t *testing.T) store.Employees {
			return parity.Alternate(openNDB(t, c, databaseName), openSQL(t, c, databaseName))
		})
	})
}

// testCluster is a cluster on free ports. A client's mistake fails the test.
func testCluster(t *testing.T, nodes ...ndbtest.Option) *cluster {
	t.Helper()
	c, err := startCluster(t.Context(), options{ndbListen: []string{anyPort}, sqlListen: []string{anyPort}, nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.close()
		for _, err := range c.nodes.Violations() {
			t.Error(err)
		}
	})
	return c
}

// openNDB opens the native road to a database.
func openNDB(t *testing.T, c *cluster, database string) *ndbapi.Store {
	t.Helper()
	s, err := ndbapi.Open(ndbapi.Config{Connectstring: c.nodes.Connectstring(), Database: database})
	if err != nil {
		t.Fatal(err)
	}
	ready(t, s)
	return s
}

// openSQL opens the SQL road to a database.
func openSQL(t *testing.T, c *cluster, database string) *sqlstore.Store {
	t.Helper()
	return openDurableSQL(t, c, database, nil)
}

// openDurableSQL opens the SQL road, which waits for the disk by the function.
func openDurableSQL(t *testing.T, c *cluster, database string, wait func(ctx context.Context) error) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(sqlstore.Config{DSNs: []string{"root@tcp(" + c.sql.Addr() + ")/" + database}, WaitDurable: wait})
	if err != nil {
		t.Fatal(err)
	}
	ready(t, s)
	return s
}

// ready waits until a road serves, and closes it at the end.
func ready(t *testing.T, s store.Backend) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}
