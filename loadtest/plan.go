package loadtest

import "slices"

// cell is one measurement of a sweep.
type cell struct {
	workload Workload
	road     Road
	variant  Variant
	threads  int
	rate     float64 // of an open loop; 0: a closed one
	repeat   int     // from 1 on
}

// plan lists the cells of all repeats in the order in which they run. The roads
// take turns, and the one that begins changes with each step, so that what
// drifts on the machine is shared. Operations keep their order: deletes find the
// rows that inserts have left.
func plan(c *Config) []cell {
	var cells []cell
	for repeat := 1; repeat <= c.Repeats; repeat++ {
		for step, threads := range c.Threads {
			for _, w := range c.Workloads {
				roads := slices.Clone(c.Targets)
				if (repeat+step)%2 == 0 {
					slices.Reverse(roads)
				}
				for _, road := range roads {
					cells = append(cells, cell{w, road, "", threads, c.Rate, repeat})
					if variant, ok := articleVariant(&w, road.Native); ok && c.Article {
						cells = append(cells, cell{w, road, variant, threads, c.Rate, repeat})
					}
				}
			}
		}
	}
	return cells
}
