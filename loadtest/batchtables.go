package loadtest

import (
	"fmt"
	"math"
	"slices"
)

// BatchLine is one way to write one table with some writers: a line of a chart.
type BatchLine struct {
	Backend, Way, Engine string
	Writers              int
}

// Name is the line without engine and writers, as in "sql, row by row".
func (l BatchLine) Name() string { return l.Backend + ", " + l.Way }

// Line is that of the batch.
func (b *Batch) Line() BatchLine { return BatchLine{b.Backend, b.Way, b.Engine, b.Writers} }

// Mean is the milliseconds of one batch, over all writers; NaN where none was
// done.
func (b *Batch) Mean() float64 {
	var all []float64
	for _, runs := range b.Runs {
		all = append(all, runs...)
	}
	return mean(all)
}

// RowsPerSecond is what all writers together have written; NaN where nothing.
func (b *Batch) RowsPerSecond() float64 {
	if b.Rows == 0 || b.Wall <= 0 {
		return math.NaN()
	}
	return float64(b.Rows) / b.Wall * 1e3
}

// BatchLines groups batches by line, each in ascending order of sizes.
func BatchLines(batches []Batch) [][]Batch {
	var lines [][]Batch
	for _, b := range batches {
		i := slices.IndexFunc(lines, func(line []Batch) bool { return line[0].Line() == b.Line() })
		if i < 0 {
			lines = append(lines, nil)
			i = len(lines) - 1
		}
		lines[i] = append(lines[i], b)
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b Batch) int { return a.Size - b.Size })
	}
	return lines
}

// batchTables are those of the second article: times of a batch, rows in a
// second, and what a second writer is good for.
func batchTables(r *Report) []table {
	lines := BatchLines(r.Batches)
	sizes := []int{}
	for _, b := range r.Batches {
		if !slices.Contains(sizes, b.Size) {
			sizes = append(sizes, b.Size)
		}
	}
	slices.Sort(sizes)
	bySize := func(title string, value func(*Batch) float64, digits int) table {
		t := table{title: title, rows: [][]string{threadHeadings(sizes)}}
		for _, line := range lines {
			row := []string{fmt.Sprintf("%s: %s, %s", line[0].Engine, line[0].Line().Name(), writersText(line[0].Writers))}
			for _, size := range sizes {
				text := ""
				if i := slices.IndexFunc(line, func(b Batch) bool { return b.Size == size }); i >= 0 {
					if text = number(value(&line[i]), digits); text == "" && line[i].Error != "" {
						text = "failed"
					}
				}
				row = append(row, text)
			}
			t.rows = append(t.rows, row)
		}
		return t
	}
	tables := []table{
		bySize(fmt.Sprintf("Milliseconds of a batch, by rows of a commit (mean of %d)", r.Settings.Repeats), (*Batch).Mean, 1),
		bySize("Rows in a second, of all writers together, by rows of a commit", (*Batch).RowsPerSecond, 0),
	}
	if t := writersTable(lines, sizes); len(t.rows) > 1 {
		tables = append(tables, t)
	}
	return tables
}

func writersText(n int) string {
	if n == 1 {
		return "1 writer"
	}
	return fmt.Sprintf("%d writers", n)
}

// writersTable divides the rows in a second of several writers by those of one.
func writersTable(lines [][]Batch, sizes []int) table {
	t := table{title: "Rows in a second of several writers, against one", rows: [][]string{threadHeadings(sizes)}}
	for _, many := range lines {
		alone := many[0].Line()
		alone.Writers = 1
		i := slices.IndexFunc(lines, func(line []Batch) bool { return line[0].Line() == alone })
		if many[0].Writers == 1 || i < 0 {
			continue
		}
		row := []string{fmt.Sprintf("%s: %s, %s", many[0].Engine, many[0].Line().Name(), writersText(many[0].Writers))}
		for _, size := range sizes {
			row = append(row, number(sizeRate(many, size)/sizeRate(lines[i], size), 2))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func sizeRate(line []Batch, size int) float64 {
	for i := range line {
		if line[i].Size == size {
			return line[i].RowsPerSecond()
		}
	}
	return math.NaN()
}
