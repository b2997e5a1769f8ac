package ndbsql

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// typeColumn is a column of a type that scans support, with values for it in
// the form of SQL literals and what a filter takes for them.
type typeColumn struct {
	name, definition string
	literals         []string
	values           []any
	like             bool
	unordered        bool   // in filters
	shown            string // how SELECT shows what a Row does
}

func ints(values ...int64) (literals []string, any []any) {
	for _, v := range values {
		literals, any = append(literals, strconv.FormatInt(v, 10)), append(any, v)
	}
	return literals, any
}

func texts(values ...string) (literals []string, any []any) {
	for _, v := range values {
		literals, any = append(literals, "'"+strings.NewReplacer(`\`, `\\`, "'", "''").Replace(v)+"'"), append(any, v)
	}
	return literals, any
}

func numbers(values ...string) (literals []string, any []any) {
	for _, v := range values {
		literals, any = append(literals, v), append(any, v)
	}
	return literals, any
}

func floats(values ...float64) (literals []string, any []any) {
	for _, v := range values {
		literals, any = append(literals, strconv.FormatFloat(v, 'e', -1, 64)), append(any, v)
	}
	return literals, any
}

func typeColumns() []typeColumn {
	var all []typeColumn
	add := func(definition string, literals []string, values []any, change func(*typeColumn)) {
		c := typeColumn{name: fmt.Sprintf("c%02d", len(all)), definition: definition, literals: literals, values: values}
		c.shown = c.name
		if change != nil {
			change(&c)
		}
		all = append(all, c)
	}
	of := func(definition string, change func(*typeColumn)) func([]string, []any) {
		return func(literals []string, values []any) { add(definition, literals, values, change) }
	}
	text := func(c *typeColumn) { c.like = true }
	plusZero := func(c *typeColumn) { c.shown = c.name + "+0" }
	of("TINYINT", nil)(ints(-128, -1, 0, 1, 127))
	of("TINYINT UNSIGNED", nil)(ints(0, 1, 128, 255))
	of("SMALLINT", nil)(ints(-32768, -1, 0, 300, 32767))
	of("SMALLINT UNSIGNED", nil)(ints(0, 255, 256, 65535))
	of("MEDIUMINT", nil)(ints(-8388608, -1, 0, 65536, 8388607))
	of("MEDIUMINT UNSIGNED", nil)(ints(0, 65536, 16777215))
	of("INT", nil)(ints(-2147483648, -1, 0, 7, 2147483647))
	of("INT UNSIGNED", nil)(ints(0, 7, 2147483648, 4294967295))
	of("BIGINT", nil)(ints(-9223372036854775808, -1, 0, 4294967296, 9223372036854775807))
	of("BIGINT UNSIGNED", nil)([]string{"0", "1", "9223372036854775808", "18446744073709551615"}, []any{0, 1, uint64(1 << 63), ^uint64(0)})
	of("FLOAT", func(c *typeColumn) { c.shown = "CAST(" + c.name + " AS DOUBLE)" })(floats(-1.5, 0, 0.25, 1024))
	of("DOUBLE", nil)(floats(-1.5e100, -0.1, 0, 0.1, 3.14159))
	of("DECIMAL(10,2)", nil)(numbers("-99999999.99", "-1.50", "0", "0.01", "1234567.89"))
	of("DECIMAL(20,6)", nil)(numbers("-12345678901234.567891", "-0.000001", "0", "1.5", "99999999999999.999999"))
	of("DECIMAL(12,4) UNSIGNED", nil)(numbers("0", "0.0001", "99999999.9999"))
	of("CHAR(10) CHARACTER SET latin1", text)(texts("", "a", "A", "b c", "blå", "abcdefghij", "a%b"))
	of("VARCHAR(20) CHARACTER SET latin1", text)(texts("", "a", "A ", "a\tb", "Zürich", "zebra", "a_c"))
	of("VARCHAR(20) CHARACTER SET utf8mb3", text)(texts("", "quixote", "Quixote", "QUIXOTE ", "smörrebröd", "a\\b", "%", "€"))
	of("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci", text)(texts("", "quixote", "Quixote", " x", "é", "e", "𝄞", "_"))
	of("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", text)(texts("", "b", "B", "b ", "é", "𝄞"))
	of("VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", text)(texts("", "long", strings.Repeat("xy", 150), "é"))
	of("CHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", text)(texts("", "é€", "abcd", "ABCD"))
	of("BINARY(4)", nil)(texts("", "a", "abcd", "\x00\x01", "zzzz"))
	of("VARBINARY(8)", text)(texts("", "a", "a\x00", "ab", "zzzzzzzz", "A"))
	of("VARBINARY(300)", text)(texts("", "x", strings.Repeat("y", 300)))
	of("DATE", nil)(texts("1000-01-01", "1999-12-31", "2000-02-29", "9999-12-31"))
	of("YEAR", nil)(ints(1901, 1970, 2026, 2155))
	of("TIME", nil)(texts("-838:59:59", "-00:00:01", "00:00:00", "23:59:59", "838:59:59"))
	of("TIME(3)", nil)(texts("-01:02:03.456", "-00:00:00.001", "00:00:00.000", "12:00:00.500"))
	of("DATETIME", nil)(texts("1000-01-01 00:00:00", "2026-11-30 10:40:59", "9999-12-31 23:59:59"))
	of("DATETIME(6)", nil)(texts("1000-01-01 00:00:00.000001", "2026-11-30 10:40:59.500000", "2026-11-30 10:40:59.500001"))
	of("TIMESTAMP(1) NULL", nil)(texts("1970-01-01 00:00:01.0", "2026-11-30 10:40:59.5", "2038-01-19 03:14:07.9"))
	of("BIT(9)", plusZero)(ints(0, 1, 256, 511))
	of("BIT(40)", func(c *typeColumn) { c.unordered = true; plusZero(c) })(ints(0, 1, 1<<39, 1<<40-1))
	of("ENUM('red','green','blue')", func(c *typeColumn) { c.unordered = true; plusZero(c) })(ints(1, 2, 3))
	of("SET('a','b','c','d','e','f','g','h','i')", func(c *typeColumn) { c.unordered = true; plusZero(c) })(ints(0, 1, 256, 511))
	return all
}

// typesTable makes a table of all types with n random rows.
func (b *bed) typesTable(t *testing.T, name string, n int, rnd *rand.Rand) (*ndb.Table, []typeColumn) {
	t.Helper()
	columns := typeColumns()
	definitions := []string{"id INT NOT NULL PRIMARY KEY"}
	for _, c := range columns {
		definitions = append(definitions, c.name+" "+c.definition)
	}
	table := b.create(t, name, strings.Join(definitions, ", "))
	for id := 0; id < n; {
		var rows []string
		for ; id < n && len(rows) < 100; id++ {
			row := []string{strconv.Itoa(id)}
			for _, c := range columns {
				if rnd.IntN(5) == 0 {
					row = append(row, "NULL")
				} else {
					row = append(row, c.literals[rnd.IntN(len(c.literals))])
				}
			}
			rows = append(rows, "("+strings.Join(row, ",")+")")
		}
		b.exec(t, "INSERT INTO "+name+" VALUES "+strings.Join(rows, ","))
	}
	return table, columns
}

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestScan_EveryType_GivesWhatSelectShows(t *testing.T) {
	b := newBed(t)
	table, columns := b.typesTable(t, "scan_types", 400, seeded(t))
	shown := []string{"id"}
	for _, c := range columns {
		shown = append(shown, c.shown)
	}
	want := b.query(t, "SELECT "+strings.Join(shown, ",")+" FROM scan_types")
	got := b.scan(t, ndb.Scan{Table: table, Columns: selectColumns(t, table)})
	for _, rows := range [][][]string{got, want} {
		for _, row := range rows {
			for i, c := range columns {
				if f, err := strconv.ParseFloat(row[i+1], 64); err == nil && (c.definition == "FLOAT" || c.definition == "DOUBLE") {
					row[i+1] = strconv.FormatFloat(f, 'g', -1, 64)
				}
			}
		}
	}
	same(t, "all types", sorted(got), sorted(want))
}

// randomFilter returns a filter, and what it is in SQL.
func randomFilter(t *testing.T, rnd *rand.Rand, table *ndb.Table, columns []typeColumn, depth int) (ndb.Filter, string) {
	if depth > 0 && rnd.IntN(4) > 0 {
		if rnd.IntN(4) == 0 {
			f, text := randomFilter(t, rnd, table, columns, depth-1)
			return ndb.Not(f), "NOT (" + text + ")"
		}
		var filters []ndb.Filter
		var parts []string
		for range 1 + rnd.IntN(4) {
			f, text := randomFilter(t, rnd, table, columns, depth-1)
			filters, parts = append(filters, f), append(parts, "("+text+")")
		}
		if rnd.IntN(2) == 0 {
			return ndb.And(filters...), strings.Join(parts, " AND ")
		}
		return ndb.Or(filters...), strings.Join(parts, " OR ")
	}
	return randomTest(t, rnd, table, columns[rnd.IntN(len(columns))])
}

func randomTest(t *testing.T, rnd *rand.Rand, table *ndb.Table, c typeColumn) (ndb.Filter, string) {
	col := column(t, table, c.name)
	switch {
	case rnd.IntN(8) == 0:
		return ndb.IsNull(col), c.name + " IS NULL"
	case rnd.IntN(8) == 0:
		return ndb.IsNotNull(col), c.name + " IS NOT NULL"
	case c.like && rnd.IntN(2) == 0:
		patterns := []string{"%", "", "_", "a%", "%a", "%b%", "quix%", `\_`, `a\%b`, `%\\%`, "__", "é", "%€%", "Z_r%", "a ", "% "}
		pattern := patterns[rnd.IntN(len(patterns))]
		if strings.Contains(c.definition, "latin1") {
			pattern = strings.NewReplacer("€", "ä").Replace(pattern)
		}
		literals, _ := texts(pattern)
		if rnd.IntN(2) == 0 {
			return ndb.Like(col, pattern), c.name + " LIKE " + literals[0]
		}
		return ndb.NotLike(col, pattern), c.name + " NOT LIKE " + literals[0]
	}
	i := rnd.IntN(len(c.literals))
	operators := []struct {
		text string
		make func(*ndb.Column, any) ndb.Filter
	}{{"=", ndb.Eq}, {"<>", ndb.Ne}, {"<", ndb.Lt}, {"<=", ndb.Le}, {">", ndb.Gt}, {">=", ndb.Ge}}
	op := operators[rnd.IntN(len(operators))]
	if c.unordered {
		op = operators[rnd.IntN(2)]
	}
	literal := c.literals[i]
	if c.definition == "BINARY(4)" {
		literal = "CAST(" + literal + " AS BINARY(4))"
	}
	return op.make(col, c.values[i]), c.shownInTests() + " " + op.text + " " + literal
}

// shownInTests is the column in a condition.
func (c typeColumn) shownInTests() string {
	if c.unordered {
		return c.name + "+0"
	}
	return c.name
}

func TestScan_RandomFilters_GiveWhatWhereGives(t *testing.T) {
	b := newBed(t)
	rnd := seeded(t)
	table, columns := b.typesTable(t, "scan_filters", 400, rnd)
	id := selectColumns(t, table, "id")
	for _, c := range columns {
		for range 12 {
			f, text := randomTest(t, rnd, table, c)
			want := b.query(t, "SELECT id FROM scan_filters WHERE "+text)
			same(t, text, sorted(b.scan(t, ndb.Scan{Table: table, Columns: id, Filter: f})), sorted(want))
		}
	}
	for i := range 150 {
		f, text := randomFilter(t, rnd, table, columns, 3)
		want := b.query(t, "SELECT id FROM scan_filters WHERE "+text)
		got := b.scan(t, ndb.Scan{Table: table, Columns: id, Filter: f})
		same(t, text, sorted(got), sorted(want))
		if i%5 > 0 {
			continue
		}
		n, err := b.client.Count(t.Context(), ndb.Scan{Table: table, Filter: f})
		if err != nil || n != int64(len(want)) {
			t.Errorf("%s: got count %d, %v, want %d", text, n, err, len(want))
		}
		any, err := b.client.Exists(t.Context(), ndb.Scan{Table: table, Filter: f})
		if err != nil || any != (len(want) > 0) {
			t.Errorf("%s: got exists %t, %v, want %t", text, any, err, len(want) > 0)
		}
	}
	b.awaitIdle(t)
}
