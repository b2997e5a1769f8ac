package ndbsql

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

func TestCount_GivesWhatSelectCounts(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_count", 20_000)
	empty := b.create(t, "scan_count_empty", "id INT NOT NULL PRIMARY KEY")
	n := column(t, table, "n")
	for name, test := range map[string]struct {
		scan ndb.Scan
		want int64
	}{
		"all":               {ndb.Scan{Table: table}, 20_000},
		"none":              {ndb.Scan{Table: empty}, 0},
		"none by index":     {ndb.Scan{Table: empty, Index: index(t, empty, "PRIMARY")}, 0},
		"filter":            {ndb.Scan{Table: table, Filter: ndb.Lt(n, 3)}, 6000},
		"filter, limit":     {ndb.Scan{Table: table, Filter: ndb.Lt(n, 3), Limit: 1234}, 1234},
		"range":             {ndb.Scan{Table: table, Index: index(t, table, "idx_n"), Ranges: []ndb.Range{ndb.Exactly(9)}}, 2000},
		"ranges and filter": {ndb.Scan{Table: table, Index: index(t, table, "idx_n"), Ranges: []ndb.Range{ndb.Exactly(9), ndb.Exactly(1)}, Filter: ndb.Ne(n, 9)}, 2000},
	} {
		got, err := b.client.Count(t.Context(), test.scan)
		if err != nil || got != test.want {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, test.want)
		}
		any, err := b.client.Exists(t.Context(), test.scan)
		if err != nil || any != (test.want > 0) {
			t.Errorf("%s: got %t, %v", name, any, err)
		}
	}
	b.awaitIdle(t)
}

func TestScan_20000Rows(t *testing.T) {
	b := newBed(t)
	table := b.people(t, "scan_many", 20_000)
	all := selectColumns(t, table)
	want := b.query(t, "SELECT * FROM scan_many ORDER BY id")
	for name, scan := range map[string]ndb.Scan{
		"table":               {},
		"ordered":             {Index: index(t, table, "PRIMARY"), Order: ndb.Ascending},
		"table, 64 at a time": {BatchRows: 64},
	} {
		scan.Table, scan.Columns = table, all
		start := time.Now()
		s, err := b.client.Scan(t.Context(), scan)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for s.Next(t.Context()) {
			rows++
		}
		if s.Err() != nil || rows != len(want) {
			t.Errorf("%s: got %d rows, %v, want %d", name, rows, s.Err(), len(want))
		}
		s.Close()
		t.Logf("%s: %.0f rows/s", name, float64(rows)/time.Since(start).Seconds())
		got := b.scan(t, scan)
		if scan.Order != ndb.Ascending {
			got, want = sorted(got), sorted(want)
		}
		if scan.Order == ndb.Ascending {
			same(t, name, got, b.query(t, "SELECT * FROM scan_many ORDER BY id"))
			continue
		}
		same(t, name, got, want)
	}
	b.awaitIdle(t)
}

// Each way to leave early, many times and from several goroutines: the records
// must come back, and be good for the next.
func TestScan_ClosedEarly_LeavesNothing(t *testing.T) {
	b := newBed(t)
	table := b.fill(t, "scan_early", 3000)
	columns := selectColumns(t, table, "id")
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 250 {
				scan := ndb.Scan{Table: table, Columns: columns, BatchRows: 1 + i%50}
				if i%3 == 0 {
					scan.Index, scan.Order = index(t, table, "idx_n"), ndb.Ascending
				}
				if i%7 == 0 {
					scan.Filter = ndb.Eq(column(t, table, "n"), 4)
				}
				if err := leaveEarly(t, b, scan, i); err != nil {
					t.Errorf("worker %d, scan %d: %v", worker, i, err)
					return
				}
			}
		})
	}
	group.Wait()
	b.awaitIdle(t)
	if records := b.client.Stats().Records; records > 64 {
		t.Errorf("got %d records, want few: they are used again", records)
	}
	if got := b.scan(t, ndb.Scan{Table: table, Columns: columns}); len(got) != 3000 {
		t.Errorf("got %d rows, want 3000", len(got))
	}
}

func leaveEarly(t *testing.T, b *bed, scan ndb.Scan, i int) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := b.client.Scan(ctx, scan)
	if err != nil {
		return err
	}
	defer s.Close()
	for range i % 120 {
		if !s.Next(ctx) {
			return s.Err()
		}
	}
	if i%2 > 0 {
		return nil
	}
	cancel()
	for s.Next(ctx) {
	}
	if s.Err() == nil {
		return fmt.Errorf("the scan came to its end without a context")
	}
	return nil
}
