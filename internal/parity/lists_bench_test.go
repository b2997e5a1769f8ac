package parity

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"testing"
)

// BenchmarkLists asks for pages out of 100,000 rows by each road, one request
// after another and by several callers at once, the HTTP handler included.
func BenchmarkLists(b *testing.B) {
	const rows, callersOfOneCPU = 100_000, 4
	needCluster(b)
	twin := realTwins(b, &Tables()[0])[0]
	(&writer{rand.New(rand.NewPCG(1, 0))}).insertRows(b, twin, rows)
	sides := newSides("only", twin)
	for _, c := range []struct {
		name  string
		query url.Values
	}{
		{"one by id", url.Values{"id": {"4711"}}},
		{"few by ids", url.Values{"filter": {"in(id, 1, 10, 100, 1000, 10000)"}}},
		{"page of 100 by id", url.Values{"filter": {"id > 50000"}}},
		{"page of 100, two fields", url.Values{"filter": {"id > 50000"}, "fields": {"first,last"}}},
		{"page of 100 of a city", url.Values{"city": {"Tromsø"}}},
		{"page of 100 in the order of cities", url.Values{"filter": {`city >= "M"`}, "order_by": {"city,id"}}},
		{"page of 100 of a filter", url.Values{"filter": {`department = 7 AND (first = "a*" OR ended = null)`}}},
		{"first 100 by last name", url.Values{"order_by": {"last,first"}}},
		{"count of a filter", url.Values{"filter": {`department = 7 AND first = "a*"`}, "count": {"true"}, "page_size": {"0"}}},
		{"count of all", url.Values{"count": {"true"}, "page_size": {"0"}}},
	} {
		for _, side := range sides {
			ask := func(b *testing.B) {
				r := httptest.NewRequestWithContext(b.Context(), "GET", "/v1/employees?"+c.query.Encode(), nil)
				r.Header.Set("X-Backend", side.road)
				w := httptest.NewRecorder()
				if side.handler.ServeHTTP(w, r); w.Code != 200 {
					b.Fatalf("got %d %s", w.Code, w.Body)
				}
			}
			b.Run(fmt.Sprintf("%s/one/%s", c.name, side.road), func(b *testing.B) {
				for b.Loop() {
					ask(b)
				}
			})
			b.Run(fmt.Sprintf("%s/several/%s", c.name, side.road), func(b *testing.B) {
				b.SetParallelism(callersOfOneCPU)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						ask(b)
					}
				})
			})
		}
	}
}
