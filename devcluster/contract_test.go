package main

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/models"
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
			return &crossed{roads: []store.Employees{openNDB(t, c, databaseName), openSQL(t, c, databaseName)}}
		})
	})
}

// crossed takes the roads in turn.
type crossed struct {
	roads []store.Employees
	calls atomic.Uint64
}

func (c *crossed) next() store.Employees { return c.roads[c.calls.Add(1)%uint64(len(c.roads))] }

func (c *crossed) Get(ctx context.Context, id int64) (models.Employee, error) {
	return c.next().Get(ctx, id)
}

func (c *crossed) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	return c.next().List(ctx, q)
}

func (c *crossed) Count(ctx context.Context, f models.Filter) (int64, error) {
	return c.next().(store.Queries).Count(ctx, f)
}

func (c *crossed) Explain(ctx context.Context, q models.EmployeeQuery) (store.AccessPath, error) {
	return c.next().(store.Queries).Explain(ctx, q)
}

func (c *crossed) Create(ctx context.Context, e models.Employee) error {
	return c.next().Create(ctx, e)
}

func (c *crossed) Save(ctx context.Context, e models.Employee, pre store.Precondition) (created bool, err error) {
	return c.next().Save(ctx, e, pre)
}

func (c *crossed) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	return c.next().Patch(ctx, id, p, opts)
}

func (c *crossed) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	return c.next().Delete(ctx, id, pre)
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
	s, err := sqlstore.Open(sqlstore.Config{DSNs: []string{"root@tcp(" + c.sql.Addr() + ")/" + database}})
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
