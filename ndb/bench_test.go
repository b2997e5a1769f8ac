package ndb_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// Tests and benchmarks run against the cluster that TEST_NDB_CONNECTSTRING
// names, on ndbtest.employee, and leave no rows; without it, against ndbtest.
// Plain TCP ping-pong of the same sizes is BenchmarkPingPong of
// internal/transporter.

// employeeTable is the table of the benchmark as deploy/schema.sql has it.
const employeeTable = `CREATE TABLE ndbtest.employee (
	id BIGINT NOT NULL PRIMARY KEY,
	first VARCHAR(64) DEFAULT NULL,
	last VARCHAR(64) DEFAULT NULL,
	municipality VARCHAR(64) DEFAULT NULL,
	started DATE DEFAULT NULL,
	ended DATE DEFAULT NULL,
	department INT NOT NULL DEFAULT 1,
	KEY idx_municipality (municipality)
) ENGINE=NDBCLUSTER DEFAULT CHARSET=utf8mb3`

// workbench is a client with the table's columns at hand.
type workbench struct {
	client *ndb.Client
	table  *ndb.Table
	all    *ndb.Projection
	id     *ndb.Column
	first  *ndb.Column
	last   *ndb.Column
	city   *ndb.Column
	start  *ndb.Column
	base   int64 // of the IDs of this run
}

func newWorkbench(tb testing.TB) *workbench {
	tb.Helper()
	return newTracedWorkbench(tb, nil)
}

func newTracedWorkbench(tb testing.TB, trace *ndb.Trace) *workbench {
	tb.Helper()
	connectstring := os.Getenv("TEST_NDB_CONNECTSTRING")
	if connectstring == "" {
		cluster := ndbtest.Run(tb)
		cluster.MustCreateTable(employeeTable)
		connectstring = cluster.Connectstring()
	}
	client, err := ndb.Connect(tb.Context(), ndb.Config{Connectstring: connectstring, Name: "ndb test", Trace: trace})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	w := &workbench{client: client, base: 8_000_000_000_000 + time.Now().UnixMilli()%1_000_000_000*1_000_000}
	if w.table, err = client.Table(tb.Context(), "ndbtest", "employee"); err != nil {
		tb.Fatal(err)
	}
	if w.all, err = w.table.Select(); err != nil {
		tb.Fatal(err)
	}
	for name, column := range map[string]**ndb.Column{
		"id": &w.id, "first": &w.first, "last": &w.last, "municipality": &w.city, "started": &w.start,
	} {
		if *column, err = w.table.Column(name); err != nil {
			tb.Fatal(err)
		}
	}
	return w
}

// employee fills v with a row like those of the article.
func (w *workbench) employee(v *ndb.Values, id int64) *ndb.Values {
	v.Reset()
	return v.Int64(w.id, id).String(w.first, "Ada").String(w.last, "Lovelace").String(w.city, "London").Date(w.start, 2020, 2, 29)
}

// rows inserts n rows, or removes them.
func (w *workbench) rows(tb testing.TB, n int, insert bool) {
	tb.Helper()
	v := w.table.NewValues()
	batch := w.client.NewBatch(context.WithoutCancel(tb.Context()), ndb.BatchOptions{Result: func(i int, err error) {
		if err != nil && insert {
			tb.Errorf("row %d: %v", i, err)
		}
	}})
	for i := range n {
		if insert {
			batch.Insert(w.employee(v, w.base+int64(i)))
			continue
		}
		v.Reset()
		batch.Delete(v.Int64(w.id, w.base+int64(i)))
	}
	batch.Wait()
}

// caller is what one goroutine uses again and again.
type caller struct {
	*workbench
	values *ndb.Values
	row    ndb.Row
}

// callers runs op b.N times, spread over 1, 8 and 64 goroutines. Each i is used
// once; loaded says that row i is there before.
func callers(b *testing.B, loaded bool, op func(c *caller, i int64) error) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			w := newWorkbench(b)
			if loaded {
				w.rows(b, b.N, true)
			}
			b.Cleanup(func() { w.rows(b, b.N, false) })
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var running sync.WaitGroup
			for range n {
				running.Go(func() { // ends after b.N operations
					c := &caller{workbench: w, values: w.table.NewValues()}
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := op(c, w.base+i-1); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}

func (c *caller) key(id int64) *ndb.Values {
	c.values.Reset()
	return c.values.Int64(c.id, id)
}

func BenchmarkRead(b *testing.B) {
	callers(b, true, func(c *caller, i int64) error {
		return c.client.Read(context.Background(), c.key(i), c.all, &c.row)
	})
}

func BenchmarkInsert(b *testing.B) {
	callers(b, false, func(c *caller, i int64) error {
		_, err := c.client.Insert(context.Background(), c.employee(c.values, i))
		return err
	})
}

func BenchmarkUpdate(b *testing.B) {
	callers(b, true, func(c *caller, i int64) error {
		_, err := c.client.Update(context.Background(), c.key(i).String(c.first, "Grace").String(c.last, "Hopper"))
		return err
	})
}

func BenchmarkDelete(b *testing.B) {
	callers(b, true, func(c *caller, i int64) error {
		_, err := c.client.Delete(context.Background(), c.key(i))
		return err
	})
}

// BenchmarkBatch has one goroutine with many transactions in flight.
func BenchmarkBatch(b *testing.B) {
	for _, op := range []struct {
		name   string
		loaded bool
		add    func(batch *ndb.Batch, c *caller, i int64)
	}{
		{"read", true, func(batch *ndb.Batch, c *caller, i int64) { batch.Read(c.key(i), c.all, new(ndb.Row)) }},
		{"insert", false, func(batch *ndb.Batch, c *caller, i int64) { batch.Insert(c.employee(c.values, i)) }},
		{"update", true, func(batch *ndb.Batch, c *caller, i int64) { batch.Update(c.key(i).String(c.first, "Grace")) }},
		{"delete", true, func(batch *ndb.Batch, c *caller, i int64) { batch.Delete(c.key(i)) }},
	} {
		b.Run(op.name, func(b *testing.B) {
			w := newWorkbench(b)
			if op.loaded {
				w.rows(b, b.N, true)
			}
			b.Cleanup(func() { w.rows(b, b.N, false) })
			c := &caller{workbench: w, values: w.table.NewValues()}
			b.ReportAllocs()
			b.ResetTimer()
			batch := w.client.NewBatch(context.Background(), ndb.BatchOptions{Result: func(_ int, err error) {
				if err != nil {
					b.Error(err)
				}
			}})
			for i := range b.N {
				op.add(batch, c, w.base+int64(i))
			}
			batch.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}
