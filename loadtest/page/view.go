package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
)

// view is what the page shows.
type view struct {
	Title     string
	Subtitle  string
	Style     template.CSS
	Complete  bool
	EndedBy   string
	Tiles     []tile // the numbers that count
	Notes     []string
	Sections  []section
	Maxima    grid // of a search
	Lines     grid // of a report with one number of threads: what charts by threads would show
	Facts     []fact
	Cells     grid
	Processes grid
	Checks    grid

	report    *loadtest.Report
	classes   lineClasses
	lines     [][]loadtest.Summary
	workloads []string
	threads   []int
}

// tile is one number that counts.
type tile struct {
	Label, Value, Unit, Detail string
}

type fact struct{ Name, Value string }

func newView(r *loadtest.Report) *view {
	v := &view{report: r, Style: template.CSS(style), Complete: r.EndedBy == loadtest.Complete, EndedBy: r.EndedBy, Title: r.Title}
	if v.Title == "" {
		v.Title = "Load test of " + strings.Join(r.Settings.Backends, " and ")
	}
	v.Subtitle = fmt.Sprintf("%s, %s", r.Began.Format("2 January 2006, 15:04"), durationText(r.Ended.Sub(r.Began)))
	for _, name := range r.Settings.Backends {
		v.classes.of(loadtest.Line{Backend: name})
	}
	v.lines = loadtest.Lines(loadtest.Summaries(r))
	for _, line := range v.lines {
		if !slices.Contains(v.workloads, line[0].Workload) {
			v.workloads = append(v.workloads, line[0].Workload)
		}
		for i := range line {
			if !slices.Contains(v.threads, line[i].Threads) {
				v.threads = append(v.threads, line[i].Threads)
			}
		}
	}
	slices.Sort(v.threads)
	v.Notes = loadtest.Notes(r)
	if len(r.Cells) > 0 {
		v.Tiles = v.tiles()
		v.Maxima = v.maximaGrid()
		v.addSections()
		v.Cells = v.cellsGrid()
	}
	if len(r.Batches) > 0 {
		v.addBatches()
	}
	v.Processes = v.processesGrid()
	v.Facts = v.facts()
	v.Checks = v.checksGrid()
	return v
}

func (v *view) addSections() {
	add := func(title, text string, figures []figure) {
		if len(figures) > 0 {
			v.Sections = append(v.Sections, section{title, text, figures})
		}
	}
	if len(v.threads) == 1 {
		v.Lines = v.linesGrid()
		add("Over time", "The first repeat, while it ran.", v.overTime(true))
		add("Latency by percentile", "How long the rarer, slower operations took. Both scales are by powers of ten.", v.distributions())
		return
	}
	add("Throughput by threads", "Operations in a second. Thin lines show the slowest and the fastest repeat; a ring marks the knee, from which on twice the threads give less than a tenth more.",
		v.byThreads(measure{id: "throughput", title: "Throughput", yLabel: "operations in a second", value: func(s *loadtest.Summary) float64 { return s.Throughput }, whiskers: true, knee: true, readout: ratioReadout}))
	add("Processor time of the database by threads", "All data nodes and mysqlds, in percent of all processors of the host.",
		v.byThreads(measure{id: "cpu", title: "Processor time of the database", yLabel: "percent of the host", value: func(s *loadtest.Summary) float64 { return s.DatabaseCPU }}))
	add("What a percent of the host is good for", "Operations in a second for each percent of the host that the database used.",
		v.byThreads(measure{id: "efficiency", title: "Operations in a second for each percent", yLabel: "operations in a second, for each percent", value: (*loadtest.Summary).PerPoint}))
	add("Latency by threads", "The 99th percentile: one of a hundred operations took longer. The scale is by powers of ten.",
		v.byThreads(measure{id: "p99", title: "Latency, p99", yLabel: "milliseconds", yLog: true, value: func(s *loadtest.Summary) float64 {
			if s.Latency.Count == 0 {
				return math.NaN()
			}
			return s.Latency.P99
		}}))
	add("Latency by percentile", "How long the rarer, slower operations took. Both scales are by powers of ten.", v.distributions())
	add("Over time", "The first repeat, while it ran: a dip in the middle shows here and nowhere else.", v.overTime(false))
}

// maximaGrid is the most of each road.
func (v *view) maximaGrid() grid {
	g := grid{Caption: "The most that was found", Head: []string{"", "ops/s", "threads", "asked/s", "p99 ms", "why no more"}}
	for _, m := range v.report.Maxima {
		line := loadtest.Line{Workload: m.Workload, Backend: m.Backend, Variant: m.Variant}
		rate := "–"
		if m.Rate > 0 {
			rate = group(m.Rate)
		}
		g.Rows = append(g.Rows, []string{m.Workload + " " + line.Name(), group(m.Throughput), whole(m.Threads), rate, group(m.P99), m.Stopped})
	}
	return g
}

// linesGrid is one row for each workload and road.
func (v *view) linesGrid() grid {
	g := grid{
		Caption: "With " + threadsText(v.threads[0]),
		Head:    []string{"", "ops/s", "mean ms", "p50", "p95", "p99", "p99.9", "max", "failed", "late", "dropped", "database %", "host %", "ops/CPU s"},
	}
	for _, line := range v.lines {
		for i := range line {
			s := &line[i]
			name := s.Workload + " " + s.Name()
			if s.Rate > 0 {
				name += ", " + group(s.Rate) + "/s"
			}
			row := []string{name, group(s.Throughput)}
			for _, ms := range []float64{s.Latency.Mean, s.Latency.P50, s.Latency.P95, s.Latency.P99, s.Latency.P999, s.Latency.Max} {
				row = append(row, group(ms))
			}
			g.Rows = append(g.Rows, append(row, whole(int(s.Failed)), whole(int(s.Late)), whole(int(s.Dropped)), group(s.DatabaseCPU), group(s.HostCPU), group(s.PerCPUSecond)))
		}
	}
	return g
}

// tiles are the best throughput of each workload; at a fixed rate, which has
// none, p99 of each road.
func (v *view) tiles() []tile {
	var tiles []tile
	if v.report.Settings.Rate > 0 && v.report.Kind != "find-max" {
		for _, line := range v.lines {
			s := &line[len(line)-1]
			tiles = append(tiles, tile{
				Label: s.Workload + " " + s.Name(), Value: group(s.Latency.P99), Unit: "ms",
				Detail: fmt.Sprintf("p99 at %s/s, p50 %s ms, %s failed", group(s.Rate), group(s.Latency.P50), whole(int(s.Failed))),
			})
		}
		return tiles
	}
	for _, workload := range v.workloads {
		var best *loadtest.Summary
		for _, line := range v.lines {
			for i := range line {
				if s := &line[i]; s.Workload == workload && (best == nil || s.Throughput > best.Throughput) {
					best = s
				}
			}
		}
		tiles = append(tiles, tile{
			Label: workload, Value: group(best.Throughput), Unit: "/s",
			Detail: fmt.Sprintf("%s, %s, p99 %s ms", best.Name(), threadsText(best.Threads), group(best.Latency.P99)),
		})
	}
	return tiles
}

func (v *view) facts() []fact {
	r := v.report
	s := r.Settings
	facts := []fact{{"Reached", wayText(s.Way)}}
	if r.Kind == "batch" {
		facts = append(facts, fact{"Batches", fmt.Sprintf("%d of each writer, one after the other; the rows are deleted after each cell", s.Repeats)})
	} else {
		facts = append(facts,
			fact{"Loop", loopText(&s)},
			fact{"Cells", fmt.Sprintf("%s measured, %s warm-up, %d repeats", seconds(s.Seconds), seconds(s.Warmup), s.Repeats)},
			fact{"Rows", fmt.Sprintf("%s, keys %s, seed %d", group(float64(s.Rows)), s.Keys, s.Seed)})
	}
	facts = append(facts, []fact{
		{"Host", fmt.Sprintf("%d processors, %s, %s MB, %s/%s %s", r.Host.CPUs, orUnknown(r.Host.CPU), group(float64(r.Host.MemoryMB)), r.Host.OS, r.Host.Arch, r.Host.Kernel)},
		{"loadtest", fmt.Sprintf("%s, commit %s, %s", r.Tool.Version, orUnknown(r.Tool.Commit), r.Tool.Go)},
	}...)
	if len(r.Command) > 0 {
		facts = append(facts, fact{"Command", strings.Join(r.Command, " ")})
	}
	return facts
}

func wayText(way string) string {
	switch way {
	case "http":
		return "over HTTP, by a gateway"
	case "direct":
		return "directly, in the process of the generator"
	case "http and direct":
		return "over HTTP, by a gateway, and directly, in the process of the generator"
	case "null":
		return "nothing: what was measured is the generator itself"
	default:
		return way
	}
}

func loopText(s *loadtest.Settings) string {
	if s.Rate > 0 {
		return fmt.Sprintf("open, %s operations in a second (%s), latency from the scheduled time", group(s.Rate), s.Arrivals)
	}
	return "closed: each thread waits for its answer"
}

func seconds(s float64) string { return trim(s, 3) + " s" }

// durationText is as exact as people want it.
func durationText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return trim(d.Seconds(), 1) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

func (v *view) cellsGrid() grid {
	g := grid{
		Caption: "Every cell, in the order of the run",
		Head:    []string{"cell", "threads", "repeat", "ops/s", "mean ms", "p50", "p95", "p99", "p99.9", "max", "failed", "database %", "host %", "ops/CPU s"},
	}
	open := slices.ContainsFunc(v.report.Cells, func(c loadtest.Cell) bool { return c.Rate > 0 })
	if open {
		g.Head = append(g.Head, "asked/s", "late", "dropped")
	}
	for i := range v.report.Cells {
		c := &v.report.Cells[i]
		line := loadtest.Line{Workload: c.Workload, Backend: c.Backend, Variant: c.Variant}
		var failed int64
		for _, e := range c.Errors {
			failed += e.Count
		}
		s := loadtest.Summaries(&loadtest.Report{Cells: []loadtest.Cell{*c}})[0]
		row := []string{c.Workload + " " + line.Name(), strconv.Itoa(c.Threads), strconv.Itoa(c.Repeat), group(c.Throughput)}
		for _, ms := range []float64{c.Latency.Mean, c.Latency.P50, c.Latency.P95, c.Latency.P99, c.Latency.P999, c.Latency.Max} {
			row = append(row, group(ms))
		}
		row = append(row, strconv.FormatInt(failed, 10), group(s.DatabaseCPU), group(s.HostCPU), group(s.PerCPUSecond))
		if open {
			row = append(row, group(c.Rate), strconv.FormatInt(c.Late, 10), strconv.FormatInt(c.Dropped, 10))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func (v *view) checksGrid() grid {
	g := grid{Caption: "The rows, looked at by every road", Head: []string{"when", "road", "rows", "wanted", "sampled", "checksum of the sample", "problems"}}
	for _, c := range v.report.Verifications {
		problems := "none"
		if len(c.Problems) > 0 {
			problems = strings.Join(c.Problems, "; ")
		}
		g.Rows = append(g.Rows, []string{c.When, c.Backend, strconv.FormatInt(c.Rows, 10), strconv.FormatInt(c.Wanted, 10), strconv.Itoa(c.Sampled), c.Checksum[:min(12, len(c.Checksum))], problems})
	}
	return g
}
