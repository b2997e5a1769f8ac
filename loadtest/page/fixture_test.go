package page_test

import (
	"math"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
)

// articleReport is a run like the first article's, with the numbers of its
// tables, and all that a page may have to show.
func articleReport() *loadtest.Report {
	threads := []int{1, 2, 4, 8, 16, 32, 64}
	latencies := map[int]loadtest.Latency{}
	began := time.Date(2026, time.November, 30, 9, 30, 0, 0, time.UTC)
	r := &loadtest.Report{
		Format: loadtest.Format, Title: "Two roads into NDB Cluster, by threads", Kind: "run", Began: began, Ended: began.Add(37 * time.Minute), EndedBy: loadtest.Complete,
		Tool:     loadtest.Tool{Version: "v1.2.3", Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.26.8"},
		Host:     loadtest.Host{OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPUs: 4, CPU: "Some Processor @ 2.80GHz", MemoryMB: 12000},
		Settings: loadtest.Settings{Way: "http", Backends: []string{"ndb", "sql"}, Threads: threads, Seconds: 10, Warmup: 3, Repeats: 2, Rows: 10000, Seed: 1, Keys: "uniform", Article: true},
		Command:  []string{"loadtest", "run", "--target", "http://127.0.0.1:8080", "--scenario", "article-1"},
	}
	for _, line := range []struct {
		workload, backend string
		variant           loadtest.Variant
		tps, cpu          []float64
	}{
		{"insert", "ndb", "", []float64{785.5, 1910.4, 4379.1, 8067.3, 14347.7, 23840.8, 32547.4}, []float64{5.5, 9.5, 18.5, 24.3, 28, 32, 35}},
		{"insert", "sql", "", []float64{443.2, 1051.3, 2546.3, 5187.9, 9304.8, 14925.8, 21054.6}, []float64{3.8, 7, 12.5, 20, 25, 28.8, 40}},
		{"select", "ndb", "", []float64{2513.3, 5834.3, 10168.1, 19461.6, 31622.1, 39215.3, 42834.8}, []float64{4, 7, 10, 15, 18.3, 19, 16.3}},
		{"select", "sql", "", []float64{1013.1, 2345.4, 5555.3, 10550.4, 16860.4, 21452.9, 23496.7}, []float64{8.5, 14.5, 26.3, 45, 67.5, 80, 85}},
		{"update", "ndb", "", []float64{1022.4, 2494.4, 5905.4, 10412.4, 18137.7, 26443.7, 28056.1}, []float64{8.5, 16, 18, 24.5, 28.8, 33.8, 37.5}},
		{"update", "ndb", loadtest.FindFirst, []float64{522.4, 1294.4, 3105.4, 5512.4, 9937.7, 16443.7, 24056.1}, []float64{8.5, 16, 18, 24.5, 28.8, 33.8, 37.5}},
		{"update", "sql", "", []float64{521.3, 1193.1, 2717.2, 5618.7, 10418, 16751, 23039.1}, []float64{3, 6, 12.5, 23.8, 40, 65, 77.5}},
		{"delete", "ndb", "", []float64{572.5, 1436.9, 3284.2, 5940.7, 10827.8, 17632.7, 25755.6}, []float64{5.5, 11.3, 16, 23.5, 27, 31.3, 38.3}},
		{"delete", "sql", "", []float64{551.3, 1223.6, 2851.6, 5991.4, 10945, 17887.7, 24930.1}, []float64{2.8, 6, 12.5, 23.3, 37.3, 57.5, 70}},
	} {
		for repeat := range 2 {
			for i, n := range threads {
				c := loadtest.Cell{
					Workload: line.workload, Backend: line.backend, Variant: line.variant, Threads: n, Repeat: repeat + 1,
					Began: began.Add(time.Duration(len(r.Cells)) * 13 * time.Second), Seconds: 10, Throughput: line.tps[i] * (1 + 0.05*float64(repeat)),
					HostCPU: min(line.cpu[i]*2, 100),
					CPU: []loadtest.CPU{
						{Name: "data node 2", Seconds: line.cpu[i] / 5, Percent: line.cpu[i] / 2},
						{Name: "data node 3", Seconds: line.cpu[i] / 5, Percent: line.cpu[i] / 2},
						{Name: "gateway", Seconds: 4, Percent: 10},
						{Name: "generator", Seconds: 2, Percent: 5},
					},
				}
				c.Ops = int64(c.Throughput * 10)
				if _, known := latencies[i]; !known { // they take time to make
					latencies[i] = loadtest.LatencyFor(2000, func(j int) time.Duration {
						base := float64(n) / c.Throughput * 1e9
						return time.Duration(base * (0.6 + 3*math.Pow(float64(j%1000)/1000, 8)))
					})
				}
				c.Latency = latencies[i]
				for t := range 40 {
					p := loadtest.Point{At: float64(t) / 4, OpsPerSecond: c.Throughput * (1 + 0.1*math.Sin(float64(t))), P50: c.Latency.P50, P99: c.Latency.P99 * (1 + 0.3*math.Cos(float64(t))), HostCPU: 50, DatabaseCPU: line.cpu[i]}
					if t >= 18 && t < 21 {
						p.OpsPerSecond = 0
					}
					c.Series = append(c.Series, p)
				}
				r.Cells = append(r.Cells, c)
			}
		}
	}
	r.Cells[3].Errors = []loadtest.ErrorCount{{Kind: "unavailable", Count: 12, Example: "status 503: <the road> cannot serve"}}
	r.Cells[5].Notes = []loadtest.Note{{Kind: loadtest.GeneratorShares, Text: "the generator was part of the bottleneck: the host was 97 % busy, and it used 35 % of that", Value: 0.35}}
	r.Events = []loadtest.Event{{Name: "kill node 3", Cell: 6, Since: 4.5}, {Name: "start node 3", Cell: 6, Since: 9.6}}
	r.Verifications = []loadtest.Verification{
		{When: "before", Backend: "ndb", Rows: 10000, Wanted: 10000, Sampled: 500, Checksum: "0123456789abcdef"},
		{When: "after", Backend: "sql", Rows: 9999, Wanted: 10000, Sampled: 500, Checksum: "fedcba9876543210", Problems: []string{"row 7 is not there"}},
	}
	return r
}

// batchReport is one like the second article's.
func batchReport() *loadtest.Report {
	began := time.Date(2026, time.November, 30, 11, 0, 0, 0, time.UTC)
	r := &loadtest.Report{
		Format: loadtest.Format, Kind: "batch", Began: began, Ended: began.Add(9 * time.Minute), EndedBy: "interrupted",
		Host:     loadtest.Host{OS: "linux", Arch: "amd64", CPUs: 2},
		Settings: loadtest.Settings{Way: "direct", Backends: []string{"ndb", "sql"}, Repeats: 5, Seed: 1},
	}
	for _, line := range []struct {
		backend, way, engine string
		millis               float64 // of a row
	}{{"ndb", "one transaction", "NDB", 0.04}, {"sql", "one transaction", "NDB", 0.11}, {"sql", "row by row", "NDB", 1.9}, {"sql", "one transaction", "InnoDB", 0.05}, {"sql", "row by row", "InnoDB", 0.2}} {
		for _, writers := range []int{1, 2} {
			for _, size := range []int{100, 1000, 10000, 50000} {
				ms := line.millis * float64(size)
				b := loadtest.Batch{Backend: line.backend, Way: line.way, Engine: line.engine, Size: size, Writers: writers, Wall: 5 * ms, Rows: int64(5 * size * writers), HostCPU: 80}
				for range writers {
					b.Runs = append(b.Runs, []float64{ms, ms, ms * 1.1, ms * 0.9, ms})
				}
				if size == 50000 && writers == 2 {
					b.Runs, b.Rows, b.Error = nil, 0, "more than one transaction may hold: 32768 items, by MaxNoOfConcurrentOperations"
				}
				r.Batches = append(r.Batches, b)
			}
		}
	}
	return r
}

// killReport is one long cell by each road, with a node that goes and comes.
func killReport() *loadtest.Report {
	r := articleReport()
	r.Title = "A data node is killed and comes back"
	r.Cells = []loadtest.Cell{r.Cells[6], r.Cells[20]}
	for i := range r.Cells {
		r.Cells[i].Repeat = 1
	}
	r.Events = []loadtest.Event{{Name: "kill node 3", Cell: 0, Since: 4.5}, {Name: "start node 3", Cell: 0, Since: 9.6}}
	r.EndedBy = "the target does not serve any more: nothing was done for 5s: connection refused"
	return r
}
