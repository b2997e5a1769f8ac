package ndbsql

import (
	"runtime"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

const employeeColumns = "id BIGINT NOT NULL PRIMARY KEY, first VARCHAR(64), department INT NOT NULL DEFAULT 1"

// transactionMemory is what the data nodes use for transactions, in pages.
func (b *bed) transactionMemory(t *testing.T) int64 {
	t.Helper()
	var pages int64
	if err := b.db.QueryRow("SELECT SUM(used) FROM ndbinfo.resources WHERE resource_name = CONVERT('TRANSACTION_MEMORY' USING utf8mb4) COLLATE utf8mb4_0900_ai_ci").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	return pages
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSoak runs a million transactions of one operation and looks for what
// should not grow: our memory, and records here and in the data nodes.
func TestSoak_MillionOperations_NothingGrows(t *testing.T) {
	b := newBed(t)
	table := b.create(t, "ndbsql_soak", employeeColumns)
	id, first := column(t, table, "id"), column(t, table, "first")
	v := table.NewValues()
	run := func(rounds int) {
		batch := b.client.NewBatch(t.Context(), ndb.BatchOptions{Result: func(n int, err error) {
			if err != nil {
				t.Errorf("operation %d: %v", n, err)
			}
		}})
		for i := range int64(rounds) {
			v.Reset()
			if batch.Write(v.Int64(id, i%5000).String(first, "soak")); t.Failed() {
				break
			}
		}
		batch.Wait()
	}
	run(100_000) // everything that is kept is there now
	heap, records, memory := heapBytes(), b.client.Stats().Records, b.transactionMemory(t)
	run(1_000_000)
	after := b.client.Stats()
	if grown := heapBytes() - heap; grown > 8<<20 {
		t.Errorf("our memory has grown by %d bytes", grown)
	}
	if after.Records > 2*records || after.Transactions != 0 {
		t.Errorf("records: %d before, %d after; %d transactions are left", records, after.Records, after.Transactions)
	}
	// Without TC_COMMIT_ACK a million markers would take thousands of pages.
	grown := b.transactionMemory(t) - memory
	t.Logf("transaction memory: %d pages more", grown)
	if grown > 64 {
		t.Errorf("the data nodes use %d pages more for transactions", grown)
	}
}

func TestBulk_50000RowsInTransactionsOf100(t *testing.T) {
	b := newBed(t)
	table := b.create(t, "ndbsql_bulk", employeeColumns)
	id := column(t, table, "id")
	for base := int64(0); base < 50_000; base += 100 {
		tx, err := b.client.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(100) {
			tx.Insert(table.NewValues().Int64(id, base+i))
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatalf("rows from %d on: %v", base, err)
		}
	}
	same(t, "count", b.query(t, "SELECT COUNT(*), MIN(id), MAX(id) FROM ndbsql_bulk"), [][]string{{"50000", "0", "49999"}})
}
