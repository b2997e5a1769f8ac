package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/loadtest"
)

// figure is a chart with its table.
type figure struct {
	ID      string
	Title   string
	Readout string // the sentence that the chart shows
	SVG     template.HTML
	Legend  []legend
	Table   grid
	Wide    bool
}

type legend struct {
	Name  string
	Class string
	Mark  template.HTML
}

// grid is a table: the first row and the first column are headings.
type grid struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// section is figures with a heading.
type section struct {
	Title   string
	Text    string
	Figures []figure
}

// lineClasses gives every road and variant its colour and form, the same in all
// charts: s0, s1, ... by road, dashed for variants.
type lineClasses struct{ backends []string }

func (c *lineClasses) of(l loadtest.Line) string {
	i := slices.Index(c.backends, l.Backend)
	if i < 0 {
		c.backends = append(c.backends, l.Backend)
		i = len(c.backends) - 1
	}
	class := "s" + strconv.Itoa(i%4)
	if l.Variant != "" {
		class += " variant"
	}
	return class
}

func legendOf(lines []line) []legend {
	var all []legend
	for _, l := range lines {
		swatch := fmt.Sprintf(`<svg viewBox="0 0 34 14" aria-hidden="true"><g class="%s"><path class="line" d="M1 7H33"/>%s</g></svg>`, l.class, mark(l.class, 17, 7))
		all = append(all, legend{l.name, l.class, template.HTML(swatch)})
	}
	return all
}

// measure is something that is charted by threads.
type measure struct {
	id, title string
	yLabel    string
	value     func(*loadtest.Summary) float64
	whiskers  bool
	knee      bool
	yLog      bool
	yMax      float64
	readout   func(workload string, lines [][]loadtest.Summary) string
}

// byThreads draws a measure for each workload. It returns none where nothing is
// known, or where there is one number of threads alone.
func (v *view) byThreads(m measure) []figure {
	var figures []figure
	for _, workload := range v.workloads {
		var lines [][]loadtest.Summary
		for _, line := range v.lines {
			if line[0].Workload == workload {
				lines = append(lines, line)
			}
		}
		c := chart{
			title: m.title + ": " + workload, xLabel: "threads", yLabel: m.yLabel, xLog: true, yLog: m.yLog, yMax: m.yMax,
			xTick: short, yTick: short, points: true,
		}
		for _, n := range v.threads {
			c.xTicks = append(c.xTicks, float64(n))
		}
		known := false
		for _, summaries := range lines {
			l := line{name: summaries[0].Name(), class: v.classes.of(summaries[0].Line), knee: -1}
			for i := range summaries {
				s := &summaries[i]
				y := m.value(s)
				known = known || !math.IsNaN(y)
				l.xs, l.ys = append(l.xs, float64(s.Threads)), append(l.ys, y)
				if m.whiskers {
					l.low, l.high = append(l.low, slices.Min(s.Throughputs)), append(l.high, slices.Max(s.Throughputs))
				}
			}
			if m.knee {
				l.knee = loadtest.Knee(summaries)
			}
			c.lines = append(c.lines, l)
		}
		if !known {
			continue
		}
		id := m.id + "-" + slug(workload)
		f := figure{ID: id, Title: workload, SVG: c.svg(id), Legend: legendOf(c.lines), Table: v.tableOf(&c)}
		if m.readout != nil {
			f.Readout = m.readout(workload, lines)
			v.addRatios(&f.Table, lines)
		}
		figures = append(figures, f)
	}
	return figures
}

// tableOf is the numbers behind a chart by threads.
func (v *view) tableOf(c *chart) grid {
	g := grid{Caption: c.title + " (" + c.yLabel + ")", Head: []string{c.xLabel}}
	for _, l := range c.lines {
		g.Head = append(g.Head, l.name)
	}
	for _, x := range c.xTicks {
		row := []string{c.xTick(x)}
		for _, l := range c.lines {
			text := "–"
			if i := slices.Index(l.xs, x); i >= 0 {
				text = group(l.ys[i])
			}
			row = append(row, text)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
}

// addRatios adds the throughput of the first road against that of each other one.
func (v *view) addRatios(g *grid, lines [][]loadtest.Summary) {
	for _, first := range lines {
		for _, other := range lines {
			if first[0].Backend != lines[0][0].Backend || other[0].Backend == first[0].Backend || other[0].Variant != "" {
				continue
			}
			g.Head = append(g.Head, first[0].Name()+" / "+other[0].Name())
			for i, threads := range v.threads {
				g.Rows[i] = append(g.Rows[i], group(loadtest.Ratio(first, other, threads)))
			}
		}
	}
}

func threadsText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return strconv.Itoa(n) + " threads"
}

// ratioReadout says how the roads compare at the most threads.
func ratioReadout(_ string, lines [][]loadtest.Summary) string {
	if len(lines) < 2 {
		return ""
	}
	first := lines[0]
	threads := first[len(first)-1].Threads
	var parts []string
	for _, other := range lines[1:] {
		if other[0].Backend == first[0].Backend {
			continue
		}
		if ratio := loadtest.Ratio(first, other, threads); !math.IsNaN(ratio) {
			parts = append(parts, fmt.Sprintf("%s does %s× what %s does at %s", first[0].Name(), group(ratio), other[0].Name(), threadsText(threads)))
		}
	}
	return strings.Join(parts, "; ")
}
