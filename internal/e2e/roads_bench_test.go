package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkRoads compares the roads end to end: each operation by 1 to 64
// connections, one road after the other. The client, the gateway and the cluster
// share the machine, so what counts is the ratio within a run.
func BenchmarkRoads(b *testing.B) {
	g := serve(b, cluster(b))
	for _, op := range []roadOp{
		{name: "get", loaded: true, method: http.MethodGet, want: http.StatusOK},
		{name: "create", method: http.MethodPost, body: benchEmployee, want: http.StatusCreated},
		{name: "patch", loaded: true, method: http.MethodPatch, body: func(id int64) string { return fmt.Sprintf(`{"department":%d}`, id%1000+1) }, want: http.StatusOK},
		{name: "delete", loaded: true, method: http.MethodDelete, want: http.StatusNoContent},
	} {
		for _, connections := range []int{1, 2, 4, 8, 16, 32, 64} {
			for _, road := range []string{"ndb", "sql"} {
				b.Run(fmt.Sprintf("%s/connections=%d/%s", op.name, connections, road), func(b *testing.B) {
					op.run(b, g, connections, road)
				})
			}
		}
	}
}

// roadOp is an operation on a row of its own.
type roadOp struct {
	name   string
	loaded bool // the row is there before
	method string
	body   func(id int64) string
	want   int
}

func benchEmployee(id int64) string {
	return fmt.Sprintf(`{"id":%d,"first":"Ada","last":"Lovelace","city":"London","started":"2020-01-02","department":2}`, id)
}

const benchFirstID = firstID + 50_000_000

func (op roadOp) run(b *testing.B, g *gateway, connections int, road string) {
	rows := func(method string, want int) {
		each(b, g, 32, b.N, func(c *benchClient, id int64) { c.do(method, "/v1/employees", id, benchEmployee, "ndb", want) })
	}
	if op.loaded {
		rows(http.MethodPost, http.StatusCreated)
	}
	if op.method != http.MethodDelete {
		b.Cleanup(func() { rows(http.MethodDelete, http.StatusNoContent) })
	}
	b.ResetTimer()
	each(b, g, connections, b.N, func(c *benchClient, id int64) { c.do(op.method, "/v1/employees", id, op.body, road, op.want) })
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// each calls f for n IDs, spread over so many connections.
func each(b *testing.B, g *gateway, connections, n int, f func(c *benchClient, id int64)) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var next atomic.Int64
	var running sync.WaitGroup
	for range connections {
		running.Go(func() { // ends after n IDs
			c := &benchClient{b: b, url: g.url, http: &http.Client{Transport: transport}}
			for i := next.Add(1); i <= int64(n) && !b.Failed(); i = next.Add(1) {
				f(c, benchFirstID+i)
			}
		})
	}
	running.Wait()
}

type benchClient struct {
	b    *testing.B
	url  string
	http *http.Client
	read bytes.Buffer
}

func (c *benchClient) do(method, path string, id int64, body func(int64) string, road string, want int) {
	var content io.Reader
	if method != http.MethodPost {
		path = fmt.Sprintf("%s/%d", path, id)
	}
	if body != nil && method != http.MethodDelete {
		content = bytes.NewBufferString(body(id))
	}
	r, err := http.NewRequest(method, c.url+path, content)
	if err != nil {
		c.b.Error(err)
		return
	}
	r.Header.Set("X-Backend", road)
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.b.Error(err)
		return
	}
	defer resp.Body.Close()
	c.read.Reset()
	if _, err := c.read.ReadFrom(resp.Body); err != nil || resp.StatusCode != want {
		c.b.Errorf("%s %s by %s: got %d %s (%v), want %d", method, path, road, resp.StatusCode, c.read.String(), err, want)
	}
}
