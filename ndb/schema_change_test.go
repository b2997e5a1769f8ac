package ndb_test

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// changingTable is a client of ndbtest and a table that the test changes.
type changingTable struct {
	cluster *ndbtest.Cluster
	client  *ndb.Client
	table   *ndb.Table
}

const changingColumns = `CREATE TABLE d.changing (id BIGINT NOT NULL PRIMARY KEY, n INT NULL) ENGINE=NDBCLUSTER`

func newChangingTable(t *testing.T) *changingTable {
	t.Helper()
	c := &changingTable{cluster: ndbtest.Run(t)}
	c.cluster.MustCreateTable(changingColumns)
	var err error
	if c.client, err = ndb.Connect(t.Context(), ndb.Config{Connectstring: c.cluster.Connectstring()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.table = c.open(t)
	return c
}

// open finds the table as it is now.
func (c *changingTable) open(t *testing.T) *ndb.Table {
	t.Helper()
	table, err := c.client.Table(t.Context(), "d", "changing")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// fill puts rows 0 to n-1 there.
func (c *changingTable) fill(t *testing.T, n int) {
	t.Helper()
	rows, err := c.cluster.Rows("d", "changing")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := rows.Insert([]any{i, i}); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *changingTable) addColumn(t *testing.T, name string) {
	t.Helper()
	if err := c.cluster.AlterAddColumn("d", "changing", ndbtest.ColumnDef{Name: name, Type: "INT"}); err != nil {
		t.Error(err)
	}
}

func columnOf(t *testing.T, table *ndb.Table, name string) *ndb.Column {
	t.Helper()
	c, err := table.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openWithColumn opens the table until it has the column: the news of an ALTER
// travel by themselves.
func (c *changingTable) openWithColumn(t *testing.T, name string) *ndb.Table {
	t.Helper()
	for {
		table := c.open(t)
		if _, err := table.Column(name); err == nil {
			return table
		}
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
	}
}

func lockingScan(t *testing.T, tx *ndb.Tx, table *ndb.Table, columns *ndb.Projection) *ndb.Scanner {
	t.Helper()
	s, err := tx.Scan(t.Context(), ndb.Scan{Table: table, Columns: columns, Lock: ndb.ExclusiveLock, BatchRows: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestTakeOver_TableAlteredWhileTheScanRuns(t *testing.T) {
	const rows = 20
	c := newChangingTable(t)
	c.fill(t, rows)
	tx, err := c.client.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	columns, err := c.table.Select("id")
	if err != nil {
		t.Fatal(err)
	}
	s := lockingScan(t, tx, c.table, columns)
	table := c.table
	for i := 0; s.Next(t.Context()); i++ {
		if i == rows/2 {
			c.addColumn(t, "more")
			table = c.openWithColumn(t, "more")
		}
		switch {
		case i%5 == 0:
			s.Delete()
		case table == c.table:
			s.Update(table.NewValues().Int64(columnOf(t, table, "n"), 100))
		default:
			s.Update(table.NewValues().Int64(columnOf(t, table, "n"), 100).Int64(columnOf(t, table, "more"), 7))
		}
	}
	if err := errors.Join(s.Err(), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	all, err := c.cluster.Rows("d", "changing")
	if err != nil {
		t.Fatal(err)
	}
	more := 0
	for _, row := range all.All() {
		if row[1] != int64(100) {
			t.Errorf("got %v, want 100 for n", row)
		}
		if row[2] == int64(7) {
			more++
		}
	}
	if got, want := all.Len(), rows-4; got != want || more != rows/2-2 {
		t.Errorf("got %d rows, %d with the new column, want %d and %d", got, more, want, rows/2-2)
	}
}

func TestTakeOver_TableMadeAnewBeforeTheScan(t *testing.T) {
	c := newChangingTable(t)
	columns, err := c.table.Select("id")
	if err != nil {
		t.Fatal(err)
	}
	values := c.table.NewValues().Int64(columnOf(t, c.table, "n"), 5)
	if err := c.cluster.DropTable("d", "changing"); err != nil {
		t.Fatal(err)
	}
	c.cluster.MustCreateTable(changingColumns)
	c.fill(t, 3)
	tx, err := c.client.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	s := lockingScan(t, tx, c.table, columns) // with columns of the table that is no more
	for s.Next(t.Context()) {
		s.Update(values)
	}
	if err := errors.Join(s.Err(), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	rows, err := c.cluster.Rows("d", "changing")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows.All() {
		if row[1] != int64(5) {
			t.Errorf("got %v, want 5 for n", row)
		}
	}
}

func TestTable_AlteredWhileItIsRead_IsReadAgain(t *testing.T) {
	cluster := ndbtest.Run(t, ndbtest.DataNodes(1)) // each tells of an ALTER
	cluster.MustCreateTable(changingColumns)
	c := &changingTable{cluster: cluster}
	var err error
	if c.client, err = ndb.Connect(t.Context(), ndb.Config{Connectstring: cluster.Connectstring()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	asked := 0
	// The columns have been read when the indexes are listed.
	remove := cluster.Hook(ndbtest.ToDataNode, signal.GSNListTablesReq, func(*ndbtest.Signal) ndbtest.Decision {
		if asked++; asked == 1 {
			c.addColumn(t, "more")
		}
		return ndbtest.Pass()
	})
	defer remove()
	c.open(t)
	if _, err := c.open(t).Column("more"); err != nil {
		t.Errorf("the definition of before the ALTER is kept: %v", err)
	}
	if asked != 2 {
		t.Errorf("got %d reads of the definition, want 2", asked)
	}
}
