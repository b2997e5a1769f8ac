package sqlnode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSelect_TextComparesByTheCollation(t *testing.T) {
	db := start(t, config{})
	exec(t, db, `INSERT INTO employee (id, first, municipality) VALUES
		(1, 'Åse', 'Ålesund'), (2, 'ase', 'alesund'), (3, 'ASE', 'Bergen'), (4, NULL, NULL), (5, 'Per', 'oslo')`)
	tests := []struct {
		where string
		args  []any
		want  []int64
	}{
		{"first = ?", []any{"åsE"}, []int64{1, 2, 3}},         // without an index
		{"municipality = ?", []any{"ALESUND"}, []int64{1, 2}}, // with one
		{"municipality IN (?, ?)", []any{"OSLO", "bergen"}, []int64{3, 5}},
		{"municipality LIKE 'ål%'", nil, []int64{1, 2}},
		{"municipality > ?", []any{"alesund"}, []int64{3, 5}},
		{"municipality >= ? AND municipality < ?", []any{"ÅLESUND", "OSLO"}, []int64{1, 2, 3}},
		{"municipality <> ?", []any{"Alesund"}, []int64{3, 5}},
		{"municipality IS NULL", nil, []int64{4}},
		{"municipality IS NOT NULL", nil, []int64{1, 2, 3, 5}},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			got := query[int64](t, db, "SELECT id FROM employee WHERE "+tt.where+" ORDER BY id", tt.args...)
			if !slices.Equal(got, tt.want) {
				t.Errorf("rows are %v, want %v", got, tt.want)
			}
		})
	}
	order := "SELECT id FROM employee ORDER BY municipality, id"
	if got := query[int64](t, db, order); !slices.Equal(got, []int64{4, 1, 2, 3, 5}) {
		t.Errorf("%s: %v, want NULL first, then by collation", order, got)
	}
}

func TestSelect_SpacesAtTheEndOfTextDoNotCount(t *testing.T) {
	db := start(t, config{})
	exec(t, db, `INSERT INTO employee (id, first, municipality) VALUES
		(1, 'Kari  ', 'Oslo  '), (2, 'Kari', 'Oslo'), (3, 'Kari\t', 'Oslo\t'), (4, NULL, NULL)`)
	tests := []struct {
		where string
		want  []int64
	}{
		{"%s = '%[2]s'", []int64{1, 2}},
		{"%s = '%[2]s '", []int64{1, 2}},
		{"%s IN ('%[2]s', '%[2]s ', 'x')", []int64{1, 2}},
		{"%s > '%[2]s'", nil},
		{"%s >= '%[2]s'", []int64{1, 2}},
		{"%s < '%[2]s   '", []int64{3}},
		{"%s <= '%[2]s   '", []int64{1, 2, 3}},
		{"%s <> '%[2]s'", []int64{3}},
		{"%s BETWEEN '%[2]s' AND '%[2]s '", []int64{1, 2}},
		{"%s NOT IN ('%[2]s ')", []int64{3}},
		{"%s LIKE '%[2]s'", []int64{2}},
		{"%s LIKE '%[2]s%%'", []int64{1, 2, 3}},
	}
	for _, tt := range tests {
		for column, text := range map[string]string{"first": "Kari", "municipality": "Oslo"} {
			where := fmt.Sprintf(tt.where, column, text)
			t.Run(where, func(t *testing.T) {
				got := query[int64](t, db, "SELECT id FROM employee WHERE "+where+" ORDER BY id")
				if !slices.Equal(got, tt.want) {
					t.Errorf("rows are %v, want %v", got, tt.want)
				}
			})
		}
	}
	// What weighs as much as a space is one; in a collation without padding nothing is.
	exec(t, db, "CREATE TABLE pads (id INT PRIMARY KEY, a VARCHAR(9) COLLATE utf8mb3_unicode_ci, b VARCHAR(9) COLLATE utf8mb4_0900_ai_ci, KEY (a), KEY (b))")
	exec(t, db, "INSERT INTO pads VALUES (1, 'x \u00a0', 'x '), (2, 'x', 'x')")
	for where, want := range map[string][]int64{"a = 'X'": {1, 2}, "b = 'X'": {2}, "b IN ('X ', 'Y')": {1}} {
		if got := query[int64](t, db, "SELECT id FROM pads WHERE "+where+" ORDER BY id"); !slices.Equal(got, want) {
			t.Errorf("%s: rows are %v, want %v", where, got, want)
		}
	}
	if got := query[int64](t, db, "SELECT LENGTH(first) FROM employee WHERE id = 1"); got[0] != 6 {
		t.Errorf("stored text has length %d, want 6: spaces are kept", got[0])
	}
}

func TestSelect_ByID(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id) VALUES (-5), (0), (1), (2), (3), (7), (9223372036854775807)")
	tests := []struct {
		where string
		args  []any
		want  []int64
	}{
		{"id = ?", []any{2}, []int64{2}},
		{"id = ?", []any{4}, nil},
		{"id > ? ORDER BY id LIMIT ?", []any{1, 2}, []int64{2, 3}},
		{"id > ? ORDER BY id", []any{3}, []int64{7, 9223372036854775807}},
		{"id >= ? AND id < ? ORDER BY id", []any{1, 7}, []int64{1, 2, 3}},
		{"id BETWEEN ? AND ? ORDER BY id DESC", []any{0, 3}, []int64{3, 2, 1, 0}},
		{"id <= ? ORDER BY id DESC LIMIT 2", []any{2}, []int64{2, 1}},
		{"id IN (?, ?, ?) ORDER BY id", []any{7, -5, 4}, []int64{-5, 7}},
		{"id IN (?, ?, ?) ORDER BY id DESC", []any{7, -5, 1}, []int64{7, 1, -5}},
		{"id <> ? ORDER BY id LIMIT 3", []any{0}, []int64{-5, 1, 2}},
		{"id > 1.5 AND id < 3.5 ORDER BY id", nil, []int64{2, 3}},
		{"id = ?", []any{"7"}, []int64{7}},
		{"id IS NULL", nil, nil},
		{"id > 9223372036854775807", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			got := query[int64](t, db, "SELECT id FROM employee WHERE "+tt.where, tt.args...)
			if !slices.Equal(got, tt.want) {
				t.Errorf("rows are %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSelect_ByDate(t *testing.T) {
	db := start(t, config{})
	exec(t, db, `INSERT INTO employee (id, started, ended) VALUES
		(1, '1000-01-01', '9999-12-31'), (2, '2020-02-29', NULL), (3, '2020-03-01', '2021-01-01')`)
	tests := []struct {
		where string
		args  []any
		want  []int64
	}{
		{"started = ?", []any{"1000-01-01"}, []int64{1}},
		{"started = ?", []any{time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC)}, []int64{2}},
		{"started > ? AND ended <= ?", []any{"2020-02-29", "2021-01-01"}, []int64{3}},
		{"started BETWEEN ? AND ?", []any{"2020-01-01", "2020-12-31"}, []int64{2, 3}},
		{"started IN (?, ?)", []any{"1000-01-01", "2020-03-01"}, []int64{1, 3}},
		{"ended IS NULL", nil, []int64{2}},
		{"ended <> ?", []any{"2021-01-01"}, []int64{1}},
		{"ended = '9999-12-31'", nil, []int64{1}},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			got := query[int64](t, db, "SELECT id FROM employee WHERE "+tt.where+" ORDER BY id", tt.args...)
			if !slices.Equal(got, tt.want) {
				t.Errorf("rows are %v, want %v", got, tt.want)
			}
		})
	}
	if got := query[int64](t, db, "SELECT id FROM employee ORDER BY ended DESC, id"); !slices.Equal(got, []int64{1, 3, 2}) {
		t.Errorf("by ended, descending: %v, want [1 3 2]: NULL is last", got)
	}
}

func TestSelect_AFilteredPage(t *testing.T) {
	db := start(t, config{})
	fill(t, db, 3000)
	const page = `SELECT id FROM employee WHERE municipality = ? AND department = ? AND id > ? ORDER BY id LIMIT ?`
	var got []int64
	for after := int64(0); ; {
		ids := query[int64](t, db, page, "CITY7", 8, after, 7)
		if len(ids) == 0 {
			break
		}
		got, after = append(got, ids...), ids[len(ids)-1]
	}
	var want []int64
	for id := range int64(3000) {
		if id%100 == 7 && id%10 == 7 {
			want = append(want, id+1)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are %v, want %v", got, want)
	}
}

func TestSelect_Count_CountsWhatTheTransactionSees(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id) VALUES (1)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	exec(t, tx, "INSERT INTO employee (id) VALUES (2)")
	if got := query[int64](t, tx, "SELECT COUNT(*) FROM employee"); got[0] != 2 {
		t.Errorf("count is %d inside the transaction, want 2", got[0])
	}
	if got := query[int64](t, db, "SELECT COUNT(*) FROM employee"); got[0] != 1 {
		t.Errorf("count is %d outside, want 1", got[0])
	}
}

// TestSelect_UsesTheIndexes reads the engine's own account of how it executes
// a query.
func TestSelect_UsesTheIndexes(t *testing.T) {
	db := start(t, config{})
	fill(t, db, 20_000)
	tests := []struct {
		where, index string
		sorted       bool // by a sort, and not by the index
	}{
		{"id > 10 ORDER BY id LIMIT 5", "[employee.id]", false},
		{"id < 10 ORDER BY id DESC LIMIT 5", "[employee.id]", false},
		{"id IN (1, 2, 3) ORDER BY id", "[employee.id]", false},
		{"id = 3", "[employee.id]", false},
		{"department = 3 AND id > 10 ORDER BY id LIMIT 5", "[employee.id]", false},
		{"municipality = 'city5' ORDER BY id", "[employee.municipality]", true},
		{"municipality = 'city5' AND department = 6 AND id > 19 ORDER BY id LIMIT 5", "[employee.municipality]", true},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			plan := strings.Join(query[string](t, db, "EXPLAIN FORMAT=TREE SELECT * FROM employee WHERE "+tt.where), "\n")
			if !strings.Contains(plan, "index: "+tt.index) || strings.Contains(plan, "Sort") != tt.sorted {
				t.Errorf("index %s wanted, sort %v, plan is\n%s", tt.index, tt.sorted, plan)
			}
		})
	}
}

// fill inserts rows with the ids 1…n, in a hundred cities and ten departments.
func fill(t testing.TB, db execer, n int) {
	t.Helper()
	const batch = 500
	for from := 0; from < n; from += batch {
		var values []string
		for i := from; i < min(from+batch, n); i++ {
			values = append(values, fmt.Sprintf("(%d, 'city%d', %d)", i+1, i%100, i%10+1))
		}
		exec(t, db, "INSERT INTO employee (id, municipality, department) VALUES "+strings.Join(values, ","))
	}
}
