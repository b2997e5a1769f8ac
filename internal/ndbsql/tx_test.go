package ndbsql

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// fill makes a table of numbers: id, and n = id modulo 10, with an index on n.
func (b *bed) fill(t *testing.T, name string, rows int) *ndb.Table {
	t.Helper()
	table := b.create(t, name, "id INT NOT NULL PRIMARY KEY, n INT NULL, note VARCHAR(300) NULL, INDEX idx_n (n)")
	b.exec(t, "SET SESSION cte_max_recursion_depth = 1000000")
	b.exec(t, fmt.Sprintf("INSERT INTO %s WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < %d) SELECT i, i %% 10, NULL FROM r", name, rows-1))
	return table
}

func begin(t *testing.T, b *bed) *ndb.Tx {
	t.Helper()
	tx, err := b.client.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Close)
	return tx
}

func TestTxScan_TakesOverLocks_ToUpdateAndDelete(t *testing.T) {
	b := newBed(t)
	for _, indexed := range []bool{true, false} {
		for _, rows := range []int{0, 3} {
			name := fmt.Sprintf("index %t, batches of %d", indexed, rows)
			t.Run(name, func(t *testing.T) {
				table := b.fill(t, "scan_takeover", 500)
				note, n := column(t, table, "note"), column(t, table, "n")
				scan := ndb.Scan{
					Table: table, Columns: selectColumns(t, table, "id", "n"), Lock: ndb.ExclusiveLock, BatchRows: rows,
					Filter: ndb.Or(ndb.Eq(n, 3), ndb.Eq(n, 4)),
				}
				if indexed {
					scan.Index, scan.Filter, scan.Ranges = index(t, table, "idx_n"), nil, []ndb.Range{{Low: []any{3}, High: []any{4}}}
				}
				tx := begin(t, b)
				s, err := tx.Scan(t.Context(), scan)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for s.Next(t.Context()) {
					if v, err := s.Row().Int64(1); err != nil || v == 4 {
						s.Delete()
						continue
					}
					id, err := s.Row().String(0)
					if err != nil {
						t.Fatal(err)
					}
					s.Update(table.NewValues().String(note, "was "+id).Int64(n, 33))
				}
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := b.query(t, "SELECT COUNT(*), SUM(n = 33 AND note = CONCAT('was ', id)), SUM(n = 4), SUM(note IS NULL) FROM scan_takeover")
				same(t, name, got, [][]string{{"450", "50", "0", "400"}})
				b.awaitIdle(t)
			})
		}
	}
}

func TestTxScan_Limit_EndsBehindTheLocksThatAreTakenOver(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_limited", 100)
	tx := begin(t, b)
	s, err := tx.Scan(t.Context(), ndb.Scan{Table: table, Columns: selectColumns(t, table, "id"), Lock: ndb.ExclusiveLock, Limit: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.Next(t.Context()) {
		s.Delete()
	}
	if err := errors.Join(s.Err(), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, "rows that stay", b.query(t, "SELECT COUNT(*) FROM scan_limited"), [][]string{{"93"}})
	b.awaitIdle(t)
}

func TestTxScan_SeesItsOwnWrites_AndRollbackUndoesAll(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_own", 20)
	id, n := column(t, table, "id"), column(t, table, "n")
	tx := begin(t, b)
	tx.Insert(table.NewValues().Int64(id, 1000).Int64(n, 77))
	tx.Delete(table.NewValues().Int64(id, 5))
	if err := tx.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	columns := selectColumns(t, table, "id")
	for _, lock := range []ndb.LockMode{ndb.CommittedRead, ndb.SharedLock, ndb.ExclusiveLock} {
		s, err := tx.Scan(t.Context(), ndb.Scan{Table: table, Columns: columns, Lock: lock, Filter: ndb.Or(ndb.Eq(n, 77), ndb.Eq(id, 5), ndb.Eq(id, 6))})
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(t, s, columns)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint(lock), sorted(got), [][]string{{"1000"}, {"6"}})
		s.Close()
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "after rollback", b.query(t, "SELECT COUNT(*), SUM(n = 77), SUM(id = 5) FROM scan_own"), [][]string{{"20", "0", "1"}})
	b.awaitIdle(t)
}

func TestTxScan_LocksKeepOthersOut_UntilTheTransactionEnds(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_locks", 10)
	id, n := column(t, table, "id"), column(t, table, "n")
	tx := begin(t, b)
	s, err := tx.Scan(t.Context(), ndb.Scan{Table: table, Columns: selectColumns(t, table, "id"), Lock: ndb.ExclusiveLock, Filter: ndb.Eq(id, 3)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Next(t.Context()) {
		t.Fatal(s.Err())
	}
	s.Update(table.NewValues().Int64(n, 300))
	s.Close() // What was gathered is executed all the same.
	if err := tx.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = b.client.Update(t.Context(), table.NewValues().Int64(id, 3).Int64(n, 301))
	if e := (*ndb.Error)(nil); !errors.As(err, &e) || e.Classification != ndb.ClassTimeout {
		t.Errorf("got %v, want a lock that is waited for in vain", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "n", b.query(t, "SELECT n FROM scan_locks WHERE id = 3"), [][]string{{"300"}})
}

func TestTxScan_EndsWithItsTransaction(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_ends", 2000)
	columns := selectColumns(t, table, "id")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, end := range map[string]func(tx *ndb.Tx) error{
		"commit":   func(tx *ndb.Tx) error { return tx.Commit(t.Context()) },
		"rollback": func(tx *ndb.Tx) error { return tx.Rollback(t.Context()) },
		"close":    func(tx *ndb.Tx) error { tx.Close(); return nil },
		"context": func(tx *ndb.Tx) error {
			// Whether the answer or the end of the context is seen first is open.
			_ = tx.Commit(cancelled)
			return nil
		},
	} {
		for _, lock := range []ndb.LockMode{ndb.CommittedRead, ndb.SharedLock, ndb.ExclusiveLock} {
			for range 10 {
				tx := begin(t, b)
				s, err := tx.Scan(t.Context(), ndb.Scan{Table: table, Columns: columns, Lock: lock, BatchRows: 10})
				if err != nil {
					t.Fatal(err)
				}
				if !s.Next(t.Context()) {
					t.Fatal(s.Err())
				}
				if lock == ndb.ExclusiveLock {
					s.Update(table.NewValues().Int64(column(t, table, "n"), 1))
				}
				if err := end(tx); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if s.Next(t.Context()) || s.Err() == nil {
					t.Errorf("%s, lock %d: the scan goes on", name, lock)
				}
				s.Close()
			}
			b.awaitIdle(t)
		}
	}
}
