package loadtest

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes one line for each cell, or each batch, with a heading.
func WriteCSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	if r.Kind == batchKind {
		return out.WriteAll(batchRows(r))
	}
	rows := [][]string{{
		"workload", "backend", "variant", "threads", "rate", "repeat", "began", "seconds", "ops", "rows", "ops_per_second",
		"mean_ms", "p50_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms", "failed", "late", "dropped", "service_p50_ms", "service_p99_ms",
		"database_cpu_percent", "gateway_cpu_percent", "generator_cpu_percent", "host_cpu_percent", "ops_per_cpu_second", "cpu_seconds", "partial", "notes",
	}}
	for i := range r.Cells {
		rows = append(rows, csvRow(&r.Cells[i]))
	}
	return out.WriteAll(rows)
}

func batchRows(r *Report) [][]string {
	rows := [][]string{{"backend", "way", "engine", "rows_per_commit", "writers", "writer", "batch", "ms", "rows_per_second", "error"}}
	for i := range r.Batches {
		b := &r.Batches[i]
		for writer, runs := range b.Runs {
			for n, ms := range runs {
				rows = append(rows, []string{
					b.Backend, b.Way, b.Engine, strconv.Itoa(b.Size), strconv.Itoa(b.Writers), strconv.Itoa(writer + 1), strconv.Itoa(n + 1),
					number(ms, 3), number(b.RowsPerSecond(), 1), b.Error,
				})
			}
		}
	}
	return rows
}

func csvRow(c *Cell) []string {
	s := summarize(Line{c.Workload, c.Backend, c.Variant}, []*Cell{c})
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	row := []string{
		c.Workload, c.Backend, string(c.Variant), strconv.Itoa(c.Threads), number(c.Rate, 1), strconv.Itoa(c.Repeat),
		c.Began.UTC().Format(time.RFC3339Nano), number(c.Seconds, 3), whole(c.Ops), whole(c.Rows), number(c.Throughput, 2),
	}
	for _, ms := range []float64{c.Latency.Mean, c.Latency.P50, c.Latency.P95, c.Latency.P99, c.Latency.P999, c.Latency.Max} {
		row = append(row, number(ms, 4))
	}
	row = append(row, whole(s.Failed), whole(c.Late), whole(c.Dropped))
	if c.Service == nil {
		row = append(row, "", "")
	} else {
		row = append(row, number(c.Service.P50, 4), number(c.Service.P99, 4))
	}
	for _, percent := range []float64{s.DatabaseCPU, s.GatewayCPU, s.GeneratorCPU, s.HostCPU} {
		row = append(row, number(percent, 2))
	}
	// Processes are not the same everywhere, so that one column has them all.
	var each, notes []string
	for _, use := range c.CPU {
		if use.Unknown == "" {
			each = append(each, use.Name+"="+number(use.Seconds, 3))
		}
	}
	for _, n := range c.Notes {
		notes = append(notes, n.Text)
	}
	return append(row, number(s.PerCPUSecond, 1), strings.Join(each, "; "), c.Partial, strings.Join(notes, "; "))
}
