package ndbsql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

const peopleColumns = `
	id BIGINT NOT NULL PRIMARY KEY,
	last VARCHAR(64) CHARACTER SET utf8mb3 NULL,
	city VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NULL,
	department INT NULL,
	salary BIGINT NULL,
	started DATE NULL,
	INDEX idx_last (last),
	INDEX idx_department (department, last),
	INDEX idx_city (city, id),
	INDEX idx_started (started)`

// people makes a table with n rows, NULLs among them.
func (b *bed) people(t testing.TB, name string, n int) *ndb.Table {
	t.Helper()
	table := b.create(t, name, peopleColumns)
	lasts := []string{"Quixote", "quixote", "QUIRKE", "Adams", "adams ", "Zoe", "", "zz%top", "under_score", "Smith", "smithy", "~", "0"}
	cities := []string{"Oslo", "oslo", "Bergen", "_x", "-y", "Zagreb", "", "São Paulo"[:1], "a b", "ab"}
	for start := 0; start < n; start += 500 {
		var text strings.Builder
		for id := start; id < min(start+500, n); id++ {
			last, city := "'"+lasts[id*7%len(lasts)]+"'", "'"+cities[id*3%len(cities)]+"'"
			department, salary, started := fmt.Sprint(id%17-3), fmt.Sprint(int64(id*id)%100003-50000), fmt.Sprintf("'%04d-%02d-%02d'", 1970+id%60, 1+id%12, 1+id%28)
			for i, value := range []*string{&last, &city, &department, &salary, &started} {
				if id%(11+i) == 3 {
					*value = "NULL"
				}
			}
			fmt.Fprintf(&text, ",(%d,%s,%s,%s,%s,%s)", id, last, city, department, salary, started)
		}
		b.exec(t, "INSERT INTO "+name+" VALUES "+text.String()[1:])
	}
	return table
}

// sorted puts rows that come in any order into one.
func sorted(rows [][]string) [][]string {
	slices.SortFunc(rows, func(a, b []string) int { return slices.Compare(a, b) })
	return rows
}

// same compares rows.
func same(t *testing.T, name string, got, want [][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d rows, want %d", name, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%s: row %d: got %q, want %q", name, i, got[i], want[i])
			return
		}
	}
}

func TestScan_OfTable_GivesWhatSelectShows(t *testing.T) {
	b := newBed(t)
	table := b.people(t, "scan_people", 3000)
	want := sorted(b.query(t, "SELECT * FROM scan_people"))
	all := selectColumns(t, table)
	for _, scan := range []ndb.Scan{
		{},
		{BatchRows: 1},
		{BatchRows: 7},
		{Parallel: 1},
		{Index: index(t, table, "idx_last")},
		{Index: index(t, table, "PRIMARY"), BatchRows: 100},
	} {
		scan.Table, scan.Columns = table, all
		got := sorted(b.scan(t, scan))
		same(t, fmt.Sprintf("%+v", scan), got, want)
	}
	few := selectColumns(t, table, "salary", "id")
	same(t, "two columns", sorted(b.scan(t, ndb.Scan{Table: table, Columns: few})), sorted(b.query(t, "SELECT salary, id FROM scan_people")))
	one := selectColumns(t, table, "last")
	same(t, "one column", sorted(b.scan(t, ndb.Scan{Table: table, Columns: one})), sorted(b.query(t, "SELECT last FROM scan_people")))
	b.awaitIdle(t)
}
