package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ndbgate/ndbgate/loadtest"
)

// addBatches draws what the second article's tables tell.
func (v *view) addBatches() {
	if v.report.Title == "" {
		v.Title = "Batches of " + v.Title[len("Load test of "):]
	}
	lines := loadtest.BatchLines(v.report.Batches)
	v.Tiles = batchTiles(lines)
	add := func(title, text, id, yLabel string, value func(*loadtest.Batch) float64) {
		if figures := v.bySize(lines, id, title, yLabel, value); len(figures) > 0 {
			v.Sections = append(v.Sections, section{title, text, figures})
		}
	}
	add("Rows in a second", "All writers together, by the rows of a commit. Both scales are by powers.", "rows", "rows in a second", (*loadtest.Batch).RowsPerSecond)
	add("Time of a batch", "The mean of all batches, commit included.", "time", "milliseconds", (*loadtest.Batch).Mean)
	v.Cells = v.batchesGrid()
}

// batchTiles are the most rows in a second of each way into each engine.
func batchTiles(lines [][]loadtest.Batch) []tile {
	var order []string
	best := map[string]*loadtest.Batch{}
	for _, line := range lines {
		for i := range line {
			b := &line[i]
			name := b.Engine + ": " + b.Line().Name()
			if math.IsNaN(b.RowsPerSecond()) {
				continue
			}
			if best[name] == nil {
				order = append(order, name)
			}
			if best[name] == nil || b.RowsPerSecond() > best[name].RowsPerSecond() {
				best[name] = b
			}
		}
	}
	var tiles []tile
	for _, name := range order {
		b := best[name]
		tiles = append(tiles, tile{name, group(b.RowsPerSecond()), "rows/s", fmt.Sprintf("%s rows a commit, %s", whole(b.Size), writers(b.Writers))})
	}
	return tiles
}

func writers(n int) string {
	if n == 1 {
		return "1 writer"
	}
	return strconv.Itoa(n) + " writers"
}

// bySize draws a measure for each engine and number of writers.
func (v *view) bySize(lines [][]loadtest.Batch, id, title, yLabel string, value func(*loadtest.Batch) float64) []figure {
	type panel struct {
		engine  string
		writers int
	}
	var panels []panel
	for _, line := range lines {
		if p := (panel{line[0].Engine, line[0].Writers}); !slices.Contains(panels, p) {
			panels = append(panels, p)
		}
	}
	slices.SortStableFunc(panels, func(a, b panel) int {
		if a.engine != b.engine {
			return 0
		}
		return a.writers - b.writers
	})
	var figures []figure
	for _, p := range panels {
		name := p.engine + ", " + writers(p.writers)
		c := chart{title: title + ": " + name, xLabel: "rows of a commit", yLabel: yLabel, xLog: true, yLog: true, xTick: short, yTick: short, points: true}
		known := false
		for _, batches := range lines {
			of := batches[0].Line()
			if of.Engine != p.engine || of.Writers != p.writers {
				continue
			}
			l := line{name: of.Name(), class: v.batchClass(of), knee: -1}
			for i := range batches {
				x, y := float64(batches[i].Size), value(&batches[i])
				known = known || !math.IsNaN(y)
				l.xs, l.ys = append(l.xs, x), append(l.ys, y)
				if !slices.Contains(c.xTicks, x) {
					c.xTicks = append(c.xTicks, x)
				}
			}
			c.lines = append(c.lines, l)
		}
		if !known {
			continue
		}
		slices.Sort(c.xTicks)
		figureID := id + "-" + slug(name)
		figures = append(figures, figure{ID: figureID, Title: name, SVG: c.svg(figureID), Legend: legendOf(c.lines), Table: v.tableOf(&c)})
	}
	return figures
}

// batchClass draws a way that is not the road's own dashed.
func (v *view) batchClass(l loadtest.BatchLine) string {
	variant := loadtest.Variant("")
	if l.Way == "row by row" {
		variant = loadtest.Variant(l.Way)
	}
	return v.classes.of(loadtest.Line{Backend: l.Backend, Variant: variant})
}

func (v *view) batchesGrid() grid {
	g := grid{Caption: "Every cell, in the order of the run", Head: []string{"cell", "rows of a commit", "writers", "batches", "mean ms", "rows/s", "error"}}
	for i := range v.report.Batches {
		b := &v.report.Batches[i]
		batches := 0
		for _, runs := range b.Runs {
			batches += len(runs)
		}
		g.Rows = append(g.Rows, []string{
			b.Engine + ": " + b.Line().Name(), whole(b.Size), strconv.Itoa(b.Writers), strconv.Itoa(batches), group(b.Mean()), group(b.RowsPerSecond()), b.Error,
		})
	}
	return g
}
