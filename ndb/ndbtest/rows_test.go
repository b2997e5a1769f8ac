package ndbtest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

const typesTable = `create table if not exists d.types (
  a int unsigned not null auto_increment comment 'the key',
  b tinyint default -1, c smallint unsigned default '7', d mediumint, e bigint not null default 0,
  f float, g double default 1.5, h decimal(10,2) default '3.25', i char(5) default 'x', j varchar(300), k binary(4), l varbinary(10),
  m date default '2020-02-29', n time(3), o datetime(6), p timestamp(0) null default current_timestamp on update current_timestamp,
  q year, r bit(9), s enum('a','b)','c,d'), t set('x','y','z'),
  primary key (a), key (d, e), unique (j) -- the end
) engine=ndbcluster auto_increment=5, default charset = latin1 collate latin1_swedish_ci;`

func TestRows_AllTypes(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(typesTable)
	c.MustCreateTable(typesTable) // exists already
	rows, err := c.Rows("d", "types")
	if err != nil {
		t.Fatal(err)
	}
	full := []any{
		int64(1), int64(-128), uint64(65535), int64(-8388608), int64(-1 << 63), 0.5, -2.25, "-99999999.99", "ab", "Käse",
		[]byte{1, 2, 3, 0},
		[]byte{9},
		"1000-01-01", "-838:59:59.000", "9999-12-31 23:59:59.999999", "2038-01-19 03:14:07", uint64(2155), uint64(511), uint64(3), uint64(7),
	}
	full[0] = uint64(1)
	if err := rows.Insert(full, []any{2}); err != nil {
		t.Fatal(err)
	}
	withDefaults := []any{
		uint64(2), int64(-1), uint64(7), nil, int64(0), nil, 1.5, "3.25", "x", nil, nil, nil, "2020-02-29", nil, nil, nil, nil, nil, nil, nil,
	}
	got := rows.All()
	for i, want := range [][]any{full, withDefaults} {
		if len(got) != 2 || !reflect.DeepEqual(got[i], want) {
			t.Errorf("row %d:\ngot  %v\nwant %v", i, got[i], want)
		}
	}
	if one, err := rows.Get(2); err != nil || !reflect.DeepEqual(one, withDefaults) {
		t.Errorf("got %v (%v)", one, err)
	}
	// The client sees the same.
	client, _ := connect(t, c)
	ctx := t.Context()
	table, err := client.Table(ctx, "d", "types")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range table.Columns() {
		names = append(names, column.Name)
	}
	columns, err := table.Select(names...)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := table.Column("a")
	var row ndb.Row
	for id, want := range map[int64][]any{1: full, 2: withDefaults} {
		if err := client.Read(ctx, table.NewValues().Int64(key, id), columns, &row); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			text, _ := row.AppendText(nil, i)
			wantText := fmt.Sprint(want[i])
			if b, ok := want[i].([]byte); ok {
				wantText = string(b)
			}
			if want[i] == nil {
				wantText = ""
			}
			if string(text) != wantText || row.IsNull(i) != (want[i] == nil) {
				t.Errorf("row %d, column %s: got %q, want %q", id, names[i], text, wantText)
			}
		}
	}
}

func TestRows_Describe(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(accountTable)
	rows, err := c.Rows("d", "account")
	if err != nil {
		t.Fatal(err)
	}
	wantIndexes := []ndbtest.IndexInfo{
		{Name: "ux_mail", Columns: []int{1}}, {Name: "ux_mail", Unique: true, Columns: []int{1}}, {Name: "ux_code", Unique: true, Columns: []int{2}},
	}
	if got := rows.Indexes(); !reflect.DeepEqual(got, wantIndexes) {
		t.Errorf("got %+v, want %+v", got, wantIndexes)
	}
	want := ndbtest.ColumnInfo{Name: "mail", Type: "Longvarchar", Length: 300, Collation: 8, Nullable: true}
	if got := rows.Columns()[1]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestLocalTx_SharesLocksWithClients(t *testing.T) {
	e := newEmployees(t, ndbtest.LockWaitTimeout(100*time.Millisecond))
	ctx := t.Context()
	e.fill(ctx, t, 10)
	rows, err := e.cluster.Rows("ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	tx := e.cluster.Begin()
	defer tx.Rollback()
	row, err := tx.Get(ctx, rows, []any{3}, true)
	if err != nil || row[6] != int64(3) {
		t.Fatalf("got %v (%v)", row, err)
	}
	row[6] = 77
	if ok, err := tx.Update(ctx, rows, row); !ok || err != nil {
		t.Fatalf("got %t, %v", ok, err)
	}
	if _, err := e.Update(ctx, e.key(3).Int64(e.depart, 1)); codeOf(err) != 266 {
		t.Errorf("got %v, want 266", err)
	}
	if got := e.department(ctx, t, 3); got != 3 {
		t.Errorf("before the commit: got %d, want 3", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := e.department(ctx, t, 3); got != 77 {
		t.Errorf("got %d, want 77", got)
	}

	held, err := e.Begin(ctx, e.key(4))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	held.Update(e.key(4).Int64(e.depart, 1))
	if err := held.Execute(ctx); err != nil {
		t.Fatal(err)
	}
	tx = e.cluster.Begin()
	var code *ndbtest.CodeError
	if _, err := tx.Delete(ctx, rows, []any{4}); !errors.As(err, &code) || code.Code != 266 {
		t.Errorf("got %v, want 266", err)
	}
	if err := tx.Commit(); !errors.As(err, &code) {
		t.Errorf("got %v, want that of the abort", err)
	}
	tx = e.cluster.Begin()
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := tx.Delete(short, rows, []any{4}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestLocalTx_ScanInOrder(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 100)
	rows, err := e.cluster.Rows("ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	tx := e.cluster.Begin()
	defer tx.Rollback()
	for _, id := range []int{20, 21} {
		if ok, err := tx.Delete(ctx, rows, []any{id}); !ok || err != nil {
			t.Fatalf("got %t, %v", ok, err)
		}
	}
	if err := tx.Insert(ctx, rows, []any{1000, "x", nil, "city 5"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		scan        ndbtest.LocalScan
		want        int
		first, last any
	}{
		{ndbtest.LocalScan{Index: "PRIMARY"}, 99, int64(1), int64(1000)},
		{ndbtest.LocalScan{Index: "PRIMARY", Reverse: true}, 99, int64(1000), int64(1)},
		{ndbtest.LocalScan{Index: "PRIMARY", Low: []any{19}, High: []any{30}, HighStrict: true}, 9, int64(19), int64(29)},
		{ndbtest.LocalScan{Index: "idx_municipality", Low: []any{"CITY 5"}, High: []any{"city 5"}, ForUpdate: true}, 11, nil, nil},
		{ndbtest.LocalScan{Index: "idx_municipality", High: []any{nil}}, 9, nil, nil},
		{ndbtest.LocalScan{}, 99, nil, nil},
	} {
		s, err := tx.Scan(rows, test.scan)
		if err != nil {
			t.Fatal(err)
		}
		var ids []any
		for {
			row, err := s.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				break
			}
			ids = append(ids, row[0])
		}
		if len(ids) != test.want || test.first != nil && (ids[0] != test.first || ids[len(ids)-1] != test.last) {
			t.Errorf("%+v: got %d rows %v", test.scan, len(ids), ids)
		}
	}
}

func TestCreateTable_Errors(t *testing.T) {
	c := ndbtest.Run(t)
	for _, sql := range []string{
		"DROP TABLE d.t",
		"CREATE TABLE t (a INT PRIMARY KEY)",
		"CREATE TABLE d.t (a INT)",
		"CREATE TABLE d.t (a INT PRIMARY KEY, a INT)",
		"CREATE TABLE d.t (a INTEGRAL PRIMARY KEY)",
		"CREATE TABLE d.t (a INT PRIMARY KEY, KEY (b))",
		"CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(10) CHARACTER SET klingon)",
		"CREATE TABLE d.t (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES x (a))",
		"CREATE TABLE d.t (a INT PRIMARY KEY, b INT DEFAULT 'x')",
		"CREATE TABLE d.t (a TEXT PRIMARY KEY)",
		"CREATE TABLE d.t (a INT PRIMARY KEY",
		"CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR('x",
	} {
		if err := c.CreateTable(sql); err == nil {
			t.Errorf("%s: got no error", sql)
		}
	}
	if err := c.CreateTable(employeeTable); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTable(employeeTable); err == nil {
		t.Error("got no error for a table that exists")
	}
}
