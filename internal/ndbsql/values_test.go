package ndbsql

import (
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// typed is a column of every type that the client supports, with values as
// SELECT shows them. Columns of bytes are shown in hexadecimal, and those of
// bits and members as numbers.
var typed = []struct {
	column, definition string
	show               string // what SELECT asks for; the column where empty
	values             []string
}{
	{"t", "TINYINT", "", []string{"-128", "127", "0"}},
	{"tu", "TINYINT UNSIGNED", "", []string{"255", "0"}},
	{"s", "SMALLINT", "", []string{"-32768", "32767"}},
	{"su", "SMALLINT UNSIGNED", "", []string{"65535"}},
	{"m", "MEDIUMINT", "", []string{"-8388608", "8388607", "-1"}},
	{"mu", "MEDIUMINT UNSIGNED", "", []string{"16777215"}},
	{"i", "INT", "", []string{"-2147483648", "2147483647"}},
	{"iu", "INT UNSIGNED", "", []string{"4294967295"}},
	{"b", "BIGINT", "", []string{"-9223372036854775808", "9223372036854775807"}},
	{"bu", "BIGINT UNSIGNED", "", []string{"18446744073709551615"}},
	{"f", "FLOAT", "", []string{"1.5", "-0.25", "0", "16777200"}},
	{"d", "DOUBLE", "", []string{"-123456.789", "0.1", "1e100"}},
	{"dec2", "DECIMAL(10,2)", "", []string{"-12345678.90", "0.00", "99999999.99"}},
	{"dec10", "DECIMAL(30,10)", "", []string{"12345678901234567890.0123456789", "-0.0000000001"}},
	{"c", "CHAR(10) CHARACTER SET utf8mb3", "", []string{"abc", "", "ÅÄÖ ñ"}},
	{"v", "VARCHAR(64) CHARACTER SET utf8mb3", "", []string{"", "trailing  ", strings.Repeat("é", 64)}},
	{"v4", "VARCHAR(64) CHARACTER SET utf8mb4", "", []string{"😀😀", "e\u0301"}},
	{"vl", "VARCHAR(1000) CHARACTER SET utf8mb4", "", []string{strings.Repeat("😀", 1000), "x"}},
	{"l1", "VARCHAR(20) CHARACTER SET latin1", "", []string{"Århus €", "ß"}},
	{"bi", "BINARY(4)", "HEX(bi)", []string{"00FF0100", "41424344"}},
	{"vb", "VARBINARY(64)", "HEX(vb)", []string{"", "00FF", strings.Repeat("AB", 64)}},
	{"vbl", "VARBINARY(600)", "HEX(vbl)", []string{strings.Repeat("00", 600)}},
	{"dt", "DATE", "", []string{"1000-01-01", "9999-12-31", "2024-02-29"}},
	{"y", "YEAR", "", []string{"1901", "2155"}},
	{"ti", "TIME", "", []string{"-838:59:59", "838:59:59", "00:00:00"}},
	{"ti3", "TIME(3)", "", []string{"-00:00:00.001", "12:34:56.789"}},
	{"dtm", "DATETIME", "", []string{"1000-01-01 00:00:00", "9999-12-31 23:59:59"}},
	{"dtm6", "DATETIME(6)", "", []string{"2024-02-29 23:59:59.999999", "2000-01-01 00:00:00.000001"}},
	{"ts2", "TIMESTAMP(2) NULL", "", []string{"1970-01-01 00:00:01.25", "2038-01-19 03:14:07.00"}},
	{"bt", "BIT(9)", "bt+0", []string{"511", "0", "256"}},
	{"bt40", "BIT(40)", "bt40+0", []string{"1099511627775"}},
	{"en", "ENUM('one','two')", "en+0", []string{"1", "2"}},
	{"st", "SET('x','y','z')", "st+0", []string{"0", "5", "7"}},
}

// typesTable makes a table with all of those columns.
func typesTable(t *testing.T) (b *bed, table *ndb.Table) {
	t.Helper()
	b = newBed(t)
	columns := "id BIGINT PRIMARY KEY"
	for _, c := range typed {
		columns += ", " + c.column + " " + c.definition
	}
	return b, b.create(t, "ndbsql_values", columns)
}

// valueOf is the value of column c in row i of the test: its values in turn, and
// then NULL.
func valueOf(i, c int) (value string, null bool) {
	if values := typed[c].values; i < len(values) {
		return values[i], false
	}
	return "", true
}

const typedRows = 5 // more than any column has values, so that each is NULL once

func TestTypes_WrittenNatively_AreWhatSELECTShows(t *testing.T) {
	b, table := typesTable(t)
	v := table.NewValues()
	for i := range typedRows {
		v.Reset()
		v.Int64(column(t, table, "id"), int64(i))
		for c, want := range typed {
			setShown(t, v, column(t, table, want.column), want.show, i, c)
		}
		if _, err := b.client.Insert(t.Context(), v); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	for i := range typedRows {
		for c, col := range typed {
			show := col.show
			if show == "" {
				show = "CONCAT(" + col.column + ")" // as text: the driver would read a number first
			}
			var got sql.NullString
			if err := b.db.QueryRow(fmt.Sprintf("SELECT %s FROM ndbsql_values WHERE id = %d", show, i)).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if want, null := valueOf(i, c); got.Valid == null || got.String != want {
				t.Errorf("%s %s: SELECT shows %q (NULL %t), want %q (NULL %t)", col.column, col.definition, got.String, !got.Valid, want, null)
			}
		}
	}
}

// setShown sets a column from what SELECT is to show of it.
func setShown(t *testing.T, v *ndb.Values, column *ndb.Column, show string, i, c int) {
	t.Helper()
	text, null := valueOf(i, c)
	switch {
	case null:
		v.Null(column)
	case strings.HasPrefix(show, "HEX"):
		var b []byte
		if _, err := fmt.Sscanf(text, "%X", &b); err != nil && text != "" {
			t.Fatal(err)
		}
		v.Bytes(column, b)
	case strings.HasSuffix(show, "+0"):
		var n uint64
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		v.Uint64(column, n)
	default:
		setText(v, column, text)
	}
	if err := v.Err(); err != nil {
		t.Fatalf("%s: %v", column.Name, err)
	}
}

// setText sets a column from the text of a number, or from text.
func setText(v *ndb.Values, column *ndb.Column, text string) {
	number := !strings.Contains(column.Type, "char") && !strings.Contains(column.Type, "ecimal")
	if signed, err := strconv.ParseInt(text, 10, 64); err == nil && number {
		v.Any(column, signed)
	} else if unsigned, err := strconv.ParseUint(text, 10, 64); err == nil && number {
		v.Uint64(column, unsigned)
	} else if float, err := strconv.ParseFloat(text, 64); err == nil && number {
		v.Float64(column, float)
	} else {
		v.String(column, text)
	}
}

func TestTypes_WrittenByMySQL_AreReadNatively(t *testing.T) {
	b, table := typesTable(t)
	for i := range typedRows {
		b.exec(t, "INSERT INTO ndbsql_values (id) VALUES (?)", i)
		for c, col := range typed {
			text, null := valueOf(i, c)
			if null {
				continue
			}
			value := "?"
			if strings.HasPrefix(col.show, "HEX") {
				value = "UNHEX(?)"
			} else if col.show != "" {
				value = "CAST(? AS UNSIGNED)"
			}
			b.exec(t, fmt.Sprintf("UPDATE ndbsql_values SET %s = %s WHERE id = ?", col.column, value), text, i)
		}
	}
	all, err := table.Select()
	if err != nil {
		t.Fatal(err)
	}
	var row ndb.Row
	for i := range typedRows {
		if err := b.client.Read(t.Context(), table.NewValues().Int64(column(t, table, "id"), int64(i)), all, &row); err != nil {
			t.Fatal(err)
		}
		for c, col := range typed {
			want, null := valueOf(i, c)
			if row.IsNull(c + 1) {
				if !null {
					t.Errorf("%s: got NULL, want %q", col.column, want)
				}
				continue
			}
			if got := shown(t, &row, c+1, col.show); null || got != want {
				t.Errorf("%s %s: got %q, want %q (NULL %t)", col.column, col.definition, got, want, null)
			}
		}
	}
}

// shown is column i as SELECT would show it.
func shown(t *testing.T, row *ndb.Row, i int, show string) string {
	t.Helper()
	var text string
	var err error
	switch {
	case strings.HasPrefix(show, "HEX"):
		var b []byte
		b, err = row.Bytes(i)
		text = fmt.Sprintf("%X", b)
	case strings.HasSuffix(show, "+0"):
		var n uint64
		n, err = row.Uint64(i)
		text = fmt.Sprint(n)
	default:
		text, err = row.String(i)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFloat_ExtremesKeepTheirBits(t *testing.T) {
	b, table := typesTable(t)
	all, err := table.Select("d", "f")
	if err != nil {
		t.Fatal(err)
	}
	id, d, f := column(t, table, "id"), column(t, table, "d"), column(t, table, "f")
	for i, x := range []float64{math.MaxFloat64, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 1.0 / 3} {
		single := float64(float32(1.0 / float32(i+3)))
		v := table.NewValues().Int64(id, int64(i)).Float64(d, x).Float64(f, single)
		if _, err := b.client.Insert(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		var row ndb.Row
		if err := b.client.Read(t.Context(), table.NewValues().Int64(id, int64(i)), all, &row); err != nil {
			t.Fatal(err)
		}
		gotD, errD := row.Float64(0)
		gotF, errF := row.Float64(1)
		if math.Float64bits(gotD) != math.Float64bits(x) || gotF != single || errD != nil || errF != nil {
			t.Errorf("got %v %v, want %v %v (%v, %v)", gotD, gotF, x, single, errD, errF)
		}
	}
}
