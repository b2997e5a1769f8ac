package loadtest

import (
	"context"
	"fmt"
)

// Bounds of a search.
const (
	// leastGain is how much more twice the threads must give, or twice the rate of
	// what was asked for.
	leastGain = 0.05
	// halvings is how often a search of rates looks between the last rate that was
	// kept and the first that was not.
	halvings = 3
	maxSteps = 24
	maxRate  = 10_000_000
)

// findMaxima looks for the most of each workload by each road.
func (r *runner) findMaxima(ctx context.Context) error {
	for _, w := range r.config.Workloads {
		for _, road := range r.config.Targets {
			variants := []Variant{""}
			if variant, ok := articleVariant(&w, road.Native); ok && r.config.Article {
				variants = append(variants, variant)
			}
			for _, variant := range variants {
				first := cell{workload: w, road: road, variant: variant, threads: r.config.Threads[0], rate: r.config.Rate, repeat: 1}
				m, err := r.findMax(ctx, first)
				if m != nil {
					r.report.Maxima = append(r.report.Maxima, *m)
				}
				if err != nil || ctx.Err() != nil {
					return err
				}
			}
			r.checkpoint()
		}
	}
	return nil
}

// findMax doubles until more does not give more. The result is nil where nothing
// was measured.
func (r *runner) findMax(ctx context.Context, c cell) (*Maximum, error) {
	var best *Maximum
	bad := 0.0 // the lowest rate that was not kept
	for range maxSteps {
		result, err := r.step(ctx, c)
		if result == nil || err != nil {
			return best, err
		}
		why := r.stops(result, best)
		if why == "" {
			best = maximumOf(result)
			if c, why = doubled(c); why == "" {
				continue
			}
		}
		if best == nil { // even the first was too much
			best = maximumOf(result)
			best.Stopped = why
			return best, nil
		}
		best.Stopped = why
		bad = result.Rate
		break
	}
	if best.Rate == 0 || bad <= best.Rate {
		return best, nil
	}
	return r.narrow(ctx, c, best, bad)
}

// narrow looks between a rate that was kept and one that was not.
func (r *runner) narrow(ctx context.Context, c cell, best *Maximum, bad float64) (*Maximum, error) {
	for range halvings {
		c.rate = (best.Rate + bad) / 2
		result, err := r.step(ctx, c)
		if result == nil || err != nil {
			return best, err
		}
		why := r.stops(result, nil)
		if why == "" {
			why = best.Stopped
			best = maximumOf(result)
		} else {
			bad = c.rate
		}
		best.Stopped = why
	}
	return best, nil
}

// step measures one cell, which is nil where nothing was measured.
func (r *runner) step(ctx context.Context, c cell) (*Cell, error) {
	r.cells = append(r.cells, c)
	before := len(r.report.Cells)
	if err := r.runCell(ctx, len(r.cells)-1, &c); err != nil || ctx.Err() != nil || len(r.report.Cells) == before {
		return nil, err
	}
	return &r.report.Cells[before], nil
}

// stops tells why a cell was more than the target can do; empty: it was not.
func (r *runner) stops(c *Cell, best *Maximum) string {
	limit := r.config.MaxP99.Seconds() * 1e3
	switch {
	case limit > 0 && c.Latency.P99 > limit:
		return fmt.Sprintf("p99 was %.1f ms with %s, more than %.1f ms", c.Latency.P99, c.asked(), limit)
	case c.Rate > 0 && c.Throughput < c.Rate*(1-leastGain):
		return fmt.Sprintf("%.0f operations in a second were done of %s", c.Throughput, c.asked())
	case c.Rate == 0 && best != nil && c.Throughput <= best.Throughput*(1+leastGain):
		return fmt.Sprintf("%s gave %.0f operations in a second", c.asked(), c.Throughput)
	default:
		return ""
	}
}

func (c *Cell) asked() string {
	if c.Rate > 0 {
		return fmt.Sprintf("%.0f in a second", c.Rate)
	}
	return threadsText(c.Threads)
}

// doubled is the next step, or why there is none.
func doubled(c cell) (cell, string) {
	if c.rate > 0 {
		c.rate *= 2
		if c.rate > maxRate {
			return c, fmt.Sprintf("more than %d in a second is not tried", maxRate)
		}
		return c, ""
	}
	c.threads *= 2
	if c.threads > maxThreads {
		return c, fmt.Sprintf("more than %d threads are not tried", maxThreads)
	}
	return c, ""
}

func maximumOf(c *Cell) *Maximum {
	return &Maximum{Workload: c.Workload, Backend: c.Backend, Variant: c.Variant, Threads: c.Threads, Rate: c.Rate, Throughput: c.Throughput, P99: c.Latency.P99}
}
