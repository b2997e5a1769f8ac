package page

import (
	"math"
	"slices"
	"strconv"

	"github.com/ndbgate/ndbgate/loadtest"
)

// processesGrid is the processor time of each process in each cell, which shows
// whether the load is spread over the nodes.
func (v *view) processesGrid() grid {
	var names []string
	add := func(all []loadtest.CPU) {
		for _, use := range all {
			if !slices.Contains(names, use.Name) {
				names = append(names, use.Name)
			}
		}
	}
	r := v.report
	for i := range r.Cells {
		add(r.Cells[i].CPU)
	}
	for i := range r.Batches {
		add(r.Batches[i].CPU)
	}
	slices.Sort(names)
	g := grid{Caption: "Processor time of each process, in percent of all processors of the host", Head: []string{"cell", "threads", "repeat"}}
	if len(r.Batches) > 0 {
		g.Head = []string{"cell", "rows of a commit", "writers"}
	}
	g.Head = append(g.Head, names...)
	percents := func(all []loadtest.CPU) []string {
		var row []string
		for _, name := range names {
			percent := math.NaN()
			if i := slices.IndexFunc(all, func(use loadtest.CPU) bool { return use.Name == name && use.Unknown == "" }); i >= 0 {
				percent = all[i].Percent
			}
			row = append(row, group(percent))
		}
		return row
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		line := loadtest.Line{Workload: c.Workload, Backend: c.Backend, Variant: c.Variant}
		g.Rows = append(g.Rows, append([]string{c.Workload + " " + line.Name(), strconv.Itoa(c.Threads), strconv.Itoa(c.Repeat)}, percents(c.CPU)...))
	}
	for i := range r.Batches {
		b := &r.Batches[i]
		g.Rows = append(g.Rows, append([]string{b.Engine + ": " + b.Line().Name(), whole(b.Size), strconv.Itoa(b.Writers)}, percents(b.CPU)...))
	}
	if len(names) == 0 {
		g.Rows = nil
	}
	return g
}
