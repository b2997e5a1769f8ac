package ndbsql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// ranksOf maps the id of each row to its place in the order of the columns;
// rows that compare equal have the same.
func (b *bed) ranksOf(t *testing.T, table, columns string) map[string]string {
	t.Helper()
	ranks := map[string]string{}
	for _, row := range b.query(t, "SELECT id, LPAD(DENSE_RANK() OVER (ORDER BY "+columns+"), 9, '0') FROM "+table) {
		ranks[row[0]] = row[1]
	}
	return ranks
}

// inOrder checks that the rows, whose first column is the id, come by rank.
func inOrder(t *testing.T, name string, rows [][]string, ranks map[string]string, descending bool) {
	t.Helper()
	for i := 1; i < len(rows); i++ {
		before, after := ranks[rows[i-1][0]], ranks[rows[i][0]]
		if before != after && before < after == descending {
			t.Errorf("%s: row %d: %q comes after %q", name, i, rows[i], rows[i-1])
			return
		}
	}
}

var orders = []ndb.Order{ndb.Ascending, ndb.Descending}

func TestScan_InOrder_AcrossFragments(t *testing.T) {
	b := newBed(t)
	table := b.people(t, "scan_order", 3000)
	want := sorted(b.query(t, "SELECT id FROM scan_order"))
	for name, columns := range map[string]string{
		"PRIMARY": "id", "idx_last": "last", "idx_department": "department, last", "idx_city": "city, id", "idx_started": "started",
	} {
		ranks := b.ranksOf(t, "scan_order", columns)
		for _, order := range orders {
			for _, rows := range []int{0, 1, 13} {
				got := b.scan(t, ndb.Scan{
					Table: table, Columns: selectColumns(t, table, "id"), Index: index(t, table, name), Order: order, BatchRows: rows,
				})
				inOrder(t, name, got, ranks, order == ndb.Descending)
				same(t, name, sorted(got), want)
			}
		}
	}
}

// indexedTypes are columns of the types table that can have an ordered index.
func indexedTypes(columns []typeColumn) (indexed []typeColumn) {
	for _, c := range columns {
		if !strings.HasPrefix(c.definition, "BIT") && !c.unordered {
			indexed = append(indexed, c)
		}
	}
	return indexed
}

func TestScan_OfAnyType_InOrder(t *testing.T) {
	b := newBed(t)
	rnd := seeded(t)
	table, columns := b.typesTable(t, "scan_sorted", 300, rnd)
	for _, c := range indexedTypes(columns) {
		b.exec(t, "ALTER TABLE scan_sorted ADD INDEX x_"+c.name+" ("+c.name+")")
	}
	table, err := b.client.Table(t.Context(), b.database, table.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := sorted(b.query(t, "SELECT id FROM scan_sorted"))
	for _, c := range indexedTypes(columns) {
		ranks := b.ranksOf(t, "scan_sorted", c.name)
		for _, order := range orders {
			got, err := b.tryScan(t, ndb.Scan{
				Table: table, Columns: selectColumns(t, table, "id"), Index: index(t, table, "x_"+c.name), Order: order, BatchRows: 50,
			})
			inOrder(t, c.definition, got, ranks, order == ndb.Descending)
			if err != nil {
				if !errors.Is(err, ndb.ErrUnknownOrder) || !strings.Contains(c.definition, "CHARACTER SET utf8mb") {
					t.Errorf("%s: %v", c.definition, err)
				}
				continue
			}
			same(t, c.definition, sorted(got), want)
		}
	}
}

// bound is a side of a range in SQL: what is below or above the values, by the
// first columns of an index.
func boundInSQL(columns []string, literals []string, strict bool, operator string) string {
	if len(literals) == 0 {
		return "TRUE"
	}
	beyond := func(column, literal string) string {
		switch {
		case literal == "NULL" && operator == ">":
			return column + " IS NOT NULL"
		case literal == "NULL":
			return "FALSE"
		case operator == ">":
			return "COALESCE(" + column + " > " + literal + ", FALSE)"
		default:
			return "(" + column + " IS NULL OR " + column + " < " + literal + ")"
		}
	}
	last := len(literals) - 1
	text := fmt.Sprint(!strict)
	for i := last; i >= 0; i-- {
		text = fmt.Sprintf("(%s OR %s <=> %s AND %s)", beyond(columns[i], literals[i]), columns[i], literals[i], text)
	}
	return text
}

func TestScan_RandomRanges_GiveWhatWhereGives(t *testing.T) {
	b := newBed(t)
	rnd := seeded(t)
	table := b.people(t, "scan_ranges", 2000)
	type choice struct {
		literal string
		value   any
	}
	departments := []choice{{"NULL", nil}, {"-3", -3}, {"0", 0}, {"5", 5}, {"6", int8(6)}, {"13", int64(13)}, {"100", 100}}
	lasts := []choice{{"NULL", nil}, {"''", ""}, {"'quixote'", "quixote"}, {"'QUIXOTE '", "QUIXOTE "}, {"'m'", "m"}, {"'zz%top'", []byte("zz%top")}, {"'~~'", "~~"}}
	columns := []string{"department", "last"}
	side := func() (literals []string, values []any) {
		for _, of := range [][]choice{departments, lasts}[:rnd.IntN(3)] {
			c := of[rnd.IntN(len(of))]
			literals, values = append(literals, c.literal), append(values, c.value)
		}
		return literals, values
	}
	ranks := b.ranksOf(t, "scan_ranges", "department, last")
	for range 200 {
		var r ndb.Range
		var low, high []string
		low, r.Low = side()
		if rnd.IntN(3) == 0 {
			high, r.High = low, r.Low
		} else {
			high, r.High = side()
		}
		r.LowStrict, r.HighStrict = len(low) > 0 && rnd.IntN(3) == 0, len(high) > 0 && rnd.IntN(3) == 0
		where := boundInSQL(columns, low, r.LowStrict, ">") + " AND " + boundInSQL(columns, high, r.HighStrict, "<")
		want := sorted(b.query(t, "SELECT id FROM scan_ranges WHERE "+where))
		order := ndb.Order(rnd.IntN(3))
		scan := ndb.Scan{
			Table: table, Columns: selectColumns(t, table, "id"), Index: index(t, table, "idx_department"),
			Ranges: []ndb.Range{r}, Order: order, BatchRows: rnd.IntN(100),
		}
		got := b.scan(t, scan)
		if order != ndb.Unordered {
			inOrder(t, where, got, ranks, order == ndb.Descending)
		}
		same(t, where, sorted(got), want)
	}
}

func TestScan_SeveralRanges_ComeOneAfterAnother(t *testing.T) {
	b := newBed(t)
	table := b.people(t, "scan_multi", 2000)
	ranges := []ndb.Range{ndb.Exactly(7), {Low: []any{2}, High: []any{4}, HighStrict: true}, ndb.Exactly(100), {High: []any{nil}}}
	wheres := []string{"department = 7", "department >= 2 AND department < 4", "department = 100", "department IS NULL"}
	ranks := b.ranksOf(t, "scan_multi", "department, last")
	for _, order := range []ndb.Order{ndb.Unordered, ndb.Ascending, ndb.Descending} {
		s, err := b.client.Scan(t.Context(), ndb.Scan{
			Table: table, Columns: selectColumns(t, table, "id"), Index: index(t, table, "idx_department"),
			Ranges: ranges, Order: order, BatchRows: 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		got, last := make([][][]string, len(ranges)), 0
		for s.Next(t.Context()) {
			id, err := s.Row().String(0)
			if err != nil {
				t.Fatal(err)
			}
			if order != ndb.Unordered && s.Range() < last {
				t.Fatalf("order %d: range %d comes after %d", order, s.Range(), last)
			}
			last = s.Range()
			got[last] = append(got[last], []string{id})
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		s.Close()
		for i, where := range wheres {
			if order != ndb.Unordered {
				inOrder(t, where, got[i], ranks, order == ndb.Descending)
			}
			same(t, where, sorted(got[i]), sorted(b.query(t, "SELECT id FROM scan_multi WHERE "+where)))
		}
	}
}

func TestScan_Limit_GivesTheFirstRows(t *testing.T) {
	b := newBed(t)
	table := b.people(t, "scan_limit", 1000)
	for _, limit := range []int{1, 2, 10, 999, 1000, 1001} {
		for _, order := range orders {
			direction := map[ndb.Order]string{ndb.Ascending: "ASC", ndb.Descending: "DESC"}[order]
			got := b.scan(t, ndb.Scan{
				Table: table, Columns: selectColumns(t, table, "id", "last"), Index: index(t, table, "PRIMARY"), Order: order, Limit: limit,
			})
			same(t, fmt.Sprint(limit), got, b.query(t, "SELECT id, last FROM scan_limit ORDER BY id "+direction+" LIMIT ?", limit))
		}
		got := b.scan(t, ndb.Scan{Table: table, Columns: selectColumns(t, table, "id"), Limit: limit})
		if len(got) != min(limit, 1000) {
			t.Errorf("got %d rows, want %d", len(got), min(limit, 1000))
		}
	}
	b.awaitIdle(t)
}

func TestScan_UnknownOrder_IsAnError(t *testing.T) {
	b := newBed(t)
	table := b.create(t, "scan_unknown", peopleColumns)
	b.exec(t, "INSERT INTO scan_unknown(id, city) VALUES (1,'a'),(2,'Ærø'),(3,'b'),(4,'Århus'),(5,'c'),(6,'é'),(7,'Ä'),(8,'f')")
	scan := ndb.Scan{Table: table, Columns: selectColumns(t, table, "id"), Index: index(t, table, "idx_city"), Order: ndb.Ascending}
	if _, err := b.tryScan(t, scan); !errors.Is(err, ndb.ErrUnknownOrder) {
		t.Errorf("got %v, want ErrUnknownOrder", err)
	}
	scan.Ranges = []ndb.Range{ndb.Exactly("Århus")}
	if rows, err := b.tryScan(t, scan); err != nil || len(rows) != 1 {
		t.Errorf("got %q, %v, want one row: there is nothing to compare but the id", rows, err)
	}
	b.awaitIdle(t)
}
