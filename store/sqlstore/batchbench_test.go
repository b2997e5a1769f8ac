package sqlstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// BenchmarkBatch measures batches of many sizes, one at a time, as that of the native
// road does. "create singly" is what there is without them: single calls on 64 connections.
func BenchmarkBatch(b *testing.B) {
	s := open(b, sqlstore.Config{DSNs: testDSNs(b)})
	for _, n := range []int{100, 1000, 10_000, 50_000} {
		first := 1<<62 + rand.Int64N(1<<61)
		employees, updates, ids := make([]models.Employee, n), make([]models.EmployeeUpdate, n), make([]int64, n)
		for i := range n {
			ids[i] = first + int64(i)
			employees[i] = benchEmployee(ids[i])
			updates[i] = models.EmployeeUpdate{ID: ids[i], Patch: somePatch}
		}
		ctx := context.Background()
		create := func() error { return s.CreateAll(ctx, employees) }
		remove := func() error { return s.DeleteAll(ctx, ids) }
		for _, c := range []struct {
			name                string
			before, run, behind func() error
		}{
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
		} {
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
