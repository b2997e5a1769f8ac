package sqlnode_test

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// refused is values that no column takes, with what MySQL says of them.
var refused = []struct {
	name, column string
	value        any
	number       uint16
	message      string
}{
	{"text of 65 characters", "first", strings.Repeat("å", 65), 1406, "Data too long for column 'first' at row 1"},
	{"text of 65 bytes", "municipality", strings.Repeat("x", 65), 1406, "Data too long for column 'municipality' at row 1"},
	{"4-byte character", "first", "😀", 1366, `Incorrect string value: '\xF0\x9F\x98\x80' for column 'first' at row 1`},
	{"4-byte character inside", "last", "ab😀cd", 1366, `Incorrect string value: '\xF0\x9F\x98\x80cd' for column 'last' at row 1`},
	{"4-byte character before more", "last", "😀😀", 1366, `Incorrect string value: '\xF0\x9F\x98\x80\xF0\x9F...' for column 'last' at row 1`},
	{"NULL", "department", nil, 1048, "Column 'department' cannot be null"},
	{"NULL key", "id", nil, 1048, "Column 'id' cannot be null"},
	{"INT too large", "department", int64(math.MaxInt32 + 1), 1264, "Out of range value for column 'department' at row 1"},
	{"INT too small", "department", int64(math.MinInt32 - 1), 1264, "Out of range value for column 'department' at row 1"},
	{"BIGINT too large", "id", uint64(math.MaxInt64 + 1), 1264, "Out of range value for column 'id' at row 1"},
	{"no number", "department", "many", 1366, "Incorrect integer value: 'many' for column 'department' at row 1"},
	{"no such day", "started", "2021-02-30", 1292, "Incorrect date value: '2021-02-30' for column 'started' at row 1"},
	{"no such month", "ended", "2021-13-01", 1292, "Incorrect date value: '2021-13-01' for column 'ended' at row 1"},
	{"zero date", "ended", "0000-00-00", 1292, "Incorrect date value: '0000-00-00' for column 'ended' at row 1"},
	{"year 10000", "ended", "10000-01-01", 1292, "Incorrect date value: '10000-01-01' for column 'ended' at row 1"},
	{"no date", "ended", "soon", 1292, "Incorrect date value: 'soon' for column 'ended' at row 1"},
}

// eachRefused runs a test for each refused value, sent as a parameter and as a
// literal.
func eachRefused(t *testing.T, f func(t *testing.T, db *sql.DB, column string, value any) error) {
	t.Helper()
	n := startNode(t, config{})
	for _, literals := range []bool{true, false} {
		db := connect(t, n, literals)
		exec(t, db, "REPLACE INTO employee (id) VALUES (100)")
		for _, tt := range refused {
			t.Run(fmt.Sprintf("%s, literal %v", tt.name, literals), func(t *testing.T) {
				number, message := tt.number, tt.message
				if s, ok := tt.value.(string); ok && !literals && strings.Contains(s, "😀") {
					number = 3988
					message = "Conversion from collation utf8mb4_general_ci into utf8mb3_general_ci impossible for parameter"
				}
				wantError(t, f(t, db, tt.column, tt.value), number, message)
			})
		}
		if got := query[int64](t, db, "SELECT id FROM employee"); !slices.Equal(got, []int64{100}) {
			t.Errorf("rows are %v, want only the one that was there", got)
		}
	}
}

func TestInsert_ValueThatDoesNotFit_IsRefused(t *testing.T) {
	eachRefused(t, func(t *testing.T, db *sql.DB, column string, value any) error {
		query := fmt.Sprintf("INSERT INTO employee (id, %s) VALUES (1, ?)", column)
		if column == "id" {
			query = "INSERT INTO employee (id) VALUES (?)"
		}
		_, err := db.ExecContext(t.Context(), query, value)
		return err
	})
}

func TestUpdate_ValueThatDoesNotFit_IsRefused(t *testing.T) {
	eachRefused(t, func(t *testing.T, db *sql.DB, column string, value any) error {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE employee SET %s = ?", column), value)
		return err
	})
}

func TestUpsert_ValueThatDoesNotFit_IsRefused(t *testing.T) {
	eachRefused(t, func(t *testing.T, db *sql.DB, column string, value any) error {
		const query = "INSERT INTO employee (id) VALUES (100) ON DUPLICATE KEY UPDATE %s = ?"
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(query, column), value)
		return err
	})
}

func TestSelect_ParameterThatTheColumnCannotHold_Is3988(t *testing.T) {
	db := start(t, config{})
	_, err := db.QueryContext(t.Context(), "SELECT id FROM employee WHERE municipality = ?", "😀")
	wantError(t, err, 3988, "Conversion from collation utf8mb4_general_ci into utf8mb3_general_ci impossible for parameter")
}

func TestInsert_SecondRowDoesNotFit_ErrorNamesRow2(t *testing.T) {
	db := start(t, config{})
	_, err := db.ExecContext(t.Context(), "INSERT INTO employee (id, department) VALUES (1, ?), (2, ?)", 1, int64(math.MaxInt64))
	wantError(t, err, 1264, "Out of range value for column 'department' at row 2")
}

func TestInsert_WithoutID_Is1364(t *testing.T) {
	db := start(t, config{})
	_, err := db.ExecContext(t.Context(), "INSERT INTO employee (first) VALUES ('Kari')")
	wantError(t, err, 1364, "Field 'id' doesn't have a default value")
}

func TestInsert_ExtremeValues_ComeBack(t *testing.T) {
	db := start(t, config{})
	long := strings.Repeat("\uffee", 64)
	exec(t, db, insertEmployee, int64(math.MaxInt64), long, "", "ÆØÅ", "1000-01-01", "9999-12-31", math.MinInt32)
	exec(t, db, insertEmployee, int64(math.MinInt64), nil, nil, nil, nil, nil, math.MaxInt32)

	want := []string{
		"-9223372036854775808 <nil> <nil> <nil> <nil> <nil> 2147483647",
		"9223372036854775807 " + long + "  ÆØÅ 1000-01-01 9999-12-31 -2147483648",
	}
	for _, query := range []string{
		"SELECT * FROM employee ORDER BY id",               // text protocol
		"SELECT * FROM employee WHERE id <> ? ORDER BY id", // binary protocol
	} {
		var args []any
		if strings.Contains(query, "?") {
			args = append(args, 0)
		}
		if got := employees(t, db, query, args...); !slices.Equal(got, want) {
			t.Errorf("%s: rows are %q, want %q", query, got, want)
		}
	}
}

// employees returns whole rows, their values separated by spaces.
func employees(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	res, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	var got []string
	for res.Next() {
		values := make([]any, 7)
		dest := make([]any, len(values))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := res.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			switch v := v.(type) {
			case []byte:
				values[i] = string(v)
			case time.Time:
				values[i] = v.Format(time.DateOnly)
			}
		}
		got = append(got, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTextOfASingleByteCharacterSet_IsMeasuredInCharacters(t *testing.T) {
	n := startNode(t, config{})
	for _, literals := range []bool{true, false} {
		db := connect(t, n, literals)
		exec(t, db, "CREATE TABLE IF NOT EXISTS l (id INT PRIMARY KEY, a VARCHAR(64), b CHAR(64), KEY (a)) CHARSET=latin1")
		full := strings.Repeat("ž", 64) // 128 bytes of UTF-8
		exec(t, db, "REPLACE INTO l VALUES (1, ?, ?)", full, full)
		exec(t, db, "UPDATE l SET a = ?, b = ?", "ž", "ž")
		exec(t, db, "INSERT INTO l (id) VALUES (1) ON DUPLICATE KEY UPDATE a = ?, b = ?", full, full)
		for _, where := range []string{"a = ?", "b = ?", "a IN (?, 'x')"} {
			if got := query[int64](t, db, "SELECT id FROM l WHERE "+where, full); !slices.Equal(got, []int64{1}) {
				t.Errorf("%s: rows are %v, want [1]", where, got)
			}
			if got := query[int64](t, db, "SELECT id FROM l WHERE "+where, full+"x"); len(got) != 0 {
				t.Errorf("%s: rows are %v, want none", where, got)
			}
		}
		wantError(t, run(t, db, "UPDATE l SET a = ?", full+"x"), 1406, "Data too long for column 'a' at row 1")
		wantError(t, run(t, db, "REPLACE INTO l VALUES (2, ?, ?)", full, full+"x"), 1406, "Data too long for column 'b' at row 1")
	}
}

func TestUpdate_ValueLeftByOthers_MayStay(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	rows, err := cluster.Rows("ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Insert([]any{1, nil, nil, nil, "0000-00-00"}); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "UPDATE employee SET first = 'Kari' WHERE id = 1")
	exec(t, db, "INSERT INTO employee (id) VALUES (1) ON DUPLICATE KEY UPDATE last = 'Nordmann'")
	wantError(t, run(t, db, "UPDATE employee SET ended = started"), 1292, "Incorrect date value: '0000-00-00' for column 'ended' at row 1")
	if got, err := rows.Get(1); err != nil || got[1] != "Kari" || got[2] != "Nordmann" || got[4] != "0000-00-00" || got[5] != nil {
		t.Errorf("row is %v, %v", got, err)
	}
}

func TestTextThatDoesNotFit_WhereTheModeIsNotStrict(t *testing.T) {
	n := startNode(t, config{})
	conn, err := connect(t, n, true).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec(t, conn, "SET sql_mode = ''")
	exec(t, conn, "INSERT INTO employee (id, first) VALUES (1, 'a😀b')")
	exec(t, conn, "UPDATE employee SET last = CONCAT(first, '😀')")
	if got := query[string](t, conn, "SELECT CONCAT(first, ' ', last) FROM employee"); !slices.Equal(got, []string{"a?b a?b?"}) {
		t.Errorf("rows are %q", got)
	}
}
