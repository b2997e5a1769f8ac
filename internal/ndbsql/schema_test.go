package ndbsql

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

func TestScan_TableThatHasChanged(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_changed", 50)
	n := column(t, table, "n")
	scan := ndb.Scan{
		Table: table, Columns: selectColumns(t, table, "id"), Filter: ndb.Lt(n, 5),
		Index: index(t, table, "idx_n"), Ranges: []ndb.Range{{Low: []any{3}}}, Order: ndb.Ascending,
	}
	want := func(step string, rows int) {
		t.Helper()
		if got, err := b.tryScan(t, scan); err != nil || len(got) != rows {
			t.Errorf("%s: got %d rows, %v, want %d", step, len(got), err, rows)
		}
	}
	want("as it was", 10)
	b.exec(t, "ALTER TABLE scan_changed ADD COLUMN more INT NULL COLUMN_FORMAT DYNAMIC, ALGORITHM=INPLACE")
	want("with one more column", 10)

	b.exec(t, "DROP TABLE scan_changed")
	_, err := b.tryScan(t, scan)
	if e := (*ndb.Error)(nil); !errors.As(err, &e) || e.Classification != ndb.ClassSchema {
		t.Errorf("dropped: got %v, want an error of the schema", err)
	}
	b.exec(t, "CREATE TABLE scan_changed (id INT NOT NULL PRIMARY KEY, n INT NULL, note VARCHAR(300) NULL, INDEX idx_n (n)) ENGINE=NDBCLUSTER")
	b.exec(t, "INSERT INTO scan_changed VALUES (1,3,NULL),(2,4,'x'),(3,5,NULL)")
	want("made anew", 2)

	b.exec(t, "DROP TABLE scan_changed")
	b.exec(t, "CREATE TABLE scan_changed (id INT NOT NULL PRIMARY KEY, n BIGINT NULL, note VARCHAR(300) NULL, INDEX idx_n (n)) ENGINE=NDBCLUSTER")
	if got, err := b.tryScan(t, scan); err == nil {
		t.Errorf("of another type: got %q, want an error", got)
	}
	b.awaitIdle(t)
}

// The lock that a scan holds is taken over with the version that the scan began
// with, also after an ALTER, and with values of a column that is new.
func TestTxScan_TableAlteredMeanwhile_TakesOverLocks(t *testing.T) {
	b := newBed(t)
	const rows = 60
	table := b.fill(t, "scan_altered", rows)
	tx := begin(t, b)
	s, err := tx.Scan(t.Context(), ndb.Scan{Table: table, Columns: selectColumns(t, table, "id"), Lock: ndb.ExclusiveLock, BatchRows: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := table
	for i := 0; s.Next(t.Context()); i++ {
		switch {
		case i == rows/2:
			b.exec(t, "ALTER TABLE scan_altered ADD COLUMN more INT NULL COLUMN_FORMAT DYNAMIC, ALGORITHM=INPLACE")
			now = b.withColumn(t, "scan_altered", "more")
			fallthrough
		case i > rows/2 && i%5 != 0:
			s.Update(now.NewValues().Int64(column(t, now, "n"), 100).Int64(column(t, now, "more"), 7))
		case i%5 == 0:
			s.Delete()
		default:
			s.Update(table.NewValues().Int64(column(t, table, "n"), 100))
		}
	}
	if err := errors.Join(s.Err(), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	got := b.query(t, "SELECT COUNT(*), SUM(n = 100), SUM(more = 7) FROM scan_altered")
	same(t, "rows", got, [][]string{{fmt.Sprint(rows - 11), fmt.Sprint(rows - 11), "25"}})
	b.awaitIdle(t)
}

// withColumn opens a table until the news of its new column have come.
func (b *bed) withColumn(t *testing.T, table, name string) *ndb.Table {
	t.Helper()
	for {
		now, err := b.client.Table(t.Context(), b.database, table)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := now.Column(name); err == nil {
			return now
		}
	}
}
