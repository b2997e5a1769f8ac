package ndbsql

import (
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// One iteration reads a table of 50,000 rows. The rate is what one caller gets.
func BenchmarkScan(b *testing.B) {
	const rows = 50_000
	bed := newBed(b)
	table := bed.people(b, "scan_bench", rows)
	all, id := selectColumns(b, table), selectColumns(b, table, "id")
	for _, test := range []struct {
		name string
		scan ndb.Scan
	}{
		{"all columns", ndb.Scan{Columns: all}},
		{"one column", ndb.Scan{Columns: id}},
		{"in order", ndb.Scan{Columns: all, Index: index(b, table, "PRIMARY"), Order: ndb.Ascending}},
		{"in order of text", ndb.Scan{Columns: all, Index: index(b, table, "idx_last"), Order: ndb.Ascending}},
		{"few by index", ndb.Scan{Columns: all, Index: index(b, table, "PRIMARY"), Ranges: []ndb.Range{{Low: []any{100}, High: []any{109}}}}},
		{"one hit", ndb.Scan{Columns: all, Filter: ndb.Eq(column(b, table, "id"), 4711)}},
	} {
		test.scan.Table = table
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			read := 0
			for b.Loop() {
				s, err := bed.client.Scan(b.Context(), test.scan)
				if err != nil {
					b.Fatal(err)
				}
				for s.Next(b.Context()) {
					read++
				}
				if s.Err() != nil {
					b.Fatal(s.Err())
				}
				s.Close()
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	for name, scan := range map[string]ndb.Scan{
		"count": {Table: table}, "count with a filter": {Table: table, Filter: ndb.Ge(column(b, table, "id"), 0)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := bed.client.Count(b.Context(), scan); err != nil || n != rows {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
