package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/ndbgate/ndbgate/loadtest"
)

// overTime draws how throughput and p99 went on during the cells with the most
// threads, first repeat. Wide charts take the width of the page.
func (v *view) overTime(wide bool) []figure {
	var figures []figure
	for _, workload := range v.workloads {
		cells := v.longest(workload)
		if len(cells) == 0 {
			continue
		}
		title := fmt.Sprintf("%s, %s", workload, threadsText(cells[0].Threads))
		rate := v.timeChart("Operations in a second over time: "+title, "operations in a second", cells, func(p *loadtest.Point) float64 { return p.OpsPerSecond })
		p99 := v.timeChart("p99 over time: "+title, "milliseconds", cells, func(p *loadtest.Point) float64 {
			if p.OpsPerSecond == 0 {
				return math.NaN() // nothing ended
			}
			return p.P99
		})
		rate.wide, p99.wide = wide, wide
		id := "time-" + slug(workload)
		figures = append(figures,
			figure{ID: id, Title: title + ": throughput", SVG: rate.svg(id), Legend: legendOf(rate.lines), Table: timeTable(rate), Wide: wide},
			figure{ID: id + "-p99", Title: title + ": p99", SVG: p99.svg(id + "-p99"), Legend: legendOf(p99.lines), Table: timeTable(p99), Wide: wide})
	}
	return figures
}

// longest are the cells of a workload with the most threads, one for each line.
func (v *view) longest(workload string) []*loadtest.Cell {
	most := 0
	for i := range v.report.Cells {
		if c := &v.report.Cells[i]; c.Workload == workload {
			most = max(most, c.Threads)
		}
	}
	var cells []*loadtest.Cell
	for i := range v.report.Cells {
		c := &v.report.Cells[i]
		first := !slices.ContainsFunc(cells, func(other *loadtest.Cell) bool { return other.Backend == c.Backend && other.Variant == c.Variant })
		if c.Workload == workload && c.Threads == most && len(c.Series) > 1 && first {
			cells = append(cells, c)
		}
	}
	// In the order of all other charts: roads take turns to be first.
	place := func(c *loadtest.Cell) int {
		of := loadtest.Line{Workload: c.Workload, Backend: c.Backend, Variant: c.Variant}
		return slices.IndexFunc(v.lines, func(line []loadtest.Summary) bool { return line[0].Line == of })
	}
	slices.SortFunc(cells, func(a, b *loadtest.Cell) int { return place(a) - place(b) })
	return cells
}

func (v *view) timeChart(title, yLabel string, cells []*loadtest.Cell, value func(*loadtest.Point) float64) *chart {
	c := &chart{title: title, xLabel: "seconds", yLabel: yLabel, xTick: short, yTick: short}
	longest := 0.0
	for _, cell := range cells {
		name := loadtest.Line{Workload: cell.Workload, Backend: cell.Backend, Variant: cell.Variant}
		l := line{name: name.Name(), class: v.classes.of(name), knee: -1}
		for i := range cell.Series {
			p := &cell.Series[i]
			l.xs, l.ys = append(l.xs, p.At), append(l.ys, value(p))
			longest = max(longest, p.At)
		}
		c.lines = append(c.lines, l)
		index := slices.IndexFunc(v.report.Cells, func(other loadtest.Cell) bool { return other.Began.Equal(cell.Began) })
		for _, e := range v.report.Events {
			if e.Cell == index {
				c.markers = append(c.markers, marker{e.Since, e.Name})
			}
		}
	}
	for _, tick := range linearTicks(longest) {
		if tick <= longest {
			c.xTicks = append(c.xTicks, tick)
		}
	}
	return c
}

// timeTable has at most 60 rows: of more points, every second or third, ...
func timeTable(c *chart) grid {
	g := grid{Caption: c.title, Head: []string{"seconds"}}
	longest := &c.lines[0]
	for i := range c.lines {
		g.Head = append(g.Head, c.lines[i].name)
		if len(c.lines[i].xs) > len(longest.xs) {
			longest = &c.lines[i]
		}
	}
	step := len(longest.xs)/60 + 1
	for i := 0; i < len(longest.xs); i += step {
		row := []string{trim(longest.xs[i], 2)}
		for _, l := range c.lines {
			text := "–"
			if i < len(l.ys) {
				text = group(l.ys[i])
			}
			row = append(row, text)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}
