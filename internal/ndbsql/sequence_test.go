package ndbsql

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

const sequenceColumns = "id INT NOT NULL PRIMARY KEY, u INT NULL, n INT NULL, UNIQUE KEY ux (u)"

// sequence runs operations that are drawn by lot, and notes what each gives.
type sequence struct {
	t        *testing.T
	rnd      *rand.Rand
	client   *ndb.Client
	table    *ndb.Table
	id, u, n *ndb.Column
	ux       *ndb.Index
	all      *ndb.Projection
	lines    []string
}

// runSequence gives the same lines for the same seed wherever the cluster is
// the same.
func runSequence(t *testing.T, client *ndb.Client, table *ndb.Table, seed uint64, transactions int) []string {
	t.Helper()
	s := &sequence{
		t: t, rnd: rand.New(rand.NewPCG(seed, 0)), client: client, table: table,
		id: column(t, table, "id"), u: column(t, table, "u"), n: column(t, table, "n"),
		ux: index(t, table, "ux"), all: selectColumns(t, table, "id", "u", "n"),
	}
	for i := range transactions {
		s.transaction(i)
	}
	return s.lines
}

func (s *sequence) transaction(number int) {
	tx, err := s.client.Begin(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer tx.Close()
	for batch := range 1 + s.rnd.IntN(3) {
		var ops []*ndb.Operation
		var names []string
		add := func(op *ndb.Operation, name string) {
			ops, names = append(ops, op.IgnoreError()), append(names, name)
		}
		for i := range 1 + s.rnd.IntN(5) {
			add(s.operation(tx, number*100+batch*10+i))
		}
		if s.rnd.IntN(2) == 0 {
			add(s.indexedOperation(tx, number*100+batch*10+9))
		}
		commit := s.rnd.IntN(3) == 0
		run := tx.Execute
		if commit {
			run = tx.Commit
		}
		err := run(s.t.Context())
		s.lines = append(s.lines, fmt.Sprintf("transaction %d, batch %d, commit %t: %s", number, batch, commit, outcome(err)))
		for i, op := range ops {
			if err == nil { // else what became of one of them is not told
				s.lines = append(s.lines, names[i]+": "+result(op))
			}
		}
		if err != nil || commit {
			return
		}
	}
	if s.rnd.IntN(3) > 0 {
		s.lines = append(s.lines, "commit: "+outcome(tx.Commit(s.t.Context())))
		return
	}
	s.lines = append(s.lines, "rollback: "+outcome(tx.Rollback(s.t.Context())))
}

// operation adds one by primary key, of few rows. Each row has values of the
// unique column for itself: which of two rows gets one first is not certain
// within a batch.
func (s *sequence) operation(tx *ndb.Tx, value int) (*ndb.Operation, string) {
	id, row := s.rnd.Int64N(4), new(ndb.Row)
	lock := ndb.LockMode(s.rnd.IntN(3))
	key := s.table.NewValues().Int64(s.id, id)
	full := s.table.NewValues().Int64(s.id, id).Int64(s.n, int64(value))
	unique := "kept"
	switch s.rnd.IntN(4) {
	case 0:
	case 1:
		unique = null
		full.Null(s.u)
	default:
		u := 10*id + s.rnd.Int64N(2)
		unique = fmt.Sprint(u)
		full.Int64(s.u, u)
	}
	switch s.rnd.IntN(7) {
	case 0, 1:
		return tx.Insert(full), fmt.Sprintf("insert %d, unique %s", id, unique)
	case 2:
		return tx.Update(full), fmt.Sprintf("update %d, unique %s", id, unique)
	case 3:
		return tx.Write(full), fmt.Sprintf("write %d, unique %s", id, unique)
	case 4:
		return tx.Delete(key), fmt.Sprintf("delete %d", id)
	case 5:
		return tx.Read(key, s.all, row, lock), fmt.Sprintf("read %d with lock %d", id, lock)
	default:
		return tx.Update(full).If(ndb.IsNotNull(s.u)).Returning(s.all, row), fmt.Sprintf("update %d if it has a unique value", id)
	}
}

// indexedOperation adds one by the unique index, behind the others of the batch:
// it comes to its row when the index was read.
func (s *sequence) indexedOperation(tx *ndb.Tx, value int) (*ndb.Operation, string) {
	u := 10*s.rnd.Int64N(4) + s.rnd.Int64N(2)
	lock := ndb.LockMode(s.rnd.IntN(3))
	key := s.table.NewValues().Int64(s.u, u)
	switch s.rnd.IntN(3) {
	case 0:
		return tx.ReadUnique(s.ux, key, s.all, new(ndb.Row), lock), fmt.Sprintf("read unique %d with lock %d", u, lock)
	case 1:
		return tx.UpdateUnique(s.ux, key.Int64(s.n, int64(value))), fmt.Sprintf("update unique %d", u)
	default:
		return tx.DeleteUnique(s.ux, key), fmt.Sprintf("delete unique %d", u)
	}
}

func outcome(err error) string {
	var e *ndb.Error
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &e):
		return fmt.Sprintf("code %d, %v", e.Code, e.Status)
	default:
		return err.Error()
	}
}

func result(op *ndb.Operation) string {
	if op.Err() != nil || op.Row() == nil {
		return outcome(op.Err())
	}
	var values []string
	for i := range 3 {
		value := null
		if !op.Row().IsNull(i) {
			n, err := op.Row().Int64(i)
			if err != nil {
				return err.Error()
			}
			value = fmt.Sprint(n)
		}
		values = append(values, value)
	}
	return strings.Join(values, " ")
}

// What operations of one batch see of each other, by the primary key and by a
// unique index, is the same here and on ndbtest.
func TestSequences_GiveTheSameOnNdbtest(t *testing.T) {
	b := newBed(t)
	const transactions = 400
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	want := runSequence(t, b.client, b.create(t, "sequences", sequenceColumns), seed, transactions)
	b.awaitIdle(t)

	cluster := ndbtest.Run(t)
	cluster.MustCreateTable("CREATE TABLE d.sequences (" + sequenceColumns + ")")
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: cluster.Connectstring()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	table, err := client.Table(t.Context(), "d", "sequences")
	if err != nil {
		t.Fatal(err)
	}
	got := runSequence(t, client, table, seed, transactions)
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("ndbtest gives\n%s\nwant\n%s", strings.Join(got[max(0, i-12):i+1], "\n"), want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d lines, want %d", len(got), len(want))
	}
}
