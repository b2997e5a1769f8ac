package ndbtest_test

import (
	"bytes"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func TestInsertRead_OneRow(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	r := newRawClient(t, c, rawNode)
	table := r.table("ndbtest/def/employee")
	rec := r.seize(2, 0x1000)

	rec.begin()
	values := attrs(t, table, "id", 7, "first", "Ada", "started", "2020-02-29")
	rec.op(0, table, signal.OpInsert, executeCommit, bigintKey(7), values)
	conf := await[*signal.TCKeyConf](r)
	if pointer, length := conf.Op(0); conf.Len() != 1 || pointer != 0x1000 || length != 0 || !conf.Committed || !conf.Marker || conf.GCI == 0 {
		t.Fatalf("got %+v", conf)
	}
	rec.ack()

	rec.begin()
	rec.op(1, table, signal.OpRead, committedRead|executeCommit, bigintKey(7), readList(table, "id", "first", "last", "started", "department"))
	want := attrs(t, table, "id", 7, "first", "Ada", "last", nil, "started", "2020-02-29", "department", 1)
	if got := r.row(); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestOperations_Errors(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(employeeTable)
	r := newRawClient(t, c, rawNode)
	table := r.table("ndbtest/def/employee")
	rec := r.seize(2, 0x1000)
	rec.begin()
	rec.op(0, table, signal.OpInsert, executeCommit, bigintKey(1), attrs(t, table, "id", 1))
	await[*signal.TCKeyConf](r)
	rec.ack()
	older := *table
	older.Version++
	unknown := *table
	unknown.ID = 2000
	for _, test := range []struct {
		name      string
		operation signal.Operation
		key       []byte
		attrs     []byte
		want      uint32
	}{
		{"insert of a row that exists", signal.OpInsert, bigintKey(1), attrs(t, table, "id", 1), 630},
		{"insert without key column", signal.OpInsert, bigintKey(2), attrs(t, table, "first", "a"), 839},
		{"NULL for a NOT NULL column", signal.OpInsert, bigintKey(2), word.Append(attrs(t, table, "id", 2), 6<<16), 829},
		{"unknown column", signal.OpInsert, bigintKey(2), word.Append(attrs(t, table, "id", 2), 99<<16|4, 1), 4395},
		{"value of the wrong size", signal.OpUpdate, bigintKey(1), word.Append(nil, 6<<16|8, 1, 1), 829},
		{"length byte that lies", signal.OpUpdate, bigintKey(1), word.Append(nil, 1<<16|2, 0x4109), 829},
		{"key column in update", signal.OpUpdate, bigintKey(1), attrs(t, table, "id", 1), 897},
		{"update of no row", signal.OpUpdate, bigintKey(2), attrs(t, table, "first", "a"), 626},
		{"delete of no row", signal.OpDelete, bigintKey(2), nil, 626},
		{"short key", signal.OpDelete, word.Append(nil, 1), nil, 626},
		{"long key", signal.OpDelete, word.Append(nil, 1, 0, 0), nil, 626},
		{"read of an unknown column", signal.OpReadExclusive, bigintKey(1), word.Append(nil, 99<<16), 879},
	} {
		rec.begin()
		rec.op(0, table, test.operation, executeCommit, test.key, test.attrs)
		if rep := await[*signal.TCRollbackRep](r); rep.Error != test.want || rep.Pointer != 0x1000 || rep.TransID != rec.id {
			t.Errorf("%s: got %+v, want %d", test.name, rep, test.want)
		}
	}
	rec.begin()
	rec.op(0, &older, signal.OpRead, committedRead|executeCommit, bigintKey(1), readList(table, "id"))
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 241 {
		t.Errorf("other version: got %+v, want 241", rep)
	}
	rec.begin()
	rec.op(0, &unknown, signal.OpRead, committedRead|executeCommit, bigintKey(1), readList(table, "id"))
	if rep := await[*signal.TCRollbackRep](r); rep.Error != 284 {
		t.Errorf("unknown table: got %+v, want 284", rep)
	}
	rec.begin()
	rec.op(0, table, signal.OpRead, committedRead|executeCommit, bigintKey(2), readList(table, "id"))
	if ref := await[*signal.TCKeyRef](r); ref.Error != 626 || ref.OpPointer != 0x1000 {
		t.Errorf("committed read of no row: got %+v, want 626", ref)
	}
	await[*signal.TCKeyConf](r)
	rec.begin()
	rec.op(0, table, signal.OpUpdate, ignoreError|executeCommit, bigintKey(2), attrs(t, table, "first", "a"))
	if ref := await[*signal.TCKeyRef](r); ref.Error != 626 {
		t.Errorf("ignored error: got %+v, want 626", ref)
	}
	if conf := await[*signal.TCKeyConf](r); conf.Len() != 0 || !conf.Committed || conf.Marker || conf.GCI != 0 {
		t.Errorf("ignored error: got %+v", conf)
	}
}
