package ndbtest_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// BenchmarkClient is how much a cluster in this process bears, client included.
func BenchmarkClient(b *testing.B) {
	e := newEmployees(b)
	e.fill(b.Context(), b, 1000)
	columns, err := e.table.Select("id", "first", "department")
	if err != nil {
		b.Fatal(err)
	}
	for _, callers := range []int{1, 64} {
		for name, op := range map[string]func(key *ndb.Values, id int64, row *ndb.Row) error{
			"read": func(key *ndb.Values, id int64, row *ndb.Row) error {
				return e.Read(b.Context(), key.Int64(e.id, id), columns, row)
			},
			"update": func(key *ndb.Values, id int64, _ *ndb.Row) error {
				_, err := e.Update(b.Context(), key.Int64(e.id, id).Int64(e.depart, id))
				return err
			},
		} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				b.ReportAllocs()
				for range callers {
					wg.Go(func() { // ends after its part of b.N
						key, row := e.table.NewValues(), ndb.Row{}
						for n := left.Add(-1); n >= 0; n = left.Add(-1) {
							key.Reset()
							if err := op(key, n%1000+1, &row); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
