package storetest

import (
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// BenchBatch measures batches of many sizes, one at a time. "create singly" is
// what there is without them: single calls of 64 callers.
func BenchBatch(b *testing.B, s BatchStore) {
	for _, n := range []int{100, 1000, 10_000, 50_000} {
		for _, c := range batchBenches(b, s, n) {
			b.Run(fmt.Sprintf("%s/rows=%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					b.StopTimer()
					do(b, c.before)
					b.StartTimer()
					do(b, c.run)
					b.StopTimer()
					do(b, c.behind)
				}
				b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// batchBench is one benchmark: run is measured, what is nil is left out.
type batchBench struct {
	name                string
	before, run, behind func() error
}

// batchBenches are the benchmarks of n rows, which none of them leaves behind.
func batchBenches(b *testing.B, s BatchStore, n int) []batchBench {
	first := firstBenchID()
	employees, updates, ids := make([]models.Employee, n), make([]models.EmployeeUpdate, n), make([]int64, n)
	for i := range n {
		ids[i] = first + int64(i)
		employees[i] = benchEmployee(ids[i])
		updates[i] = models.EmployeeUpdate{ID: ids[i], Patch: benchPatch}
	}
	ctx := b.Context()
	create := func() error { return s.CreateAll(ctx, employees) }
	remove := func() error { return s.DeleteAll(ctx, ids) }
	return []batchBench{
		{"get", create, func() error { return firstError(s.GetMany(ctx, ids)) }, remove},
		{"create all", nil, create, remove},
		{"create singly", nil, func() error {
			inParallel(b, 64, n, func(i int64) error { return s.Create(ctx, employees[i]) })
			return nil
		}, remove},
		{"create each", nil, func() error { return firstError(s.CreateEach(ctx, employees)) }, remove},
		{"patch all", create, func() error {
			_, err := s.PatchAll(ctx, updates, true)
			return err
		}, remove},
		{"patch each", create, func() error { return firstError(s.PatchEach(ctx, updates, true)) }, remove},
		{"delete all", create, remove, nil},
		{"delete each", create, func() error { return firstError(s.DeleteEach(ctx, ids)) }, nil},
	}
}

func do(b *testing.B, run func() error) {
	b.Helper()
	if run == nil {
		return
	}
	if err := run(); err != nil {
		b.Fatal(err)
	}
}

func firstError(results []store.ItemResult) error {
	for _, item := range results {
		if item.Err != nil {
			return item.Err
		}
	}
	return nil
}
