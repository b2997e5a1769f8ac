package page

import (
	"fmt"
	"math"

	"github.com/ndbgate/ndbgate/loadtest"
)

// percentiles are those of the distribution charts.
var percentiles = []float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}

// distributions draw latency by percentile, for the most threads: the rarer the
// operations, the further right.
func (v *view) distributions() []figure {
	var figures []figure
	for _, workload := range v.workloads {
		threads := v.threads[len(v.threads)-1]
		c := chart{
			title: fmt.Sprintf("Latency by percentile: %s, %s", workload, threadsText(threads)), xLabel: "percentile", yLabel: "milliseconds",
			yLog: true, yTick: short, points: true,
			xTick: func(x float64) string { return trim(100-math.Pow(10, 2-x), 3) },
		}
		for _, p := range []float64{50, 90, 99, 99.9, 99.99} {
			c.xTicks = append(c.xTicks, nines(p))
		}
		g := grid{Caption: c.title + " (" + c.yLabel + ")", Head: []string{"percentile"}}
		for _, summaries := range v.lines {
			s := summaryAt(summaries, threads)
			if s == nil || s.Workload != workload {
				continue
			}
			l := line{name: s.Name(), class: v.classes.of(s.Line), knee: -1}
			for i, ms := range s.Latency.Percentiles(percentiles) {
				if float64(s.Latency.Count)*(1-percentiles[i]/100) < 1 {
					break // fewer operations than it takes to tell
				}
				l.xs, l.ys = append(l.xs, nines(percentiles[i])), append(l.ys, ms)
			}
			if len(l.xs) > 0 {
				c.lines = append(c.lines, l)
				g.Head = append(g.Head, l.name)
			}
		}
		if len(c.lines) == 0 {
			continue
		}
		for i, p := range percentiles {
			row := []string{trim(p, 2)}
			for _, l := range c.lines {
				text := "–"
				if i < len(l.ys) {
					text = group(l.ys[i])
				}
				row = append(row, text)
			}
			g.Rows = append(g.Rows, row)
		}
		id := "distribution-" + slug(workload)
		figures = append(figures, figure{ID: id, Title: fmt.Sprintf("%s, %s", workload, threadsText(threads)), SVG: c.svg(id), Legend: legendOf(c.lines), Table: g})
	}
	return figures
}

// nines spreads percentiles so that 90, 99 and 99.9 lie at equal distances.
func nines(p float64) float64 { return 2 - math.Log10(100-p) }

func summaryAt(line []loadtest.Summary, threads int) *loadtest.Summary {
	for i := range line {
		if line[i].Threads == threads {
			return &line[i]
		}
	}
	return nil
}
