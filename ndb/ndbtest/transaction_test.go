package ndbtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func codeOf(err error) int {
	var e *ndb.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// rawEmployees is two records of a raw client and the employee table with rows
// 1 to 9.
func rawEmployees(t testing.TB, opts ...ndbtest.Option) (c *ndbtest.Cluster, one, two *rawRecord, table *dictinfo.Table) {
	t.Helper()
	c = ndbtest.Run(t, opts...)
	c.MustCreateTable(employeeTable)
	r := newRawClient(t, c, rawNode)
	table = r.table("ndbtest/def/employee")
	one, two = r.seize(2, 0x1000), r.seize(2, 0x2000)
	one.begin()
	for id := int64(1); id <= 9; id++ {
		flags := signal.KeyFlags(0)
		if id == 9 {
			flags = executeCommit
		}
		one.op(int(id), table, signal.OpInsert, flags, bigintKey(id), attrs(t, table, "id", id, "department", id))
	}
	confirmed := 0
	for {
		conf := await[*signal.TCKeyConf](r)
		if conf.Len() > 3 {
			t.Errorf("got %d operations in one TCKEYCONF, want at most 3", conf.Len())
		}
		confirmed += conf.Len()
		if conf.Committed {
			break
		}
	}
	if confirmed != 9 {
		t.Fatalf("got %d operations confirmed, want 9", confirmed)
	}
	one.ack()
	return c, one, two, table
}

func TestLock_WaitsForTheOther(t *testing.T) {
	c, one, two, table := rawEmployees(t)
	three := one.seize(2, 0x3000)
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](one.rawClient)
	two.begin()
	two.op(0, table, signal.OpReadExclusive, execute, bigintKey(1), readList(table, "department"))
	// A committed read does not wait; it comes behind the other over the link.
	three.begin()
	three.op(0, table, signal.OpRead, committedRead|executeCommit, bigintKey(1), readList(table, "department"))
	if got, want := string(three.row()), string(attrs(t, table, "department", 1)); got != want {
		t.Errorf("committed read: got %x, want %x", got, want)
	}
	if got := c.Stats(); got.LockWaits != 1 || got.Transactions != 2 {
		t.Errorf("got %+v, want one that waits", got)
	}
	send(one.rawClient, 2, api, &signal.TCCommitReq{TC: one.tc, TCPointer: one.tcPointer, TransID: one.id})
	var department string
	for range 3 {
		m := one.next()
		var ai signal.TransIDAI
		if m.GSN == signal.GSNTransIDAI && ai.Decode(m) == nil {
			department = string(ai.Attributes)
		}
	}
	one.ack()
	if want := string(attrs(t, table, "department", 100)); department != want {
		t.Errorf("got %x, want %x", department, want)
	}
}

func TestLock_NoWait_635(t *testing.T) {
	_, one, two, table := rawEmployees(t)
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](one.rawClient)
	two.begin()
	two.op(0, table, signal.OpRead, executeCommit|signal.FlagNoWait, bigintKey(1), readList(table, "department"))
	if rep := await[*signal.TCRollbackRep](two.rawClient); rep.Error != 635 {
		t.Errorf("got %+v, want 635", rep)
	}
}

func TestLock_TooLong_266(t *testing.T) {
	_, one, two, table := rawEmployees(t, ndbtest.LockWaitTimeout(50*time.Millisecond))
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](one.rawClient)
	two.begin()
	two.op(0, table, signal.OpUpdate, executeCommit, bigintKey(1), attrs(t, table, "department", 200))
	if rep := await[*signal.TCRollbackRep](two.rawClient); rep.Error != 266 || rep.TransID != two.id {
		t.Errorf("got %+v, want 266", rep)
	}
	send(two.rawClient, 2, api, &signal.TCCommitReq{TC: two.tc, TCPointer: two.tcPointer, TransID: two.id})
	if ref := await[*signal.TCCommitRef](two.rawClient); ref.Error != 266 {
		t.Errorf("commit after the abort: got %+v, want 266", ref)
	}
	send(two.rawClient, 2, api, &signal.TCRollbackReq{TC: two.tc, TCPointer: two.tcPointer, TransID: two.id})
	await[*signal.TCRollbackConf](two.rawClient)
	send(one.rawClient, 2, api, &signal.TCRollbackReq{TC: one.tc, TCPointer: one.tcPointer, TransID: one.id})
	await[*signal.TCRollbackConf](one.rawClient)
}

func TestTransaction_SeesItself_OthersDoNot(t *testing.T) {
	_, one, two, table := rawEmployees(t, ndbtest.DataNodes(2))
	one.begin()
	one.op(0, table, signal.OpUpdate, execute, bigintKey(1), attrs(t, table, "department", 100))
	await[*signal.TCKeyConf](one.rawClient)
	read := func(rec *rawRecord) string {
		rec.op(1, table, signal.OpRead, committedRead|execute, bigintKey(1), readList(table, "department"))
		return string(rec.row())
	}
	if got, want := read(one), string(attrs(t, table, "department", 100)); got != want {
		t.Errorf("own read: got %x, want %x", got, want)
	}
	two.begin()
	if got, want := read(two), string(attrs(t, table, "department", 1)); got != want {
		t.Errorf("other's read: got %x, want %x", got, want)
	}
	send(one.rawClient, 2, api, &signal.TCRollbackReq{TC: one.tc, TCPointer: one.tcPointer, TransID: one.id})
	await[*signal.TCRollbackConf](one.rawClient)
}

func TestTransaction_FailedOperation_AbortsAll(t *testing.T) {
	_, one, _, table := rawEmployees(t)
	one.begin()
	one.op(0, table, signal.OpUpdate, 0, bigintKey(1), attrs(t, table, "department", 100))
	one.op(1, table, signal.OpInsert, 0, bigintKey(2), attrs(t, table, "id", 2))
	one.op(2, table, signal.OpUpdate, executeCommit, bigintKey(3), attrs(t, table, "department", 100))
	if rep := await[*signal.TCRollbackRep](one.rawClient); rep.Error != 630 {
		t.Fatalf("got %+v, want 630", rep)
	}
	one.begin()
	one.op(3, table, signal.OpRead, executeCommit, bigintKey(1), readList(table, "department"))
	if got, want := string(one.row()), string(attrs(t, table, "department", 1)); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestClient_Transactions(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 100)
	tx, err := e.Begin(ctx, e.key(1))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	columns, _ := e.table.Select("department")
	var row ndb.Row
	tx.Update(e.key(1).Int64(e.depart, 50))
	tx.Update(e.key(2).Int64(e.depart, 50))
	tx.Read(e.key(3), columns, &row, ndb.SharedLock)
	if err := tx.Execute(ctx); err != nil {
		t.Fatal(err)
	}
	missing := tx.Update(e.key(1000).Int64(e.depart, 50)).IgnoreError()
	tx.Delete(e.key(4))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(missing.Err()); got != 626 {
		t.Errorf("got %d, want 626", got)
	}
	if got := e.department(ctx, t, 2); got != 50 {
		t.Errorf("got %d, want 50", got)
	}
}

func TestClient_InterpretedOperations(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 10)
	columns, _ := e.table.Select("id", "department")
	var row ndb.Row
	update := func(filter ndb.Filter) error {
		tx, err := e.Begin(ctx, e.key(3))
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Close()
		tx.Update(e.key(3).String(e.first, "Ada")).If(filter).Returning(columns, &row)
		return tx.Commit(ctx)
	}
	if err := update(ndb.Eq(e.depart, 3)); err != nil {
		t.Fatal(err)
	}
	if n, _ := row.Int64(1); n != 3 {
		t.Errorf("got department %d, want 3", n)
	}
	if got := codeOf(update(ndb.Eq(e.depart, 4))); got != ndb.CodeConditionFalse {
		t.Errorf("got code %d, want %d", got, ndb.CodeConditionFalse)
	}
	tx, err := e.Begin(ctx, e.key(3))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	tx.Update(e.key(3)).Increment(e.depart, 5, ndb.Limits{})
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := e.department(ctx, t, 3); got != 8 {
		t.Errorf("got department %d, want 8", got)
	}
}

const accountTable = `CREATE TABLE d.account (id INT UNSIGNED NOT NULL, mail VARCHAR(300), code CHAR(4) NOT NULL, PRIMARY KEY (id) USING HASH,
  UNIQUE KEY ux_mail (mail), UNIQUE KEY ux_code (code) USING HASH) CHARSET latin1`

func TestClient_UniqueIndex(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(accountTable)
	client, _ := connect(t, c)
	ctx := t.Context()
	table, err := client.Table(ctx, "d", "account")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := table.Column("id")
	mail, _ := table.Column("mail")
	code, _ := table.Column("code")
	byMail, err := table.Index("ux_mail")
	if err != nil {
		t.Fatal(err)
	}
	insert := func(n int64, m, c string) error {
		v := table.NewValues().Int64(id, n).String(code, c)
		if m != "" {
			v.String(mail, m)
		}
		_, err := client.Insert(ctx, v)
		return err
	}
	for i, err := range []error{insert(1, "a@x", "A"), insert(2, "b@x", "B"), insert(3, "", "C"), insert(4, "", "D")} {
		if err != nil {
			t.Fatalf("row %d: %v", i+1, err)
		}
	}
	if got := codeOf(insert(5, "A@X", "E")); got != 893 {
		t.Errorf("got %d, want 893", got)
	}
	if got := codeOf(insert(5, "e@x", "a")); got != 893 {
		t.Errorf("got %d, want 893", got)
	}
	columns, _ := table.Select("id", "code")
	var row ndb.Row
	if err := client.ReadUnique(ctx, byMail, table.NewValues().String(mail, "B@x"), columns, &row); err != nil {
		t.Fatal(err)
	}
	if n, _ := row.Int64(0); n != 2 {
		t.Errorf("got row %d, want 2", n)
	}
	if _, err := client.Update(ctx, table.NewValues().Int64(id, 1).String(mail, "c@x")); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(client.ReadUnique(ctx, byMail, table.NewValues().String(mail, "a@x"), columns, &row)); got != 626 {
		t.Errorf("got %d, want 626", got)
	}
	if err := insert(5, "a@x", "E"); err != nil {
		t.Error(err)
	}
	if _, err := client.DeleteUnique(ctx, byMail, table.NewValues().String(mail, "a@x")); err != nil {
		t.Error(err)
	}
	if err := insert(6, "a@x", "E"); err != nil {
		t.Error(err)
	}
}
