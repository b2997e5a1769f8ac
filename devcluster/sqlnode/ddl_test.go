package sqlnode_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

const allTypes = `CREATE TABLE alltypes (a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d BIGINT UNSIGNED,
	e CHAR(4) CHARACTER SET latin1, f VARCHAR(10) COLLATE utf8mb3_bin DEFAULT 'x', g DATE DEFAULT '2020-02-29',
	PRIMARY KEY (a, d), KEY (f, b), KEY (f)) ENGINE=NDB`

func TestCreateTable_IsThereForNativeClients(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	exec(t, db, allTypes)
	rows, err := cluster.Rows("ndbtest", "alltypes")
	if err != nil {
		t.Fatal(err)
	}
	want := []ndbtest.ColumnInfo{
		{Name: "a", Type: "Tinyint", PrimaryKey: true},
		{Name: "b", Type: "Smallunsigned", Nullable: true},
		{Name: "c", Type: "Mediumint", Nullable: true},
		{Name: "d", Type: "Bigunsigned", PrimaryKey: true},
		{Name: "e", Type: "Char", Length: 4, Collation: 8, Nullable: true},
		{Name: "f", Type: "Varchar", Length: 10, Collation: 83, Nullable: true, HasDefault: true, Default: "x"},
		{Name: "g", Type: "Date", Nullable: true, HasDefault: true, Default: "2020-02-29"},
	}
	if got := rows.Columns(); !slices.Equal(got, want) {
		t.Errorf("columns are %+v, want %+v", got, want)
	}
	var indexes []string
	for _, index := range rows.Indexes() {
		indexes = append(indexes, fmt.Sprint(index.Name, index.Columns))
	}
	if want := []string{"PRIMARY[0 3]", "f[5 1]", "f_2[5]"}; !slices.Equal(indexes, want) {
		t.Errorf("indexes are %q, want %q", indexes, want)
	}

	exec(t, db, "INSERT INTO alltypes (a, b, c, d, e) VALUES (-128, 65535, -8388608, 18446744073709551615, 'åß'), (127, 0, 8388607, 0, NULL)")
	exec(t, db, "UPDATE alltypes SET g = '9999-12-31' WHERE a = 127 AND d = 0")
	if err := rows.Insert([]any{1, 2, 3, 4, "ÿ", nil, nil}); err != nil {
		t.Fatal(err)
	}
	got := query[string](t, db, "SELECT CONCAT_WS(' ', a, b, c, d, e, f, DATE_FORMAT(g, '%Y-%m-%d')) FROM alltypes ORDER BY a")
	wantRows := []string{"-128 65535 -8388608 18446744073709551615 åß x 2020-02-29", "1 2 3 4 ÿ", "127 0 8388607 0 x 9999-12-31"}
	if !slices.Equal(got, wantRows) {
		t.Errorf("rows are %q, want %q", got, wantRows)
	}
	if got := len(rows.All()); got != 3 {
		t.Errorf("%d rows in the cluster, want 3", got)
	}
}

func TestTableMadeByOthers_IsThere(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	cluster.MustCreateTable("CREATE TABLE elsewhere.Word (word VARCHAR(9) CHARSET latin1 PRIMARY KEY, n INT NOT NULL, UNIQUE (n))")
	cluster.MustCreateTable("CREATE TABLE elsewhere.blobs (id INT PRIMARY KEY, b BLOB)")
	exec(t, db, "INSERT INTO elsewhere.Word VALUES ('Åse', 1), ('b', 2)")
	if got := query[int64](t, db, "SELECT n FROM elsewhere.word WHERE word = 'åSE '"); !slices.Equal(got, []int64{1}) {
		t.Errorf("rows are %v, want [1]", got)
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO elsewhere.Word VALUES ('ÅSE', 3)")
	wantError(t, err, 1062, "Duplicate entry 'ÅSE' for key 'Word.PRIMARY'")
	_, err = db.ExecContext(t.Context(), "INSERT INTO elsewhere.Word VALUES ('c', 2)")
	wantError(t, err, 1296, "Got error 893 'Constraint violation e.g. duplicate value in unique index' from NDBCLUSTER")
	// What has columns that are not known here does not show.
	if _, err := db.ExecContext(t.Context(), "SELECT * FROM elsewhere.blobs"); number(err) != 1146 {
		t.Errorf("error is %v, want 1146", err)
	}
	got := query[string](t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'elsewhere'")
	if !slices.Equal(got, []string{"Word"}) {
		t.Errorf("tables are %q, want Word", got)
	}
}

func TestDropTable_TakesItAway(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	tx := begin(t, db)
	exec(t, tx, "INSERT INTO employee (id) VALUES (1)")
	exec(t, db, "DROP TABLE employee")
	if _, err := cluster.Rows("ndbtest", "employee"); err == nil {
		t.Error("the table is still there")
	}
	wantError(t, tx.Commit(), 1296, "Got error 1226 'Table is being dropped' from NDBCLUSTER")
	if _, err := db.ExecContext(t.Context(), "SELECT id FROM employee"); number(err) != 1146 {
		t.Errorf("error is %v, want 1146", err)
	}
	exec(t, db, "CREATE TABLE employee (id INT PRIMARY KEY)")
	if got := query[int64](t, db, "SELECT id FROM employee"); len(got) != 0 {
		t.Errorf("rows are %v, want none", got)
	}
}

func number(err error) uint16 {
	var my *mysql.MySQLError
	if errors.As(err, &my) {
		return my.Number
	}
	return 0
}

func TestAddColumn_WhileInUse(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	exec(t, db, "INSERT INTO employee (id) VALUES (1)")
	exec(t, db, "ALTER TABLE employee ADD COLUMN nick VARCHAR(10) NULL")
	exec(t, db, "INSERT INTO employee (id, nick) VALUES (2, 'ole')")
	exec(t, db, "UPDATE employee SET nick = 'kari' WHERE id = 1 AND nick IS NULL")
	if got := query[string](t, db, "SELECT nick FROM employee ORDER BY id"); !slices.Equal(got, []string{"kari", "ole"}) {
		t.Errorf("rows are %q, want kari, ole", got)
	}
	rows, err := cluster.Rows("ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	want := ndbtest.ColumnInfo{Name: "nick", Type: "Varchar", Length: 10, Collation: 33, Nullable: true}
	if got := rows.Columns()[7]; got != want {
		t.Errorf("column is %+v, want %+v", got, want)
	}
}

func TestDDL_ThatTheClusterCannotDo_IsRefused(t *testing.T) {
	db := start(t, config{})
	const notSupported = "The storage engine for the table doesn't support "
	tests := []struct {
		query, message string
		number         uint16
	}{
		{"CREATE TABLE t (id INT PRIMARY KEY, a TEXT)", notSupported + "columns of type text", 1178},
		{"CREATE TABLE t (a INT)", notSupported + "tables without PRIMARY KEY", 1178},
		{"CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY)", notSupported + "AUTO_INCREMENT", 1178},
		{"CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE)", notSupported + "indexes that are not plain KEYs", 1178},
		{"CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9), KEY (b(3)))", notSupported + "prefixes of columns in indexes", 1178},
		{"CREATE TABLE t (a INT PRIMARY KEY, b INT AS (a + 1))", notSupported + "columns that are computed", 1178},
		{"CREATE TABLE t (a INT PRIMARY KEY, CHECK (a > 1))", notSupported + "foreign keys and checks", 1178},
		{"CREATE TEMPORARY TABLE t (a INT PRIMARY KEY)", notSupported + "temporary tables", 1178},
		{"CREATE TABLE employee (a INT PRIMARY KEY)", "Table 'employee' already exists", 1050},
		{"ALTER TABLE employee ADD COLUMN x INT NOT NULL", notSupported + "columns to be added with NOT NULL or a default", 1178},
		{"ALTER TABLE employee ADD COLUMN x INT FIRST", notSupported + "columns to be added elsewhere than at the end", 1178},
		{"ALTER TABLE employee DROP COLUMN last", notSupported + "ALTER TABLE … DROP COLUMN", 1178},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			_, err := db.ExecContext(t.Context(), tt.query)
			wantError(t, err, tt.number, tt.message)
		})
	}
	exec(t, db, "CREATE TABLE IF NOT EXISTS employee (a INT PRIMARY KEY)")
	exec(t, db, "CREATE TABLE second LIKE employee")
	if got := query[string](t, db, "SHOW TABLES"); !slices.Contains(got, "second") || slices.Contains(got, "t") {
		t.Errorf("tables are %q, want one that is second and none that is t", got)
	}
}

func TestDatabases(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	exec(t, db, "CREATE DATABASE inlatin1 CHARACTER SET latin1")
	exec(t, db, "CREATE TABLE inlatin1.t (id INT PRIMARY KEY, a VARCHAR(5), b VARCHAR(5) CHARACTER SET utf8mb4)")
	exec(t, db, "CREATE DATABASE plain")
	exec(t, db, "CREATE TABLE plain.t (id INT PRIMARY KEY, a VARCHAR(5), b VARCHAR(5) COLLATE utf8mb4_0900_as_cs)")
	got := query[string](t, db, `SELECT collation_name FROM information_schema.columns
		WHERE table_name = 't' AND collation_name IS NOT NULL ORDER BY table_schema, column_name`)
	if want := []string{"latin1_swedish_ci", "utf8mb4_0900_ai_ci", "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs"}; !slices.Equal(got, want) {
		t.Errorf("collations are %q, want %q", got, want)
	}
	exec(t, db, "DROP DATABASE inlatin1")
	exec(t, db, "DROP DATABASE plain")
	for _, name := range cluster.Tables() {
		if name.Database != "ndbtest" {
			t.Errorf("table %v is still there", name)
		}
	}
	if _, err := db.ExecContext(t.Context(), "USE plain"); number(err) != 1049 {
		t.Errorf("error is %v, want 1049", err)
	}
}

// A text that a column cannot hold is refused where it meets that column, and
// nowhere else.
func TestTexts_MeetColumnsOfOtherCharacterSets(t *testing.T) {
	n := startNode(t, config{})
	literals, parameters := connect(t, n, true), connect(t, n, false)
	exec(t, literals, `CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(5) CHARACTER SET latin1, b VARCHAR(5) CHARACTER SET utf8mb4,
		KEY (a)) CHARACTER SET utf8mb3`)
	exec(t, literals, "INSERT INTO t VALUES (1, 'é€', '日😀')")
	const (
		parameter = "Conversion from collation utf8mb4_general_ci into latin1_swedish_ci impossible for parameter"
		compared  = `Cannot convert string '\xE6\x97\xA5' from utf8mb4 to latin1`
		stored    = `Incorrect string value: '\xE6\x97\xA5' for column 'a' at row 1`
	)
	tests := []struct {
		query   string
		literal uint16
		message string
	}{
		{"SELECT id FROM t WHERE a = ?", 3854, compared},
		{"SELECT id FROM t WHERE ? < a", 3854, compared},
		{"SELECT id FROM t WHERE a IN ('a', ?)", 3854, compared},
		{"SELECT id FROM t WHERE a BETWEEN 'a' AND ?", 3854, compared},
		{"SELECT id FROM t WHERE a LIKE ?", 3854, compared},
		{"INSERT INTO t (a, id) VALUES (?, 2)", 1366, stored},
		{"UPDATE t SET a = ?", 1366, stored},
		{"INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE a = ?", 1366, stored},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			wantError(t, run(t, literals, tt.query, "日"), tt.literal, tt.message)
			wantError(t, run(t, parameters, tt.query, "日"), 3988, parameter)
		})
	}
	for _, db := range []*sql.DB{literals, parameters} {
		for _, q := range []string{
			"SELECT id FROM t WHERE b >= ? AND a = 'é€'", "SELECT ? FROM t", "UPDATE t SET b = ?", "REPLACE INTO t (id, b) VALUES (3, ?)",
		} {
			if err := run(t, db, q, "日"); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
	}
}

func run(t *testing.T, db *sql.DB, query string, args ...any) error {
	t.Helper()
	if strings.HasPrefix(query, "SELECT") {
		rows, err := db.QueryContext(t.Context(), query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}
	_, err := db.ExecContext(t.Context(), query, args...)
	return err
}

func TestSelect_BySeveralColumnsOfAnIndex(t *testing.T) {
	db := start(t, config{})
	exec(t, db, "CREATE TABLE t (a INT, b VARCHAR(9), c INT, d INT, PRIMARY KEY (a, b), KEY (c, d)) CHARSET=utf8mb3")
	for a := range 3 {
		for i, b := range []string{"x", "Y", "z"} {
			exec(t, db, "INSERT INTO t VALUES (?, ?, ?, ?)", a, b, i%2, a)
		}
	}
	tests := []struct {
		where string
		want  []string
	}{
		{"a = 1 AND b = 'y'", []string{"1Y"}},
		{"a = 1 AND b > 'x'", []string{"1Y", "1z"}},
		{"a = 1 AND b IN ('X', 'x ', 'q')", []string{"1x"}},
		{"a > 0 AND b = 'Z'", []string{"1z", "2z"}},
		{"a >= 1 AND a < 2", []string{"1x", "1Y", "1z"}},
		{"c = 1", []string{"0Y", "1Y", "2Y"}},
		{"c = 0 AND d > 1", []string{"2x", "2z"}},
		{"c = 0 AND d IN (0, 2) AND b = 'x'", []string{"0x", "2x"}},
		{"d = 1", []string{"1x", "1Y", "1z"}},
		{"c IS NULL", nil},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			got := query[string](t, db, "SELECT CONCAT(a, b) FROM t WHERE "+tt.where+" ORDER BY a, b")
			if !slices.Equal(got, tt.want) {
				t.Errorf("rows are %q, want %q", got, tt.want)
			}
		})
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1, 'X ', 0, 0)")
	wantError(t, err, 1062, "Duplicate entry '1-X ' for key 't.PRIMARY'")
	exec(t, db, "UPDATE t SET b = 'W' WHERE a = 1 AND b = 'x'")
	exec(t, db, "DELETE FROM t WHERE a = 2")
	got := query[string](t, db, "SELECT CONCAT(a, b) FROM t ORDER BY a, b DESC")
	if want := []string{"0z", "0Y", "0x", "1z", "1Y", "1W"}; !slices.Equal(got, want) {
		t.Errorf("rows are %q, want %q", got, want)
	}
}

func TestPrimaryKeyOfBytes_UsingHash(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	exec(t, db, `CREATE TABLE answers (answer VARBINARY(2000), request VARBINARY(64) NOT NULL, caller VARBINARY(64) NOT NULL,
		fixed BINARY(3), PRIMARY KEY (caller, request) USING HASH)`)
	rows, err := cluster.Rows("ndbtest", "answers")
	if err != nil {
		t.Fatal(err)
	}
	if got := rows.Indexes(); len(got) != 0 {
		t.Errorf("ordered indexes are %v, want none", got)
	}
	exec(t, db, "INSERT INTO answers VALUES (?, ?, ?, ?)", []byte{0, 255}, []byte("r"), []byte("c"), []byte("abc"))
	if err := rows.Insert([]any{[]byte{1}, []byte("R"), []byte("c"), nil}, []any{[]byte{2}, []byte("r "), []byte("c"), nil}); err != nil {
		t.Fatal(err)
	}
	if got, err := rows.Get([]byte("r"), []byte("c")); err != nil || got == nil || string(got[0].([]byte)) != "\x00\xff" {
		t.Errorf("row is %v, %v", got, err)
	}
	tests := []struct {
		where string
		args  []any
		want  []string
	}{
		{"caller = ? AND request = ?", []any{[]byte("c"), []byte("R")}, []string{"\x01"}},
		{"caller = 'c' AND request IN ('r', 'r ')", nil, []string{"\x00\xff", "\x02"}},
		{"caller = ? AND request = ?", []any{"c", "nobody"}, nil},
		{"request = 'r'", nil, []string{"\x00\xff"}},
		{"caller >= 'b' ORDER BY caller, request", nil, []string{"\x01", "\x00\xff", "\x02"}},
		{"fixed = 'abc'", nil, []string{"\x00\xff"}},
	}
	for _, tt := range tests {
		if got := query[string](t, db, "SELECT answer FROM answers WHERE "+tt.where, tt.args...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: rows are %q, want %q", tt.where, got, tt.want)
		}
	}
	plan := strings.Join(query[string](t, db, "EXPLAIN FORMAT=TREE SELECT * FROM answers WHERE caller = 'c' AND request = 'r'"), "\n")
	if !strings.Contains(plan, "IndexedTableAccess") {
		t.Errorf("the primary key is not used:\n%s", plan)
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO answers VALUES (NULL, 'r', 'c', NULL)")
	wantError(t, err, 1062, "Duplicate entry 'r-c' for key 'answers.PRIMARY'")
	_, err = db.ExecContext(t.Context(), "UPDATE answers SET fixed = 'abcd'")
	wantError(t, err, 1406, "Data too long for column 'fixed' at row 1")
	if got := affected(t, exec(t, db, "UPDATE answers SET answer = 'x' WHERE caller = 'c' AND request = 'R'")); got != 1 {
		t.Errorf("%d rows affected, want 1", got)
	}
	if got := affected(t, exec(t, db, "DELETE FROM answers")); got != 3 || rows.Len() != 0 {
		t.Errorf("%d rows deleted, %d left, want 3 and none", got, rows.Len())
	}
}

func TestZeroDate_IsStoredWhereTheModeIsNotStrict(t *testing.T) {
	db := start(t, config{})
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec(t, conn, "SET sql_mode = ''")
	exec(t, conn, "INSERT INTO employee (id, started, ended) VALUES (1, '0000-00-00', NULL)")
	exec(t, conn, "UPDATE employee SET ended = started")
	// To the driver it is the zero time.
	if got := query[time.Time](t, db, "SELECT ended FROM employee WHERE started = '0000-00-00'"); len(got) != 1 || !got[0].IsZero() {
		t.Errorf("dates are %v, want the zero date", got)
	}
}

func TestAllDataNodesLost_ThenBack(t *testing.T) {
	n, cluster := startCluster(t, config{})
	db := connect(t, n, false)
	exec(t, db, "INSERT INTO employee (id) VALUES (1)")
	cluster.Checkpoint()
	tx := begin(t, db)
	exec(t, tx, "INSERT INTO employee (id) VALUES (2)")
	cluster.KillAll()
	wantError(t, tx.Commit(), 1296, "Got error 4009 'Cluster Failure' from NDBCLUSTER")
	_, err := db.ExecContext(t.Context(), "INSERT INTO employee (id) VALUES (3)")
	wantError(t, err, 1296, "Got error 157 'Could not connect to storage engine' from NDBCLUSTER")
	for _, id := range cluster.Nodes() {
		if err := cluster.StartNode(id); err != nil {
			t.Fatal(err)
		}
	}
	for number(run(t, db, "INSERT INTO employee (id) VALUES (4)")) == 1296 {
		// They are starting.
	}
	if got := query[int64](t, db, "SELECT id FROM employee ORDER BY id"); !slices.Equal(got, []int64{1, 4}) {
		t.Errorf("rows are %v, want [1 4]", got)
	}
}
