package loadtest

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is a grid of text: the first row and the first column are headings.
type table struct {
	title string
	rows  [][]string
	notes []string
}

// WriteTables prints a report as tables like those of the articles.
func WriteTables(w io.Writer, r *Report) error {
	var b strings.Builder
	var tables []table
	switch {
	case r.Kind == findMaxKind:
		tables = append(tables, maximaTable(r), stepsTable(r))
	case len(r.Cells) > 0:
		tables = append(tables, sweepTables(r)...)
	case len(r.Batches) > 0:
		tables = append(tables, batchTables(r)...)
	}
	for i := range tables {
		tables[i].appendTo(&b)
	}
	for _, note := range Notes(r) {
		fmt.Fprintf(&b, "! %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) appendTo(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", t.title)
	widths := make([]int, 0, 16)
	for _, row := range t.rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range t.rows {
		b.WriteByte(' ')
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if i == 0 {
				b.WriteString(" " + text + pad)
			} else {
				b.WriteString("  " + pad + text)
			}
		}
		b.WriteByte('\n')
	}
	for _, note := range t.notes {
		fmt.Fprintf(b, "  %s\n", note)
	}
	b.WriteByte('\n')
}

// sweepTables are those of a run: throughput, ratios, processor time, latency.
func sweepTables(r *Report) []table {
	summaries := Summaries(r)
	lines := Lines(summaries)
	threads := threadsOf(summaries)
	byThreads := func(title string, value func(*Summary) float64, digits int) table {
		t := table{title: title, rows: [][]string{threadHeadings(threads)}}
		for _, line := range lines {
			row := []string{line[0].Workload + " " + line[0].Name()}
			known := false
			for _, n := range threads {
				text := ""
				if i := slices.IndexFunc(line, func(s Summary) bool { return s.Threads == n }); i >= 0 {
					v := value(&line[i])
					text = number(v, digits)
					known = known || !math.IsNaN(v)
				}
				row = append(row, text)
			}
			if known {
				t.rows = append(t.rows, row)
			}
		}
		return t
	}
	tables := []table{byThreads("Operations in a second, by threads"+repeatsText(r), throughput, 1)}
	for _, line := range lines {
		if i := Knee(line); i >= 0 {
			tables[0].notes = append(tables[0].notes, fmt.Sprintf("knee of %s %s: %s; twice as many give less than a tenth more", line[0].Workload, line[0].Name(), threadsText(line[i].Threads)))
		}
	}
	tables = append(tables,
		ratioTable("Throughput, as a ratio of the roads", lines, threads, throughput),
		byThreads("Latency, p50, in milliseconds", func(s *Summary) float64 { return s.Latency.P50 }, 2),
		byThreads("Latency, p99, in milliseconds", func(s *Summary) float64 { return s.Latency.P99 }, 2),
		byThreads("Processor time of the database, in percent of the host", func(s *Summary) float64 { return s.DatabaseCPU }, 1),
		byThreads("Operations in a second for each percent of the host that the database used", (*Summary).PerPoint, 1),
		ratioTable("The same, as a ratio of the roads", lines, threads, (*Summary).PerPoint),
		byThreads("Operations for each second of processor time of "+counted(summaries), func(s *Summary) float64 { return s.PerCPUSecond }, 0),
		byThreads("Processor time of the gateway, in percent of the host", func(s *Summary) float64 { return s.GatewayCPU }, 1),
		byThreads("Processor time of the generator, in percent of the host", func(s *Summary) float64 { return s.GeneratorCPU }, 1),
		byThreads("Busy processors of the host, in percent", func(s *Summary) float64 { return s.HostCPU }, 1),
	)
	return slices.DeleteFunc(tables, func(t table) bool { return len(t.rows) < 2 })
}

// counted names whose processor time is known, of the target.
func counted(summaries []Summary) string {
	for i := range summaries {
		if s := &summaries[i]; !math.IsNaN(s.DatabaseCPU) && math.IsNaN(s.GatewayCPU) {
			return "the database"
		} else if !math.IsNaN(s.DatabaseCPU) {
			return "database and gateway"
		}
	}
	return "the gateway (that of the database is not known)"
}

func maximaTable(r *Report) table {
	t := table{title: "The most that was found", rows: [][]string{{"", "ops/s", "threads", "rate", "p99 ms", ""}}}
	for _, m := range r.Maxima {
		rate := ""
		if m.Rate > 0 {
			rate = number(m.Rate, 0)
		}
		t.rows = append(t.rows, []string{
			m.Workload + " " + Line{m.Workload, m.Backend, m.Variant}.Name(), number(m.Throughput, 1), strconv.Itoa(m.Threads), rate, number(m.P99, 2), m.Stopped,
		})
	}
	return t
}

// stepsTable is every step of a search, in its order.
func stepsTable(r *Report) table {
	t := table{title: "The steps of the search", rows: [][]string{{"", "threads", "asked/s", "ops/s", "p50 ms", "p99 ms"}}}
	for i := range r.Cells {
		c := &r.Cells[i]
		rate := ""
		if c.Rate > 0 {
			rate = number(c.Rate, 0)
		}
		t.rows = append(t.rows, []string{
			c.Workload + " " + Line{c.Workload, c.Backend, c.Variant}.Name(), strconv.Itoa(c.Threads), rate,
			number(c.Throughput, 1), number(c.Latency.P50, 2), number(c.Latency.P99, 2),
		})
	}
	return t
}

func repeatsText(r *Report) string {
	if r.Settings.Repeats > 1 {
		return fmt.Sprintf(" (median of %d)", r.Settings.Repeats)
	}
	return ""
}

func threadsOf(summaries []Summary) []int {
	var threads []int
	for i := range summaries {
		if !slices.Contains(threads, summaries[i].Threads) {
			threads = append(threads, summaries[i].Threads)
		}
	}
	slices.Sort(threads)
	return threads
}

func threadHeadings(threads []int) []string {
	row := []string{""}
	for _, n := range threads {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

func throughput(s *Summary) float64 { return s.Throughput }

// ratioTable divides a number of the first road by that of each other one. It has
// no rows where none is known.
func ratioTable(title string, lines [][]Summary, threads []int, value func(*Summary) float64) table {
	t := table{title: title, rows: [][]string{threadHeadings(threads)}}
	for _, a := range lines {
		for _, b := range lines {
			if a[0].Backend != lines[0][0].Backend || b[0].Backend == a[0].Backend || a[0].Workload != b[0].Workload || b[0].Variant != "" {
				continue
			}
			known := false
			row := []string{fmt.Sprintf("%s %s / %s", a[0].Workload, a[0].Name(), b[0].Name())}
			for _, n := range threads {
				ratio := ratioOf(a, b, n, value)
				known = known || !math.IsNaN(ratio)
				row = append(row, number(ratio, 2))
			}
			if known {
				t.rows = append(t.rows, row)
			}
		}
	}
	return t
}

// Ratio divides the throughputs of two lines at a number of threads; NaN where
// one of them was not measured.
func Ratio(a, b []Summary, threads int) float64 { return ratioOf(a, b, threads, throughput) }

func ratioOf(a, b []Summary, threads int, value func(*Summary) float64) float64 {
	at := func(line []Summary) float64 {
		for i := range line {
			if line[i].Threads == threads {
				return value(&line[i])
			}
		}
		return math.NaN()
	}
	ratio := at(a) / at(b)
	if math.IsInf(ratio, 0) {
		return math.NaN()
	}
	return ratio
}

// number is empty for what is not known.
func number(v float64, digits int) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
