package e2e

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkIdempotency compares creates without a key, with one, and those that get
// a kept answer, by each road. All share the machine: what counts is the ratio
// within a run.
func BenchmarkIdempotency(b *testing.B) {
	dsns := cluster(b)
	g := serve(b, dsns)
	clear := func() { clearBench(b, dsns) }
	clear()
	b.Cleanup(clear)
	for _, connections := range []int{1, 16} {
		for _, road := range roads {
			for _, kind := range []string{"without", "first", "again"} {
				b.Run(fmt.Sprintf("connections=%d/%s/%s", connections, road, kind), func(b *testing.B) {
					run := fmt.Sprintf("bench-%x", rand.Uint64())
					post := func(c *benchClient, id int64) { postOnce(c, id, road, run, kind != "without") }
					if kind == "again" {
						each(b, g, connections, b.N, post)
					}
					b.Cleanup(clear)
					b.ResetTimer()
					each(b, g, connections, b.N, post)
					b.StopTimer()
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
				})
			}
		}
	}
}

func postOnce(c *benchClient, id int64, road, run string, withKey bool) {
	r, err := http.NewRequest(http.MethodPost, c.url+"/v1/employees", strings.NewReader(benchEmployee(id)))
	if err != nil {
		c.b.Error(err)
		return
	}
	r.Header.Set("X-Backend", road)
	r.Header.Set("Content-Type", "application/json")
	if withKey {
		r.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%d", run, id))
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.b.Error(err)
		return
	}
	defer resp.Body.Close()
	c.read.Reset()
	if _, err := c.read.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusCreated {
		c.b.Errorf("by %s: got %d %s (%v)", road, resp.StatusCode, c.read.String(), err)
	}
}

// clearBench removes the rows of the benchmark past the gateway.
func clearBench(b *testing.B, dsns string) {
	b.Helper()
	db, err := sql.Open("mysql", strings.Fields(dsns)[0])
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"DELETE FROM idempotency WHERE idempotency_key LIKE 'bench-%' LIMIT 1000",
		fmt.Sprintf("DELETE FROM employee WHERE id BETWEEN %d AND %d LIMIT 1000", benchFirstID, benchFirstID+10_000_000),
	} {
		for left := int64(1); left > 0; {
			result, err := db.Exec(statement)
			if err != nil {
				b.Fatal(err)
			}
			if left, err = result.RowsAffected(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
