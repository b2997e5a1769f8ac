package ndbsql

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// BenchmarkBatch has transactions of one operation each in bulk, on a table
// without an ordered index and on one with two, as the employee table has them:
// each index costs the data nodes about as much as the row. Two goroutines, 128
// transactions in flight each, is how the asynchronous interface of the C++
// library is commonly measured.
func BenchmarkBatch(b *testing.B) {
	for _, test := range []struct{ name, table, keys string }{
		{"no index", "batch_plain", "PRIMARY KEY (id) USING HASH"},
		{"two indexes", "batch_indexed", "PRIMARY KEY (id), KEY idx_city (city)"},
	} {
		for _, writers := range []int{1, 2} {
			for _, window := range []int{128, ndb.DefaultBatchWindow} {
				b.Run(fmt.Sprintf("%s/writers=%d/window=%d", test.name, writers, window), func(b *testing.B) {
					bed := newBed(b)
					table := bed.create(b, test.table, "id BIGINT NOT NULL, first VARCHAR(64), last VARCHAR(64), city VARCHAR(64), department INT NOT NULL DEFAULT 1, "+test.keys)
					bulk{bed.client, table, writers, window}.run(b)
				})
			}
		}
	}
}

// bulk is one way to run operations in bulk.
type bulk struct {
	client  *ndb.Client
	table   *ndb.Table
	writers int
	window  int
}

// run inserts, reads, updates and deletes b.N rows, and reports each rate.
func (k bulk) run(b *testing.B) {
	all := selectColumns(b, k.table)
	id, first, last, city := column(b, k.table, "id"), column(b, k.table, "first"), column(b, k.table, "last"), column(b, k.table, "city")
	b.ResetTimer()
	for _, op := range []struct {
		name string
		add  func(batch *ndb.Batch, v *ndb.Values, i int64)
	}{
		{"inserts/s", func(batch *ndb.Batch, v *ndb.Values, i int64) {
			batch.Insert(v.Int64(id, i).String(first, "Ada").String(last, "Lovelace").String(city, "London"))
		}},
		{"reads/s", func(batch *ndb.Batch, v *ndb.Values, i int64) { batch.Read(v.Int64(id, i), all, new(ndb.Row)) }},
		{"updates/s", func(batch *ndb.Batch, v *ndb.Values, i int64) { batch.Update(v.Int64(id, i).String(first, "Grace")) }},
		{"deletes/s", func(batch *ndb.Batch, v *ndb.Values, i int64) { batch.Delete(v.Int64(id, i)) }},
	} {
		begun := b.Elapsed()
		var running sync.WaitGroup
		for w := range k.writers {
			running.Go(func() { // ends after its share of the rows
				batch := k.client.NewBatch(context.Background(), ndb.BatchOptions{Window: k.window, Result: func(_ int, err error) {
					if err != nil {
						b.Error(err)
					}
				}})
				v := k.table.NewValues()
				for i := w; i < b.N; i += k.writers {
					v.Reset()
					op.add(batch, v, int64(i))
				}
				batch.Wait()
			})
		}
		running.Wait()
		b.ReportMetric(float64(b.N)/(b.Elapsed()-begun).Seconds(), op.name)
	}
}
