package ndbsql

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// A range that names the whole distribution key reads one fragment: where its
// hash were wrong, rows would be missing.
func TestScan_OfOneDistributionKey_FindsAllItsRows(t *testing.T) {
	b := newBed(t)
	b.exec(t, "DROP TABLE IF EXISTS scan_pruned")
	t.Cleanup(func() {
		if _, err := b.db.Exec("DROP TABLE IF EXISTS scan_pruned"); err != nil {
			t.Error(err)
		}
	})
	b.exec(t, `CREATE TABLE scan_pruned (a INT NOT NULL, b INT NOT NULL, c VARCHAR(20) CHARACTER SET utf8mb3 NOT NULL, n INT NULL,
		PRIMARY KEY (b, a, c), INDEX x_ca (c, a), INDEX x_n (n)) ENGINE=NDBCLUSTER PARTITION BY KEY (a, c)`)
	var rows []string
	for i := range 10 * 7 * 3 {
		rows = append(rows, fmt.Sprintf("(%d,%d,'%s',%d)", i%10, i%7, []string{"x", "ÅA", "ß"}[i%3], i))
	}
	b.exec(t, "INSERT INTO scan_pruned VALUES "+strings.Join(rows, ","))
	table, err := b.client.Table(t.Context(), b.database, "scan_pruned")
	if err != nil {
		t.Fatal(err)
	}
	columns := selectColumns(t, table)
	for _, test := range []struct {
		index, where string
		r            ndb.Range
	}{
		{"PRIMARY", "b = 3 AND a = 5 AND c = 'aå'", ndb.Exactly(3, 5, "aå")},
		{"PRIMARY", "b = 3 AND a = 5", ndb.Exactly(3, 5)},
		{"x_ca", "c = 'X ' AND a = 4", ndb.Exactly("X ", 4)},
		{"x_ca", "c = 's' AND a = 8", ndb.Exactly("s", 8)},
		{"x_ca", "c = 's'", ndb.Exactly("s")},
		{"x_ca", "c = 's' AND a > 5", ndb.Range{Low: []any{"s", 5}, High: []any{"s"}, LowStrict: true}},
		{"x_n", "n = 17", ndb.Exactly(17)},
	} {
		want := sorted(b.query(t, "SELECT * FROM scan_pruned WHERE "+test.where))
		for _, order := range []ndb.Order{ndb.Unordered, ndb.Ascending, ndb.Descending} {
			scan := ndb.Scan{Table: table, Columns: columns, Index: index(t, table, test.index), Ranges: []ndb.Range{test.r}, Order: order, BatchRows: 3}
			same(t, test.where, sorted(b.scan(t, scan)), want)
			n, err := b.client.Count(t.Context(), scan)
			if err != nil || n != int64(len(want)) {
				t.Errorf("%s: got count %d, %v, want %d", test.where, n, err, len(want))
			}
		}
	}
	tx := begin(t, b)
	s, err := tx.Scan(t.Context(), ndb.Scan{
		Table: table, Columns: columns, Index: index(t, table, "x_ca"), Ranges: []ndb.Range{ndb.Exactly("s", 8)}, Lock: ndb.ExclusiveLock, BatchRows: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.Next(t.Context()) {
		s.Update(table.NewValues().Int64(column(t, table, "n"), -1))
	}
	if err := errors.Join(s.Err(), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, "rows that were changed", b.query(t, "SELECT COUNT(*), SUM(c = 's' AND a = 8) FROM scan_pruned WHERE n = -1"), [][]string{{"7", "7"}})
	b.awaitIdle(t)
}

// keyTypes are types of primary keys.
var keyTypes = []string{
	"TINYINT", "INT UNSIGNED", "BIGINT", "DECIMAL(10,2)", "CHAR(10) CHARACTER SET latin1", "VARCHAR(20) CHARACTER SET latin1",
	"VARCHAR(20) CHARACTER SET utf8mb3", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
	"VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "BINARY(4)", "VARBINARY(8)", "DOUBLE", "DATE", "TIME(3)", "DATETIME(6)",
	"ENUM('red','green','blue')",
}

func TestScan_OfOneKeyOfAnyType_FindsItsRow(t *testing.T) {
	b := newBed(t)
	known := map[string]typeColumn{}
	for _, c := range typeColumns() {
		known[c.definition] = c
	}
	for i, definition := range keyTypes {
		c := known[definition]
		name := fmt.Sprint("scan_key", i)
		table := b.create(t, name, "k "+definition+" NOT NULL PRIMARY KEY")
		for _, literal := range c.literals {
			b.exec(t, "INSERT IGNORE INTO "+name+" VALUES ("+literal+")") // some are equal
		}
		for j, value := range c.values {
			scan := ndb.Scan{Table: table, Columns: selectColumns(t, table), Index: index(t, table, "PRIMARY"), Ranges: []ndb.Range{ndb.Exactly(value)}}
			if got := b.scan(t, scan); len(got) != 1 {
				t.Errorf("%s: key %s: got %q, want one row", definition, c.literals[j], got)
			}
		}
	}
	b.awaitIdle(t)
}

// Text of the collations whose order is known, with the weights of which the
// fragment is chosen.
func TestScan_OfOneKeyOfText_FindsItsRow(t *testing.T) {
	b := newBed(t)
	rnd := seeded(t)
	for _, c := range orderedTexts {
		name := "keys_" + c.collation
		table := b.create(t, name, fmt.Sprintf("s VARCHAR(24) CHARACTER SET %s COLLATE %s NOT NULL PRIMARY KEY", c.charset, c.collation))
		texts := randomKeys(rnd, c.last)
		var rows strings.Builder
		for _, text := range texts {
			fmt.Fprintf(&rows, ",(_utf8mb4 X'%X')", text)
		}
		b.exec(t, "INSERT IGNORE INTO "+name+" VALUES "+rows.String()[1:])
		missing := 0
		for _, text := range texts {
			scan := ndb.Scan{Table: table, Columns: selectColumns(t, table), Index: index(t, table, "PRIMARY"), Ranges: []ndb.Range{ndb.Exactly(text)}}
			if got := b.scan(t, scan); len(got) != 1 {
				if missing++; missing < 10 {
					t.Errorf("%s: key %q: got %q, want one row", c.collation, text, got)
				}
			}
		}
	}
	b.awaitIdle(t)
}

// randomKeys are single characters, and texts.
func randomKeys(rnd *rand.Rand, last rune) []string {
	var texts []string
	for range 300 {
		texts = append(texts, randomText(rnd, last))
	}
	for r := rune(' '); r <= last; r += 1 + r/0x100 + r/0x10000*1000 {
		if text := string(r); text != "\ufffd" && (last > 0xff || r < 0x80 || r >= 0xa0) {
			texts = append(texts, text)
		}
	}
	return texts
}
