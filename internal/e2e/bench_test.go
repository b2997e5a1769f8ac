package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// BenchmarkGet compares a read by ID over HTTP with a bare handler that
// returns the same bytes: the difference is what the gateway and the road
// cost. The client, the gateway and the cluster share the machine.
func BenchmarkGet(b *testing.B) {
	g := serve(b, cluster(b))
	path := fmt.Sprintf("/v1/employees/%d", firstID)
	stored := g.do("PUT", path, `{"first":"Ada","last":"Lovelace","city":"London","started":"2020-01-02","department":2}`)
	b.Cleanup(func() { g.do("DELETE", path, "") })
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, stored.body)
	}))
	b.Cleanup(bare.Close)

	for _, connections := range []int{1, 8, 64} {
		for _, target := range []struct{ name, url string }{{"bare", bare.URL}, {"sql", g.url + path}} {
			b.Run(fmt.Sprintf("connections=%d/%s", connections, target.name), func(b *testing.B) {
				b.SetParallelism(max(1, connections/runtime.GOMAXPROCS(0)))
				if connections == 1 {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						get(b, target.url, stored.body)
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			})
		}
	}
}

func get(b *testing.B, url, want string) {
	resp, err := client.Get(url)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != want {
		b.Errorf("got %d %q, %v", resp.StatusCode, body, err)
	}
}
