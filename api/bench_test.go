package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// discard is a ResponseWriter that costs little itself.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// BenchmarkHandler is the whole handler over memstore: what HTTP costs before
// any road.
func BenchmarkHandler(b *testing.B) {
	const row = `{"first":"Ada","last":"Lovelace","city":"London","started":"2020-01-02","department":2}`
	run := func(name, method, path, body string) {
		b.Run(name, func(b *testing.B) {
			backends := store.NewRegistry("memory")
			backends.Add("memory", &memstore.Store{})
			router := New(backends, Options{})
			do := func(method, path, body string) int {
				r := httptest.NewRequest(method, path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := discard{header: http.Header{}}
				router.ServeHTTP(&w, r)
				return w.status
			}
			if got := do("PUT", "/v1/employees/1", row); got != http.StatusCreated {
				b.Fatalf("the row: got %d", got)
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := do(method, path, body); got != http.StatusOK {
					b.Fatalf("got %d", got)
				}
			}
		})
	}
	run("Save", "PUT", "/v1/employees/1", row)
	run("Get", "GET", "/v1/employees/1", "")
	run("Patch", "PATCH", "/v1/employees/1", `{"first":"Ada","last":"King"}`)
	run("List", "GET", "/v1/employees?city=London", "")
}

// BenchmarkBatchCreate is a batch over memstore, whose rows are replaced: what HTTP
// costs for each item.
func BenchmarkBatchCreate(b *testing.B) {
	var items strings.Builder
	for i := range 10_000 {
		if i > 0 {
			items.WriteByte(',')
		}
		fmt.Fprintf(&items, `{"id":%d,"first":"Ada","last":"Lovelace","city":"London","started":"2020-01-02","department":2}`, i+1)
	}
	body := `{"employees":[` + items.String() + `]}`
	b.ReportAllocs()
	for b.Loop() {
		backends := store.NewRegistry("memory")
		backends.Add("memory", &memstore.Store{})
		r := httptest.NewRequest(http.MethodPost, pathBatchCreate, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if New(backends, Options{}).ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
	b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "items/s")
}
