package ndbsql

import (
	"errors"
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
