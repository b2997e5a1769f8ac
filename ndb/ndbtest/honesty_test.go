package ndbtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// TestSameAsRealCluster runs one script here and on a real cluster, whose
// employee table deploy/schema.sql makes, and compares what the client sees.
func TestSameAsRealCluster(t *testing.T) {
	const variable = "TEST_NDB_CONNECTSTRING"
	connectstring := os.Getenv(variable)
	if connectstring == "" {
		t.Skip("needs a cluster: " + variable + " is not set")
	}
	fake := newEmployees(t)
	real := &employees{}
	var err error
	if real.Client, err = ndb.Connect(t.Context(), ndb.Config{Connectstring: connectstring}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(real.Close)
	real.open(t)
	base := time.Now().UnixNano()
	got, want := runScript(t, fake, base), runScript(t, real, base)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("line %d: got nothing, want %s", i, want[i])
		case i >= len(want):
			t.Errorf("line %d: got %s, want nothing", i, got[i])
		case got[i] != want[i]:
			t.Errorf("line %d: got %s, want %s", i, got[i], want[i])
		}
	}
	t.Logf("%d lines", len(got))
}

// The script runs here without a real cluster too.
func TestScript_RunsHere(t *testing.T) {
	lines := runScript(t, newEmployees(t), 1<<40)
	for _, line := range lines {
		if strings.Contains(line, "unexpected") {
			t.Error(line)
		}
	}
}

// script is what happens on one of the clusters.
type script struct {
	*employees
	t     *testing.T
	ctx   context.Context
	base  int64
	city  string // of all rows
	lines []string
}

func runScript(t *testing.T, e *employees, base int64) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &script{employees: e, t: t, ctx: ctx, base: base, city: fmt.Sprintf("honest %d", base)}
	defer s.clear()
	s.singles()
	s.transactions()
	s.locks()
	s.programs()
	s.scans()
	return s.lines
}

func (s *script) say(what string, results ...any) {
	for i, r := range results {
		if err, isError := r.(error); isError {
			results[i] = s.describe(err)
		}
	}
	s.lines = append(s.lines, what+": "+fmt.Sprint(results...))
}

func (s *script) describe(err error) string {
	var e *ndb.Error
	if !errors.As(err, &e) {
		return "unexpected: " + err.Error()
	}
	return fmt.Sprintf("code %d, status %v, not done %t, retry %t", e.Code, e.Status, ndb.SurelyNotDone(err), ndb.MayRetry(err))
}

func (s *script) row(id int64) *ndb.Values { return s.key(s.base+id).String(s.city_(), s.city) }

func (s *script) city_() *ndb.Column { return s.employees.city }

func (s *script) columns() *ndb.Projection {
	columns, err := s.table.Select("id", "first", "last", "started", "ended", "department")
	if err != nil {
		s.t.Fatal(err)
	}
	return columns
}

// text is a row as text, with its number in place of its key.
func (s *script) text(row *ndb.Row) string {
	id, _ := row.Int64(0)
	text := fmt.Sprint(id - s.base)
	for i := 1; i < 6; i++ {
		value := "NULL"
		if !row.IsNull(i) {
			b, err := row.AppendText(nil, i)
			value = fmt.Sprintf("%q", b)
			if err != nil {
				value = err.Error()
			}
		}
		text += " " + value
	}
	return text
}

func (s *script) read(what string, id int64) {
	var row ndb.Row
	if err := s.Read(s.ctx, s.key(s.base+id), s.columns(), &row); err != nil {
		s.say(what, err)
		return
	}
	s.say(what, s.text(&row))
}

// clear removes all rows of the script.
func (s *script) clear() {
	for id := range int64(60) {
		_, _ = s.Delete(s.ctx, s.key(s.base+id))
	}
}

func (s *script) singles() {
	one := func(what string, call func(context.Context, *ndb.Values) (ndb.GCI, error), v *ndb.Values) {
		gci, err := call(s.ctx, v)
		s.say(what, gci > 0, " ", err)
	}
	first, last, started := s.first, s.last, s.started
	one("insert", s.Insert, s.row(1).String(first, "Ada").String(last, "").Date(started, 2020, 2, 29))
	one("insert again", s.Insert, s.row(1))
	s.read("read", 1)
	s.read("read nothing", 2)
	one("insert long text", s.Insert, s.row(2).String(first, strings.Repeat("€", 64)).String(last, strings.Repeat("x", 64)).Int64(s.depart, -1<<31))
	s.read("read long text", 2)
	one("insert extremes", s.Insert, s.row(3).Date(started, 9999, 12, 31).Int64(s.depart, 1<<31-1).String(last, "Åström '%_\\\x00"))
	s.read("read extremes", 3)
	one("update", s.Update, s.key(s.base+1).Null(first).Int64(s.depart, 7))
	s.read("read updated", 1)
	one("update nothing", s.Update, s.key(s.base+9).Int64(s.depart, 7))
	one("update of no column", s.Update, s.key(s.base+1))
	one("write over", s.Write, s.row(1).String(last, "Lovelace"))
	s.read("read written", 1)
	one("write anew", s.Write, s.row(4).String(last, "Hopper"))
	s.read("read written anew", 4)
	one("delete", s.Delete, s.key(s.base+4))
	one("delete again", s.Delete, s.key(s.base+4))
	s.read("read deleted", 4)
}

func (s *script) begin() *ndb.Tx {
	tx, err := s.Begin(s.ctx, s.key(s.base))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(tx.Close)
	return tx
}

func (s *script) transactions() {
	tx := s.begin()
	for id := int64(10); id < 20; id++ {
		tx.Insert(s.row(id).Int64(s.depart, id))
	}
	s.say("ten inserts", tx.Commit(s.ctx), " ", tx.GCI() > 0)

	tx = s.begin()
	tx.Update(s.key(s.base+10).Int64(s.depart, 100))
	tx.Insert(s.row(11))
	tx.Update(s.key(s.base+12).Int64(s.depart, 100))
	s.say("one of three fails", tx.Commit(s.ctx))
	s.read("nothing is changed", 10)

	tx = s.begin()
	tx.Update(s.key(s.base+10).Int64(s.depart, 101))
	ignored := tx.Insert(s.row(11)).IgnoreError()
	missing := tx.Delete(s.key(s.base + 50)).IgnoreError()
	tx.Update(s.key(s.base+12).Int64(s.depart, 101))
	s.say("two of four fail and are ignored", tx.Commit(s.ctx), " ", ignored.Err(), " ", missing.Err())
	s.read("the others are done", 10)
	s.read("the others are done", 12)

	tx = s.begin()
	only := tx.Delete(s.key(s.base + 50)).IgnoreError()
	s.say("the only one fails and is ignored", tx.Commit(s.ctx), " ", only.Err(), " ", tx.GCI() > 0)

	tx = s.begin()
	var own, gone, locked ndb.Row
	tx.Update(s.key(s.base+13).Int64(s.depart, 102))
	tx.Delete(s.key(s.base + 14))
	s.say("execute", tx.Execute(s.ctx))
	tx.Read(s.key(s.base+13), s.columns(), &own, ndb.CommittedRead)
	goneOp := tx.Read(s.key(s.base+14), s.columns(), &gone, ndb.CommittedRead)
	tx.Read(s.key(s.base+15), s.columns(), &locked, ndb.ExclusiveLock)
	s.say("reads in it", tx.Execute(s.ctx), " ", s.text(&own), " ", goneOp.Err(), " ", s.text(&locked))
	s.read("others see the old", 13)
	s.read("others see the deleted", 14)
	s.say("rollback", tx.Rollback(s.ctx))
	s.read("rolled back", 13)
	s.read("rolled back", 14)

	tx = s.begin()
	tx.Delete(s.key(s.base + 16))
	tx.Insert(s.row(16).Int64(s.depart, 103))
	tx.Update(s.key(s.base+16).String(s.first, "again"))
	s.say("delete, insert and update of one row", tx.Commit(s.ctx))
	s.read("after them", 16)

	tx = s.begin()
	tx.Insert(s.row(20))
	tx.Delete(s.key(s.base + 20))
	s.say("insert and delete of one row", tx.Commit(s.ctx))
	s.read("after them", 20)

	tx = s.begin()
	var missed ndb.Row
	tx.Read(s.key(s.base+50), s.columns(), &missed, ndb.SharedLock)
	s.say("locking read of nothing", tx.Execute(s.ctx))
}

func (s *script) locks() {
	holder := s.begin()
	holder.Update(s.key(s.base+10).Int64(s.depart, 110))
	holder.Insert(s.row(30))
	var shared ndb.Row
	holder.Read(s.key(s.base+11), s.columns(), &shared, ndb.SharedLock)
	s.say("lock", holder.Execute(s.ctx))
	s.read("committed read of a locked row", 10)
	noWait := func(what string, add func(*ndb.Tx) *ndb.Operation) {
		tx := s.begin()
		add(tx).NoWait()
		s.say(what, tx.Execute(s.ctx))
		tx.Close()
	}
	var row ndb.Row
	noWait("shared read of an updated row", func(tx *ndb.Tx) *ndb.Operation {
		return tx.Read(s.key(s.base+10), s.columns(), &row, ndb.SharedLock)
	})
	noWait("shared read of a row that is being inserted", func(tx *ndb.Tx) *ndb.Operation {
		return tx.Read(s.key(s.base+30), s.columns(), &row, ndb.SharedLock)
	})
	noWait("shared read of a shared row", func(tx *ndb.Tx) *ndb.Operation {
		return tx.Read(s.key(s.base+11), s.columns(), &row, ndb.SharedLock)
	})
	noWait("exclusive read of a shared row", func(tx *ndb.Tx) *ndb.Operation {
		return tx.Read(s.key(s.base+11), s.columns(), &row, ndb.ExclusiveLock)
	})
	_, err := s.Update(s.ctx, s.key(s.base+10).Int64(s.depart, 1))
	s.say("wait in vain", err)
	holder.Update(s.key(s.base+11).Int64(s.depart, 111)) // from a shared to an exclusive lock
	s.say("the holder goes on", holder.Commit(s.ctx))
	s.read("and is done", 11)
}

func (s *script) programs() {
	conditional := func(what string, id int64, f ndb.Filter) {
		tx := s.begin()
		var row ndb.Row
		op := tx.Update(s.key(s.base+id).String(s.first, what)).If(f).Returning(s.columns(), &row)
		if err := tx.Commit(s.ctx); err != nil {
			s.say(what, err, " ", op.Err() != nil)
			return
		}
		s.say(what, s.text(&row))
	}
	conditional("condition holds", 17, ndb.And(ndb.Eq(s.depart, 17), ndb.IsNull(s.last)))
	conditional("condition does not hold", 17, ndb.Or(ndb.Gt(s.depart, 17), ndb.IsNotNull(s.last)))
	conditional("no row", 50, ndb.Eq(s.depart, 17))
	tx := s.begin()
	refused := tx.Update(s.key(s.base+17).String(s.last, "x")).If(ndb.Eq(s.depart, 1)).IgnoreError()
	tx.Update(s.key(s.base+18).Int64(s.depart, 118))
	s.say("condition fails and is ignored", tx.Commit(s.ctx), " ", refused.Err())
	s.read("the other is done", 18)
	tx = s.begin()
	tx.Update(s.key(s.base+19)).Increment(s.depart, -25, ndb.Limits{})
	s.say("decrement", tx.Commit(s.ctx))
	s.read("below zero", 19)
	tx = s.begin()
	tx.Delete(s.key(s.base + 19)).If(ndb.Eq(s.depart, 0))
	s.say("delete what does not match", tx.Commit(s.ctx))
	tx = s.begin()
	tx.Delete(s.key(s.base + 19)).If(ndb.Lt(s.depart, 0))
	s.say("delete what matches", tx.Commit(s.ctx))
	s.read("deleted", 19)
}

// all scans and gives the rows, sorted unless they come in an order.
func (s *script) all(what string, scan ndb.Scan) {
	scan.Table, scan.Columns = s.table, s.columns()
	scanner, err := s.Scan(s.ctx, scan)
	if err != nil {
		s.say(what, err)
		return
	}
	defer scanner.Close()
	var rows []string
	for scanner.Next(s.ctx) {
		rows = append(rows, s.text(scanner.Row()))
	}
	if scan.Order == ndb.Unordered && scan.Limit == 0 {
		slices.Sort(rows)
	}
	if scan.Limit > 0 && scan.Order == ndb.Unordered {
		rows = []string{fmt.Sprint(len(rows), " rows")}
	}
	s.say(what, strings.Join(rows, "; "), " ", scanner.Err())
}

func (s *script) scans() {
	for id := int64(40); id < 50; id++ {
		if _, err := s.Insert(s.ctx, s.row(id).Int64(s.depart, id%3).String(s.last, fmt.Sprintf("Name%d", id%4))); err != nil {
			s.t.Fatal(err)
		}
	}
	city, err := s.table.Index("idx_municipality")
	if err != nil {
		s.t.Fatal(err)
	}
	primary, err := s.table.Index("PRIMARY")
	if err != nil {
		s.t.Fatal(err)
	}
	mine := ndb.Eq(s.city_(), s.city)
	keys := []ndb.Range{{Low: []any{s.base + 40}, High: []any{s.base + 50}, HighStrict: true}}
	s.all("index, equal", ndb.Scan{Index: city, Ranges: []ndb.Range{ndb.Exactly(strings.ToUpper(s.city))}})
	s.all("index, small batches", ndb.Scan{Index: city, Ranges: []ndb.Range{ndb.Exactly(s.city)}, BatchRows: 2})
	s.all("index with a filter", ndb.Scan{Index: city, Ranges: []ndb.Range{ndb.Exactly(s.city)}, Filter: ndb.Ge(s.depart, 2)})
	s.all("ascending", ndb.Scan{Index: primary, Ranges: keys, Order: ndb.Ascending, BatchRows: 3})
	s.all("descending", ndb.Scan{Index: primary, Ranges: keys, Order: ndb.Descending})
	two := []ndb.Range{ndb.Exactly(s.base + 45), {Low: []any{s.base + 41}, High: []any{s.base + 43}}}
	s.all("ranges, ascending", ndb.Scan{Index: primary, Ranges: two, Order: ndb.Ascending})
	s.all("ranges, descending", ndb.Scan{Index: primary, Ranges: two, Order: ndb.Descending})
	s.all("limit", ndb.Scan{Index: primary, Ranges: keys, Order: ndb.Ascending, Limit: 4})
	s.all("table with a filter", ndb.Scan{Filter: ndb.And(mine, ndb.Like(s.last, "name_"), ndb.Not(ndb.Eq(s.depart, 1)))})
	s.all("table, NULL", ndb.Scan{Filter: ndb.And(mine, ndb.IsNull(s.last))})
	s.all("table, not like", ndb.Scan{Filter: ndb.And(mine, ndb.NotLike(s.last, "Name1%"))})
	n, err := s.Count(s.ctx, ndb.Scan{Table: s.table, Filter: mine})
	s.say("count", n, " ", err)
	exists, err := s.Exists(s.ctx, ndb.Scan{Table: s.table, Filter: ndb.And(mine, ndb.Eq(s.depart, 999))})
	s.say("exists", exists, " ", err)

	tx := s.begin()
	tx.Update(s.key(s.base+40).String(s.last, "changed"))
	tx.Delete(s.key(s.base + 41))
	s.say("before the scan", tx.Execute(s.ctx))
	scanner, err := tx.Scan(s.ctx, ndb.Scan{Table: s.table, Columns: s.columns(), Index: primary, Ranges: keys, Lock: ndb.ExclusiveLock, Order: ndb.Ascending, BatchRows: 2})
	if err != nil {
		s.t.Fatal(err)
	}
	var rows []string
	for scanner.Next(s.ctx) {
		rows = append(rows, s.text(scanner.Row()))
		if n, _ := scanner.Row().Int64(5); n == 2 {
			scanner.Delete()
		} else {
			scanner.Update(s.table.NewValues().String(s.first, "taken over"))
		}
		if err := tx.Execute(s.ctx); err != nil {
			s.say("take-over", err)
		}
	}
	s.say("scan in the transaction", strings.Join(rows, "; "), " ", scanner.Err())
	scanner.Close()
	s.say("commit", tx.Commit(s.ctx))
	s.all("after the take-over", ndb.Scan{Index: primary, Ranges: keys, Order: ndb.Ascending})
}
