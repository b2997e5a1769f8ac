package ndb_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func TestBatch_UpdateWith_ConditionAndRow(t *testing.T) {
	w := seeded(t)
	rows, results := make([]ndb.Row, 12), map[int]error{}
	batch := w.client.NewBatch(t.Context(), ndb.BatchOptions{Window: 4, Result: func(n int, err error) { results[n] = err }})
	v := w.table.NewValues()
	for i := range rows { // the last two are absent
		v.Reset()
		v.Int64(w.id, w.base+int64(i)).String(w.first, "changed")
		batch.UpdateWith(v, func(op *ndb.Operation) {
			if i%2 == 1 {
				op.If(ndb.Eq(w.last, "nobody"))
			} else {
				op.If(ndb.Eq(w.last, "Lovelace"))
			}
			op.Returning(w.all, &rows[i])
		})
	}
	var other ndb.Row
	bad := batch.UpdateWith(w.key(w.base), func(op *ndb.Operation) { op.Returning(w.all, &other).Returning(w.all, &other) })
	worse := batch.UpdateWith(w.table.NewValues(), func(*ndb.Operation) { t.Error("an operation without a key was prepared") })
	batch.Wait()
	for i := range rows {
		want := 0
		switch {
		case i >= 10:
			want = 626
		case i%2 == 1:
			want = ndb.CodeConditionFalse
		}
		wantCode(t, "update", results[i], want)
		if want != 0 {
			continue
		}
		if got, err := rows[i].String(1); got != "changed" || w.firstOf(t, w.base+int64(i)) != got {
			t.Errorf("row %d: got %q (%v), stored %q", i, got, err, w.firstOf(t, w.base+int64(i)))
		}
	}
	if got := w.firstOf(t, w.base+1); got != "Ada" {
		t.Errorf("a row whose condition is false: got %q", got)
	}
	if codeOf(results[bad]) != -1 || codeOf(results[worse]) != -1 {
		t.Errorf("got %v and %v, want errors", results[bad], results[worse])
	}
}

func TestBatch_GCI_IsTheLatest(t *testing.T) {
	w := seeded(t)
	before, err := w.client.Update(t.Context(), w.key(w.base).String(w.first, "x"))
	if err != nil {
		t.Fatal(err)
	}
	reading := w.client.NewBatch(t.Context(), ndb.BatchOptions{})
	var row ndb.Row
	reading.Read(w.key(w.base), w.all, &row)
	reading.Wait()
	if got := reading.GCI(); got != 0 {
		t.Errorf("a batch of reads: got %d, want 0", got)
	}
	batch := w.client.NewBatch(t.Context(), ndb.BatchOptions{})
	for i := range int64(10) {
		batch.Update(w.key(w.base+i).String(w.first, "y"))
	}
	batch.Update(w.key(w.base+15).String(w.first, "absent"))
	batch.Wait()
	after, err := w.client.Update(t.Context(), w.key(w.base).String(w.first, "z"))
	if err != nil {
		t.Fatal(err)
	}
	if got := batch.GCI(); got < before || got > after {
		t.Errorf("got %d, want it from %d to %d", got, before, after)
	}
}

func TestTransactionLimit_IsWhatTheDataNodesRefuse(t *testing.T) {
	cluster := ndbtest.Run(t, ndbtest.MaxOperations(20))
	cluster.MustCreateTable(employeeTable)
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: cluster.Connectstring()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if got, want := client.TransactionLimit(), (ndb.TransactionLimit{Operations: 20, Setting: "MaxNoOfConcurrentOperations"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	table, err := client.Table(t.Context(), "ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	id, err := table.Column("id")
	if err != nil {
		t.Fatal(err)
	}
	for rows, want := range map[int64]int{20: 0, 21: 261} {
		tx, err := client.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			tx.Insert(table.NewValues().Int64(id, i))
		}
		wantCode(t, "inserts", tx.Execute(t.Context()), want)
		tx.Close()
	}
}
