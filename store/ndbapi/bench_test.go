package ndbapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// benchRows is how many rows the benchmarks of get, save and patch work on.
const benchRows = 1000

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

// bench measures run on 1, 8 and 64 callers, as that of the SQL road does.
// Before, rows are created: so many, or where that is 0 one for each call; after,
// rows of all calls are removed.
func bench(b *testing.B, rows int, created bool, run func(s *ndbapi.Store, id int64) error) {
	s := open(b, ndbapi.Config{Connectstring: realConnectstring(b)})
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ctx := context.WithoutCancel(b.Context())
			first := 1<<62 + rand.Int64N(1<<61)
			n := rows
			if n == 0 {
				n = b.N
			}
			if created {
				inParallel(b, 16, n, func(i int64) error { return s.Create(ctx, benchEmployee(first+i)) })
			}
			b.Cleanup(func() {
				inParallel(b, 16, n, func(i int64) error {
					_ = s.Delete(ctx, first+i, store.Precondition{})
					return nil
				})
			})
			b.ReportAllocs()
			b.ResetTimer()
			inParallel(b, callers, b.N, func(i int64) error { return run(s, first+i%int64(n)) })
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

func benchEmployee(id int64) models.Employee {
	first, last, city := "Ada", "Lovelace", "London"
	return models.Employee{ID: id, First: &first, Last: &last, City: &city, Department: 7}
}

var benchPatch = func() models.EmployeePatch {
	first, _ := models.EmployeeProperty("first")
	name := "Grace"
	return models.EmployeePatch{Values: models.Employee{First: &name}, Set: []models.Property{first}}
}()

func BenchmarkGet(b *testing.B) {
	bench(b, benchRows, true, func(s *ndbapi.Store, id int64) error {
		_, err := s.Get(context.Background(), id)
		return err
	})
}

func BenchmarkCreate(b *testing.B) {
	bench(b, 0, false, func(s *ndbapi.Store, id int64) error { return s.Create(context.Background(), benchEmployee(id)) })
}

func BenchmarkSave(b *testing.B) {
	bench(b, benchRows, true, func(s *ndbapi.Store, id int64) error {
		_, err := s.Save(context.Background(), benchEmployee(id), store.Precondition{})
		return err
	})
}

func BenchmarkPatch(b *testing.B) {
	bench(b, benchRows, true, func(s *ndbapi.Store, id int64) error {
		_, err := s.Patch(context.Background(), id, benchPatch, store.PatchOptions{})
		return err
	})
}

func BenchmarkPatchReturnRow(b *testing.B) {
	bench(b, benchRows, true, func(s *ndbapi.Store, id int64) error {
		_, err := s.Patch(context.Background(), id, benchPatch, store.PatchOptions{ReturnRow: true})
		return err
	})
}

func BenchmarkDelete(b *testing.B) {
	bench(b, 0, true, func(s *ndbapi.Store, id int64) error { return s.Delete(context.Background(), id, store.Precondition{}) })
}
