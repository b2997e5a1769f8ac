package sqlnode_test

import (
	"slices"
	"testing"
)

const insertEmployee = `INSERT INTO employee (id, first, last, municipality, started, ended, department)
	VALUES (?, ?, ?, ?, ?, ?, ?)`

// onDuplicate makes it an upsert that tells an insert from an update: the
// answer carries an id only where a row was there.
const onDuplicate = ` ON DUPLICATE KEY UPDATE first = VALUES(first), last = VALUES(last),
	municipality = VALUES(municipality), started = VALUES(started), ended = VALUES(ended),
	department = IF(LAST_INSERT_ID(id), VALUES(department), VALUES(department))`

func TestInsert_NewID_OneRowAffected(t *testing.T) {
	db := start(t, config{})
	res := exec(t, db, insertEmployee, 1, "Kari", "Nordmann", "Oslo", "2020-02-29", nil, 3)
	if got := affected(t, res); got != 1 {
		t.Errorf("%d rows affected, want 1", got)
	}
	if got := lastInsertID(t, res); got != 0 {
		t.Errorf("last insert id is %d, want 0: there is no AUTO_INCREMENT", got)
	}
}

func TestInsert_DuplicateID_Is1062(t *testing.T) {
	db := start(t, config{})
	exec(t, db, insertEmployee, 7, "Kari", nil, nil, nil, nil, 1)
	_, err := db.ExecContext(t.Context(), insertEmployee, 7, "Ola", nil, nil, nil, nil, 1)
	wantError(t, err, 1062, "Duplicate entry '7' for key 'employee.PRIMARY'")
	if got := query[string](t, db, "SELECT first FROM employee"); !slices.Equal(got, []string{"Kari"}) {
		t.Errorf("rows are %q, want the first one only", got)
	}
}

func TestInsert_SeveralRows_AllOrNone(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id) VALUES (3)")
	_, err := db.ExecContext(t.Context(), "INSERT INTO employee (id) VALUES (?), (?), (?), (?)", 1, 2, 3, 4)
	wantError(t, err, 1062, "Duplicate entry '3' for key 'employee.PRIMARY'")
	if got := query[int64](t, db, "SELECT id FROM employee"); !slices.Equal(got, []int64{3}) {
		t.Errorf("rows are %v, want only the one that was there", got)
	}
	if got := affected(t, exec(t, db, "INSERT INTO employee (id) VALUES (?), (?)", 1, 2)); got != 2 {
		t.Errorf("%d rows affected, want 2", got)
	}
}

func TestInsert_ColumnsLeftOut_TakeTheirDefaults(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id) VALUES (1)")
	const isDefault = `SELECT id FROM employee WHERE first IS NULL AND last IS NULL AND municipality IS NULL
		AND started IS NULL AND ended IS NULL AND department = 1`
	if got := query[int64](t, db, isDefault); len(got) != 1 {
		t.Errorf("%d rows with the defaults, want 1", len(got))
	}
}

func TestUpsert_NewID_OneRowAffectedAndNoInsertID(t *testing.T) {
	db := start(t, config{})
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec(t, conn, "INSERT INTO employee (id) VALUES (1)")
	// The id that this leaves in the session is not to show up in the next answer.
	exec(t, conn, insertEmployee+onDuplicate, 1, "Kari", nil, nil, nil, nil, 1)

	res := exec(t, conn, insertEmployee+onDuplicate, 2, "Ola", nil, nil, nil, nil, 1)
	if n, id := affected(t, res), lastInsertID(t, res); n != 1 || id != 0 {
		t.Errorf("%d rows affected and insert id %d, want 1 and 0", n, id)
	}
}

func TestUpsert_ExistingID_ReplacesAndTellsTheID(t *testing.T) {
	db := start(t, config{})
	exec(t, db, insertEmployee, 5, "Kari", nil, "Oslo", "2020-01-01", nil, 2)
	tests := []struct {
		name, first, query string
		affected           int64
	}{
		{"changed, id told by IF", "Ola", insertEmployee + onDuplicate, 2},
		{"unchanged, id told by IF", "Ola", insertEmployee + onDuplicate, 1},
		{"other case, id told by IF", "OLA", insertEmployee + onDuplicate, 2},
		{
			"changed, id told by assignment", "Per",
			insertEmployee + " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), first = VALUES(first)", 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := exec(t, db, tt.query, 5, tt.first, nil, nil, nil, nil, 9)
			if n, id := affected(t, res), lastInsertID(t, res); n != tt.affected || id != 5 {
				t.Errorf("%d rows affected and insert id %d, want %d and 5", n, id, tt.affected)
			}
			if got := query[string](t, db, "SELECT first FROM employee WHERE id = 5"); !slices.Equal(got, []string{tt.first}) {
				t.Errorf("first is %q, want %q", got, tt.first)
			}
		})
	}
	if got := query[int64](t, db, "SELECT id FROM employee WHERE municipality IS NULL AND started IS NULL AND department = 9"); len(got) != 1 {
		t.Error("the other columns were not replaced")
	}
}

func TestUpdate_AnswersWithMatchedRows(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 4), (2, 5)")
	tests := []struct {
		name, query string
		args        []any
		want        int64
	}{
		{"changed", "UPDATE employee SET department = ? WHERE id = ?", []any{9, 1}, 1},
		{"unchanged", "UPDATE employee SET department = ? WHERE id = ?", []any{9, 1}, 1},
		{"no such row", "UPDATE employee SET department = ? WHERE id = ?", []any{9, 3}, 0},
		{"several", "UPDATE employee SET department = department + 1", nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := affected(t, exec(t, db, tt.query, tt.args...)); got != tt.want {
				t.Errorf("%d rows affected, want %d", got, tt.want)
			}
		})
	}
	if got := query[int64](t, db, "SELECT department FROM employee ORDER BY id"); !slices.Equal(got, []int64{10, 6}) {
		t.Errorf("departments are %v, want [10 6]", got)
	}
}

func TestUpdate_ToAnotherCase_ChangesTheText(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id, first, municipality) VALUES (1, 'kari', 'oslo')")
	for _, where := range []string{"id = 1", "municipality = 'OSLO'", "department = 1"} {
		t.Run(where, func(t *testing.T) {
			exec(t, db, "UPDATE employee SET first = 'kari', municipality = 'oslo'")
			res := exec(t, db, "UPDATE employee SET first = 'Kari ', municipality = 'Oslo' WHERE "+where)
			if got := affected(t, res); got != 1 {
				t.Errorf("%d rows affected, want 1", got)
			}
			got := query[string](t, db, "SELECT CONCAT(first, municipality) FROM employee WHERE municipality = 'oslo'")
			if !slices.Equal(got, []string{"Kari Oslo"}) {
				t.Errorf("row is %q, want %q", got, "Kari Oslo")
			}
		})
	}
}

func TestUpdate_ToAnotherCharacter_ChangesTheText(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "CREATE TABLE wide (id INT PRIMARY KEY, a VARCHAR(9)) CHARSET=utf8mb4")
	exec(t, db, "INSERT INTO wide VALUES (1, '')")
	for _, s := range []string{"😀", "😁", "\U0010ffff", "\U0001d49c", "\ufffd", "\uffee", "a", "A", "a\x00"} {
		exec(t, db, "UPDATE wide SET a = ?", s)
		if got := query[string](t, db, "SELECT a FROM wide"); !slices.Equal(got, []string{s}) {
			t.Errorf("text is %q, want %q", got, s)
		}
	}
}

func TestUpdate_OfTheIndexedColumn_MovesEachRowOnce(t *testing.T) {
	db := start(t, config{})
	for id := 1; id <= 600; id += 2 {
		exec(t, db, "INSERT INTO employee (id, municipality) VALUES (?, 'A'), (?, 'B')", id, id+1)
	}
	res := exec(t, db, "UPDATE employee SET municipality = CONCAT('Z', municipality) WHERE municipality >= 'A'")
	if got := affected(t, res); got != 600 {
		t.Errorf("%d rows affected, want 600", got)
	}
	if got := query[int64](t, db, "SELECT COUNT(*) FROM employee WHERE municipality = 'ZA'"); got[0] != 300 {
		t.Errorf("%d rows moved to ZA, want 300", got[0])
	}
}

func TestUpdate_OfTheID(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id, first) VALUES (1, 'Kari'), (2, 'Ola')")
	_, err := db.ExecContext(t.Context(), "UPDATE employee SET id = 2 WHERE id = 1")
	wantError(t, err, 1062, "Duplicate entry '2' for key 'employee.PRIMARY'")
	exec(t, db, "UPDATE employee SET id = 3 WHERE id = 1")
	if got := query[string](t, db, "SELECT first FROM employee ORDER BY id"); !slices.Equal(got, []string{"Ola", "Kari"}) {
		t.Errorf("rows are %q, want Ola (2), Kari (3)", got)
	}
}

func TestDelete_AnswersWithDeletedRows(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id, department) VALUES (1, 1), (2, 2), (3, 2), (4, 2)")
	tests := []struct {
		name, query string
		want        int64
	}{
		{"by id", "DELETE FROM employee WHERE id = 1", 1},
		{"by id again", "DELETE FROM employee WHERE id = 1", 0},
		{"by another column", "DELETE FROM employee WHERE department = 2 ORDER BY id LIMIT 1", 1},
		{"all", "DELETE FROM employee", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := affected(t, exec(t, db, tt.query)); got != tt.want {
				t.Errorf("%d rows affected, want %d", got, tt.want)
			}
		})
	}
}

func TestDelete_AllInATransaction_CanBeRolledBack(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id) VALUES (1), (2)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "DELETE FROM employee")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := query[int64](t, db, "SELECT id FROM employee"); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("rows are %v, want [1 2]", got)
	}
}

func TestReplace_ExistingID_LeavesTheNewRow(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "INSERT INTO employee (id, first, last) VALUES (1, 'Kari', 'Nordmann')")
	res := exec(t, db, "REPLACE INTO employee (id, first) VALUES (1, 'Ola')")
	if got := affected(t, res); got != 1 {
		t.Errorf("%d rows affected, want 1", got)
	}
	if got := query[int64](t, db, "SELECT id FROM employee WHERE first = 'Ola' AND last IS NULL"); !slices.Equal(got, []int64{1}) {
		t.Errorf("rows are %v, want [1]", got)
	}
}
