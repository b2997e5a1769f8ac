package ndbtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// The rows of these tests are {id, name}, with an index on name.
const namesTable = "CREATE TABLE d.names (id BIGINT PRIMARY KEY, name VARCHAR(64), KEY by_name (name)) CHARSET=utf8mb3"

func namesOf(t *testing.T, opts ...ndbtest.Option) (*ndbtest.Cluster, *ndbtest.Rows) {
	t.Helper()
	c := ndbtest.Run(t, append(opts, ndbtest.InMemory())...)
	c.MustCreateTable(namesTable)
	rows, err := c.Rows("d", "names")
	if err != nil {
		t.Fatal(err)
	}
	return c, rows
}

func begin(t *testing.T, c *ndbtest.Cluster) *ndbtest.LocalTx {
	t.Helper()
	tx := c.Begin()
	t.Cleanup(tx.Rollback)
	return tx
}

func insert(t *testing.T, tx *ndbtest.LocalTx, rows *ndbtest.Rows, id int64, name string) {
	t.Helper()
	if err := tx.Insert(t.Context(), rows, []any{id, name}); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, tx *ndbtest.LocalTx, rows *ndbtest.Rows, id int64, name string) {
	t.Helper()
	if ok, err := tx.Update(t.Context(), rows, []any{id, name}); !ok || err != nil {
		t.Fatalf("update of %d: %t, %v", id, ok, err)
	}
}

func scanIDs(ctx context.Context, tx *ndbtest.LocalTx, rows *ndbtest.Rows, scan ndbtest.LocalScan) ([]int64, error) {
	s, err := tx.Scan(rows, scan)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for {
		row, err := s.Next(ctx)
		if row == nil || err != nil {
			return ids, err
		}
		ids = append(ids, row[0].(int64))
	}
}

func TestLocalRows_DoNotMeetWhatIsChangedMeanwhile(t *testing.T) {
	for _, forUpdate := range []bool{false, true} {
		c, rows := namesOf(t)
		tx := begin(t, c)
		const n = 600 // more than a page
		for id := range int64(n) {
			insert(t, tx, rows, id, "a")
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		tx = begin(t, c)
		insert(t, tx, rows, n, "a")
		s, err := tx.Scan(rows, ndbtest.LocalScan{Index: "by_name", Low: []any{"a"}, ForUpdate: forUpdate})
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for {
			row, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				break
			}
			id := row[0].(int64)
			ids = append(ids, id)
			rename(t, tx, rows, id, "z")      // moves it ahead
			insert(t, tx, rows, n+1+id, "zz") // a new one ahead
		}
		slices.Sort(ids)
		if len(ids) != n+1 || len(slices.Compact(ids)) != n+1 {
			t.Errorf("for update %t: got %d rows, want %d, each once", forUpdate, len(ids), n+1)
		}
	}
}

func TestLocalRows_RowsChangedElsewhere_AreReadAsCommitted(t *testing.T) {
	e := newEmployees(t)
	ctx := t.Context()
	e.fill(ctx, t, 30)
	rows, err := e.cluster.Rows("ndbtest", "employee")
	if err != nil {
		t.Fatal(err)
	}
	city, err := e.table.Index("idx_municipality")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := e.table.Select("id", "department")
	if err != nil {
		t.Fatal(err)
	}
	writer := begin(t, e.cluster)
	// Its place in the index stays what it was.
	if ok, err := writer.Update(ctx, rows, []any{3, nil, nil, "city 3", nil, nil, 99}); !ok || err != nil {
		t.Fatalf("got %t, %v", ok, err)
	}
	want := []int64{3, 13, 23}
	got, err := scanIDs(ctx, begin(t, e.cluster), rows, ndbtest.LocalScan{Index: "idx_municipality", Low: []any{"city 3"}, High: []any{"city 3"}})
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	s, err := e.Scan(ctx, ndb.Scan{Table: e.table, Columns: columns, Index: city, Ranges: []ndb.Range{ndb.Exactly("city 3")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got = nil
	for s.Next(ctx) {
		id, _ := s.Row().Int64(0)
		department, _ := s.Row().Int64(1)
		if department == 99 {
			t.Errorf("row %d is not committed", id)
		}
		got = append(got, id)
	}
	if slices.Sort(got); s.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("a client: got %v (%v), want %v", got, s.Err(), want)
	}
}

func TestLocalRows_RowMovedWhileItsLockIsWaitedFor_IsMetOnce(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		waiting := make(chan struct{}, 8)
		c, rows := namesOf(t, ndbtest.OnLockWait(func() { waiting <- struct{}{} }))
		tx := begin(t, c)
		for id, name := range []string{"a", "b", "c", "d"} {
			insert(t, tx, rows, int64(id), name)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		// One moves out of the range, one to its other end, one is deleted.
		tx = begin(t, c)
		rename(t, tx, rows, 0, "z")
		rename(t, tx, rows, 1, "e")
		rename(t, tx, rows, 3, "a")
		if ok, err := tx.Delete(t.Context(), rows, []any{2}); !ok || err != nil {
			t.Fatalf("got %t, %v", ok, err)
		}
		var ids []int64
		done := make(chan error)
		reader := begin(t, c)
		go func() { // ends after the commit
			var err error
			ids, err = scanIDs(t.Context(), reader, rows, ndbtest.LocalScan{
				Index: "by_name", Low: []any{"a"}, High: []any{"f"}, HighStrict: true, Reverse: reverse, ForUpdate: true,
			})
			done <- err
		}()
		<-waiting
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if slices.Sort(ids); !slices.Equal(ids, []int64{1, 3}) {
			t.Errorf("reverse %t: got %v, want [1 3]", reverse, ids)
		}
		// What has left the bounds is not locked any more.
		other := begin(t, c)
		rename(t, other, rows, 0, "y")
	}
}

// TestLocalTx_AgreesWithAMap makes random transactions, and compares what they
// see with maps.
func TestLocalTx_AgreesWithAMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	c, rows := namesOf(t)
	committed := map[int64]string{}
	other := begin(t, c)
	for range 100 {
		tx, mine := c.Begin(), map[int64]string{}
		for id, name := range committed {
			mine[id] = name
		}
		for range rnd.IntN(50) {
			changeAtRandom(t, rnd, tx, rows, mine)
		}
		compareRows(t, tx, rows, mine, rnd.IntN(2) == 0)
		compareRows(t, other, rows, committed, false)
		if rnd.IntN(3) > 0 {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			committed = mine
		} else {
			tx.Rollback()
		}
		compareRows(t, other, rows, committed, false)
		if rows.Len() != len(committed) {
			t.Fatalf("got %d rows, want %d", rows.Len(), len(committed))
		}
	}
}

func changeAtRandom(t *testing.T, rnd *rand.Rand, tx *ndbtest.LocalTx, rows *ndbtest.Rows, mine map[int64]string) {
	t.Helper()
	id, name := rnd.Int64N(700), fmt.Sprint(rnd.IntN(20))
	_, exists := mine[id]
	var code *ndbtest.CodeError
	switch rnd.IntN(5) {
	case 0, 1, 2:
		err := tx.Insert(t.Context(), rows, []any{id, name})
		if duplicate := errors.As(err, &code) && code.Code == 630; duplicate != exists || err != nil && !exists {
			t.Fatalf("insert of %d, which exists %t: %v", id, exists, err)
		}
		if !exists {
			mine[id] = name
		}
	case 3:
		if ok, err := tx.Delete(t.Context(), rows, []any{id}); ok != exists || err != nil {
			t.Fatalf("delete of %d, which exists %t: %t, %v", id, exists, ok, err)
		}
		delete(mine, id)
	case 4:
		if ok, err := tx.Update(t.Context(), rows, []any{id, name}); ok != exists || err != nil {
			t.Fatalf("update of %d, which exists %t: %t, %v", id, exists, ok, err)
		}
		if exists {
			mine[id] = name
		}
	}
}

func compareRows(t *testing.T, tx *ndbtest.LocalTx, rows *ndbtest.Rows, want map[int64]string, forUpdate bool) {
	t.Helper()
	ids := make([]int64, 0, len(want))
	for id, name := range want {
		ids = append(ids, id)
		if r, err := tx.Get(t.Context(), rows, []any{id}, forUpdate); err != nil || r == nil || r[1] != name {
			t.Fatalf("row %d: got %v (%v), want %q", id, r, err, name)
		}
	}
	slices.Sort(ids)
	if got, err := scanIDs(t.Context(), tx, rows, ndbtest.LocalScan{Index: "PRIMARY", ForUpdate: forUpdate}); err != nil || !slices.Equal(got, ids) {
		t.Fatalf("by id: got %v (%v), want %v", got, err, ids)
	}
	got, err := scanIDs(t.Context(), tx, rows, ndbtest.LocalScan{Index: "by_name", Reverse: true, ForUpdate: forUpdate})
	if err != nil || !slices.IsSortedFunc(got, func(a, b int64) int { return strings.Compare(want[b], want[a]) }) {
		t.Fatalf("by name, backwards: got %v (%v)", got, err)
	}
	if slices.Sort(got); !slices.Equal(got, ids) {
		t.Fatalf("by name: got %v, want %v", got, ids)
	}
}

func TestLocalTx_AllNodesLost_EndsItAndUndoesNothingElse(t *testing.T) {
	c, rows := namesOf(t)
	insert(t, begin(t, c), rows, 1, "held")
	tx := begin(t, c)
	insert(t, tx, rows, 2, "mine")
	c.KillAll()
	var code *ndbtest.CodeError
	if err := tx.Commit(); !errors.As(err, &code) || code.Code != 4009 || !tx.Over() {
		t.Errorf("got %v, over %t, want 4009", err, tx.Over())
	}
	if _, err := begin(t, c).Get(t.Context(), rows, []any{1}, false); !errors.Is(err, ndbtest.ErrNoNode) {
		t.Errorf("got %v, want %v", err, ndbtest.ErrNoNode)
	}
	if rows.Len() != 0 {
		t.Errorf("got %d rows, want none", rows.Len())
	}
}

func TestWeights_DecideWhatIsEqual(t *testing.T) {
	fold := func(r rune) uint32 {
		switch r = unicode.ToUpper(r); r {
		case 'É', 'È':
			return 'E'
		}
		return uint32(r)
	}
	c := ndbtest.Run(t, ndbtest.Weights(func(collation uint16) func(rune) uint32 {
		if collation != 33 && collation != 31 { // utf8mb3_general_ci and latin1_german2_ci
			return nil
		}
		return fold
	}))
	c.MustCreateTable("CREATE TABLE d.words (word VARCHAR(20) CHARSET utf8mb3 PRIMARY KEY, n INT, exact VARCHAR(20) COLLATE utf8mb3_bin, german VARCHAR(20) COLLATE latin1_german2_ci)")
	rows, err := c.Rows("d", "words")
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Insert([]any{"élan", 1, "é", "été€"}, []any{"zèle", 2, "e", nil}); err != nil {
		t.Fatal(err)
	}
	var code *ndbtest.CodeError
	if err := rows.Insert([]any{"ELAN  ", 3, nil}); !errors.As(err, &code) || code.Code != 630 {
		t.Errorf("got %v, want 630", err)
	}
	client, _ := connect(t, c)
	table, err := client.Table(t.Context(), "d", "words")
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]int64{"word": 1, "exact": 0, "german": 1} {
		id, err := table.Column(column)
		if err != nil {
			t.Fatal(err)
		}
		text := map[string]string{"word": "Elan", "exact": "È", "german": "ÈTE€"}[column]
		if n, err := client.Count(t.Context(), ndb.Scan{Table: table, Filter: ndb.Eq(id, text)}); err != nil || n != want {
			t.Errorf("%s = %q: got %d rows (%v), want %d", column, text, n, err, want)
		}
	}
}

func TestTables_AreTold(t *testing.T) {
	c, rows := namesOf(t)
	c.MustCreateTable("CREATE TABLE e.u (id INT PRIMARY KEY, v VARCHAR(7) CHARSET latin1 NOT NULL DEFAULT 'x', UNIQUE (v))")
	want := []ndbtest.TableName{{Database: "d", Name: "names"}, {Database: "e", Name: "u"}}
	if got := c.Tables(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	id, version := rows.Version()
	if err := c.AlterAddColumn("d", "names", ndbtest.ColumnDef{Name: "n", Type: "INT"}); err != nil {
		t.Fatal(err)
	}
	if sameID, next := rows.Version(); sameID != id || next <= version {
		t.Errorf("got %d, %d after %d, %d", sameID, next, id, version)
	}
	u, err := c.Rows("e", "u")
	if err != nil {
		t.Fatal(err)
	}
	wantColumn := ndbtest.ColumnInfo{Name: "v", Type: "Varchar", Length: 7, Collation: 8, HasDefault: true, Default: "x"}
	if got := u.Columns()[1]; got != wantColumn {
		t.Errorf("got %+v, want %+v", got, wantColumn)
	}
	for value, fits := range map[string]bool{"short": true, "too long": false, "日": false} {
		if err := u.Accepts(1, value); (err == nil) != fits {
			t.Errorf("%q: got %v", value, err)
		}
	}
}
