package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// benchRows is how many rows the benchmarks of get, save and patch work on.
const benchRows = 1000

// benchPatch changes one text.
var benchPatch = patchOf(models.Employee{First: ptr("Grace")}, "first")

func benchEmployee(id int64) models.Employee {
	return models.Employee{ID: id, First: ptr("Ada"), Last: ptr("Lovelace"), City: ptr("London"), Department: 7}
}

// firstBenchID is where the rows of a benchmark begin: see Run.
func firstBenchID() int64 { return 1<<62 + rand.Int64N(1<<61) }

// inParallel does run(0) to run(n-1) on so many goroutines.
func inParallel(b *testing.B, callers, n int, run func(i int64) error) {
	b.Helper()
	var next atomic.Int64
	var running sync.WaitGroup
	for range callers {
		running.Go(func() { // ends after n calls
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := run(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

// bench measures run on 1, 8 and 64 callers. Before, rows are created: so many,
// or where that is 0 one for each call; after, rows of all calls are removed.
func bench(b *testing.B, s store.Employees, rows int, created bool, run func(ctx context.Context, id int64) error) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ctx := b.Context()
			first := firstBenchID()
			n := rows
			if n == 0 {
				n = b.N
			}
			if created {
				inParallel(b, 16, n, func(i int64) error { return s.Create(ctx, benchEmployee(first+i)) })
			}
			b.Cleanup(func() {
				ctx := context.WithoutCancel(ctx) // which has ended
				inParallel(b, 16, n, func(i int64) error {
					_ = s.Delete(ctx, first+i, store.Precondition{}) // some are gone already
					return nil
				})
			})
			b.ReportAllocs()
			b.ResetTimer()
			inParallel(b, callers, b.N, func(i int64) error { return run(ctx, first+i%int64(n)) })
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchGet measures single reads of 1000 rows. All benchmarks of this package
// leave no rows behind.
func BenchGet(b *testing.B, s store.Employees) {
	bench(b, s, benchRows, true, func(ctx context.Context, id int64) error {
		_, err := s.Get(ctx, id)
		return err
	})
}

// BenchCreate measures creations, each of another row.
func BenchCreate(b *testing.B, s store.Employees) {
	bench(b, s, 0, false, func(ctx context.Context, id int64) error { return s.Create(ctx, benchEmployee(id)) })
}

// BenchSave measures replacements of 1000 rows by what they are already.
func BenchSave(b *testing.B, s store.Employees) {
	bench(b, s, benchRows, true, func(ctx context.Context, id int64) error {
		_, err := s.Save(ctx, benchEmployee(id), store.Precondition{})
		return err
	})
}

// BenchPatch measures changes of one text in 1000 rows, and with returnRow the
// row that comes back.
func BenchPatch(b *testing.B, s store.Employees, returnRow bool) {
	bench(b, s, benchRows, true, func(ctx context.Context, id int64) error {
		_, err := s.Patch(ctx, id, benchPatch, store.PatchOptions{ReturnRow: returnRow})
		return err
	})
}

// BenchDelete measures removals, each of another row.
func BenchDelete(b *testing.B, s store.Employees) {
	bench(b, s, 0, true, func(ctx context.Context, id int64) error { return s.Delete(ctx, id, store.Precondition{}) })
}
