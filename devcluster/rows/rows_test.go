package rows_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/devcluster/rows"
)

// The rows of these tests are {id, name}, with an index on name.

func newStore(cfg rows.Config) *rows.Store {
	cfg.Key = func(r rows.Row) string { return r[1].(string) }
	return rows.NewStore(cfg)
}

func row(id int64, name string) rows.Row { return rows.Row{id, name} }

func insert(t *testing.T, tx *rows.Tx, id int64, name string) {
	t.Helper()
	if err := tx.Insert(t.Context(), id, row(id, name)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, scan *rows.Scan) []int64 {
	t.Helper()
	ids, err := readAll(t.Context(), scan)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func readAll(ctx context.Context, scan *rows.Scan) ([]int64, error) {
	var ids []int64
	for {
		r, err := scan.Next(ctx)
		if r == nil || err != nil {
			return ids, err
		}
		ids = append(ids, r[0].(int64))
	}
}

var everything = rows.Range{From: rows.FirstOf(""), To: rows.FirstOf("\xff")}

func TestScan_ReadsARangeInTheOrderOfTheIndex(t *testing.T) {
	store := newStore(rows.Config{})
	tx := store.Begin()
	for i, name := range []string{"b", "a", "", "ab", "b", "c"} {
		insert(t, tx, int64(i), name)
	}
	insert(t, tx, math.MaxInt64, "b")
	insert(t, tx, math.MinInt64, "b")
	tests := []struct {
		name  string
		index rows.Index
		r     rows.Range
		want  []int64
	}{
		{
			"all by id", rows.Primary,
			rows.Range{From: rows.FirstOf(""), To: rows.AfterAllOf("")},
			[]int64{math.MinInt64, 0, 1, 2, 3, 4, 5, math.MaxInt64},
		},
		{"ids from 1 to 3", rows.Primary, rows.Range{From: rows.Position{ID: 1}, To: rows.After("", 3)}, []int64{1, 2, 3}},
		{"ids after the last", rows.Primary, rows.Range{From: rows.After("", math.MaxInt64), To: rows.AfterAllOf("")}, nil},
		{"all by name", rows.Secondary, everything, []int64{2, 1, 3, math.MinInt64, 0, 4, math.MaxInt64, 5}},
		{
			"name b", rows.Secondary,
			rows.Range{From: rows.FirstOf("b"), To: rows.AfterAllOf("b")},
			[]int64{math.MinInt64, 0, 4, math.MaxInt64},
		},
		{"names after a, before b", rows.Secondary, rows.Range{From: rows.AfterAllOf("a"), To: rows.FirstOf("b")}, []int64{3}},
		{"nothing", rows.Secondary, rows.Range{From: rows.FirstOf("b"), To: rows.FirstOf("a")}, nil},
	}
	check := func(t *testing.T, state string) {
		for _, tt := range tests {
			t.Run(state+", "+tt.name, func(t *testing.T) {
				if got := read(t, tx.Scan(tt.index, tt.r, false, false)); !slices.Equal(got, tt.want) {
					t.Errorf("rows are %v, want %v", got, tt.want)
				}
				got := read(t, tx.Scan(tt.index, tt.r, true, false))
				slices.Reverse(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("rows read backwards and turned are %v, want %v", got, tt.want)
				}
			})
		}
	}
	check(t, "own")
	tx.Commit()
	check(t, "committed")
}

func TestUnion(t *testing.T) {
	r := func(from, to string) rows.Range { return rows.Range{From: rows.FirstOf(from), To: rows.FirstOf(to)} }
	tests := []struct {
		name     string
		in, want []rows.Range
	}{
		{"apart", []rows.Range{r("c", "d"), r("a", "b")}, []rows.Range{r("a", "b"), r("c", "d")}},
		{"the same", []rows.Range{r("a", "b"), r("a", "b")}, []rows.Range{r("a", "b")}},
		{"touching", []rows.Range{r("a", "b"), r("b", "c")}, []rows.Range{r("a", "c")}},
		{"overlapping", []rows.Range{r("a", "c"), r("b", "d")}, []rows.Range{r("a", "d")}},
		{"one in another", []rows.Range{r("a", "d"), r("b", "c")}, []rows.Range{r("a", "d")}},
		{"empty", []rows.Range{r("b", "a"), r("a", "a")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rows.Union(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("union is %v, want %v", got, tt.want)
			}
		})
	}
}

// TestTx_AgreesWithAMap makes random transactions, and compares what they see
// with maps.
func TestTx_AgreesWithAMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	store := newStore(rows.Config{})
	committed := map[int64]string{}
	other := store.Begin()
	for range 100 {
		tx, mine := store.Begin(), map[int64]string{}
		for id, name := range committed {
			mine[id] = name
		}
		for range rnd.IntN(50) {
			change(t, rnd, tx, mine)
		}
		compare(t, tx, mine, rnd.IntN(2) == 0)
		compare(t, other, committed, false)
		if rnd.IntN(3) > 0 {
			tx.Commit()
			committed = mine
		} else {
			tx.Rollback()
		}
		compare(t, other, committed, false)
	}
	if store.Len() != len(committed) {
		t.Errorf("%d rows, want %d", store.Len(), len(committed))
	}
}

func change(t *testing.T, rnd *rand.Rand, tx *rows.Tx, mine map[int64]string) {
	t.Helper()
	id, to, name := rnd.Int64N(700), rnd.Int64N(700), fmt.Sprint(rnd.IntN(20))
	_, exists := mine[id]
	var duplicate *rows.DuplicateError
	switch rnd.IntN(5) {
	case 0, 1, 2:
		err := tx.Insert(t.Context(), id, row(id, name))
		if errors.As(err, &duplicate) != exists || err != nil && !exists {
			t.Fatalf("insert of %d, which exists %v: %v", id, exists, err)
		}
		if !exists {
			mine[id] = name
		}
	case 3:
		ok, err := tx.Delete(t.Context(), id)
		if ok != exists || err != nil {
			t.Fatalf("delete of %d, which exists %v: %v, %v", id, exists, ok, err)
		}
		delete(mine, id)
	case 4:
		_, taken := mine[to]
		taken = exists && taken && to != id
		ok, err := tx.Update(t.Context(), id, to, row(to, name))
		if errors.As(err, &duplicate) != taken || ok != (exists && !taken) {
			t.Fatalf("update of %d to %d, which exist %v, %v: %v, %v", id, to, exists, taken, ok, err)
		}
		if ok {
			delete(mine, id)
			mine[to] = name
		}
	}
}

func compare(t *testing.T, tx *rows.Tx, want map[int64]string, forUpdate bool) {
	t.Helper()
	ids := make([]int64, 0, len(want))
	for id, name := range want {
		ids = append(ids, id)
		if r, err := tx.Get(t.Context(), id, forUpdate); err != nil || r == nil || r[1] != name {
			t.Fatalf("row %d is %v, %v, want %q", id, r, err, name)
		}
	}
	slices.Sort(ids)
	all := rows.Range{From: rows.FirstOf(""), To: rows.AfterAllOf("")}
	if got := read(t, tx.Scan(rows.Primary, all, false, forUpdate)); !slices.Equal(got, ids) {
		t.Fatalf("by id: %v, want %v", got, ids)
	}
	slices.SortFunc(ids, func(a, b int64) int {
		if want[a] != want[b] {
			return -slices.Compare([]byte(want[a]), []byte(want[b]))
		}
		return int(b - a)
	})
	if got := read(t, tx.Scan(rows.Secondary, everything, true, forUpdate)); !slices.Equal(got, ids) {
		t.Fatalf("by name, backwards: %v, want %v", got, ids)
	}
}

func TestLock_IsWaitedForForTheTimeSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(rows.Config{})
		holder, waiter := store.Begin(), store.Begin()
		insert(t, holder, 1, "a")
		insert(t, waiter, 2, "b")
		began := time.Now()
		if err := waiter.Insert(t.Context(), 1, row(1, "c")); !errors.Is(err, rows.ErrLockWait) {
			t.Fatalf("error is %v, want %v", err, rows.ErrLockWait)
		}
		if got := time.Since(began); got != rows.DefaultLockWait {
			t.Errorf("waited %v, want %v", got, rows.DefaultLockWait)
		}
		// The waiter is rolled back.
		insert(t, holder, 2, "d")
		holder.Commit()
		if got := store.Len(); got != 2 {
			t.Errorf("%d rows, want 2", got)
		}
	})
}

func TestLock_IsGivenInTheOrderOfAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(rows.Config{})
		holder := store.Begin()
		insert(t, holder, 1, "a")
		var order []int
		for i := range 5 {
			go func() {
				tx := store.Begin()
				if _, err := tx.Get(context.Background(), 1, true); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				tx.Commit()
			}()
			synctest.Wait()
		}
		holder.Commit()
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("the lock went to %v, want %v", order, want)
		}
	})
}

func TestLock_WaiterWhoGivesUp_IsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(rows.Config{})
		holder := store.Begin()
		insert(t, holder, 1, "a")
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := store.Begin().Get(ctx, 1, true)
			gone <- err
		}()
		synctest.Wait()
		next := make(chan error, 1)
		go func() {
			_, err := store.Begin().Get(context.Background(), 1, true)
			next <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want %v", err, context.Canceled)
		}
		holder.Rollback()
		if err := <-next; err != nil {
			t.Error(err)
		}
	})
}

func TestScanForUpdate_RowMovedWhileWaitedFor_IsMetOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, reverse := range []bool{false, true} {
			store := newStore(rows.Config{})
			tx := store.Begin()
			for id, name := range []string{"a", "b", "c", "d"} {
				insert(t, tx, int64(id), name)
			}
			tx.Commit()
			// One moves out of the range, one to its other end, one is deleted.
			update(t, tx, 0, "z")
			update(t, tx, 1, "e")
			update(t, tx, 3, "a")
			if _, err := tx.Delete(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			var ids []int64
			done := make(chan error)
			go func() {
				r := rows.Range{From: rows.FirstOf("a"), To: rows.FirstOf("f")}
				reader := store.Begin()
				defer reader.Commit()
				var err error
				ids, err = readAll(t.Context(), reader.Scan(rows.Secondary, r, reverse, true))
				done <- err
			}()
			synctest.Wait()
			tx.Commit()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			slices.Sort(ids)
			if want := []int64{1, 3}; !slices.Equal(ids, want) {
				t.Errorf("reverse %v: rows are %v, want %v", reverse, ids, want)
			}
		}
	})
}

func update(t *testing.T, tx *rows.Tx, id int64, name string) {
	t.Helper()
	if ok, err := tx.Update(t.Context(), id, id, row(id, name)); !ok || err != nil {
		t.Fatalf("update of %d: %v, %v", id, ok, err)
	}
}
