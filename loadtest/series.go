package loadtest

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxPoints bounds the series of a cell.
const maxPoints = 2000

// series gathers what ended in each interval of the measured time.
type series struct {
	interval time.Duration

	mu     sync.Mutex // guards points
	points []part
}

// part is what a worker, or all of them, did in one interval.
type part struct {
	index       int
	ops, errors int64
	latency     *hdrhistogram.Histogram // nil: nothing ended
}

// newSeries makes the intervals longer where there would be too many.
func newSeries(interval, duration time.Duration) *series {
	for duration/interval >= maxPoints {
		interval *= 2
	}
	return &series{interval: interval, points: make([]part, int(duration/interval)+1)}
}

// add counts an operation that ended at that time; a negative latency is one
// that failed. The part is the worker's own, so that workers meet once in an
// interval and not with each operation.
func (s *series) add(p *part, at, latency time.Duration) {
	if index := int(at / s.interval); index != p.index {
		s.flush(p)
		p.index = index
	}
	if latency < 0 {
		p.errors++
		return
	}
	p.ops++
	recordIn(p.latency, latency)
}

// flush moves what the part has into its point.
func (s *series) flush(p *part) {
	if p.ops == 0 && p.errors == 0 || p.index >= len(s.points) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	point := &s.points[p.index]
	point.ops += p.ops
	point.errors += p.errors
	if point.latency == nil {
		point.latency = newCoarseHistogram()
	}
	point.latency.Merge(p.latency)
	p.ops, p.errors = 0, 0
	p.latency.Reset()
}

// result gives the points up to the length of the measured time; the last one
// may be short.
func (s *series) result(length time.Duration, loads []load) []Point {
	var points []Point
	for i := range s.points {
		at := time.Duration(i) * s.interval
		span := min(s.interval, length-at)
		if span < s.interval/10 {
			break // its rate would say nothing
		}
		p := &s.points[i]
		point := Point{At: at.Seconds(), OpsPerSecond: float64(p.ops) / span.Seconds(), Errors: p.errors, HostCPU: -1, DatabaseCPU: -1}
		if p.latency != nil {
			point.P50 = millis(p.latency.ValueAtQuantile(50))
			point.P99 = millis(p.latency.ValueAtQuantile(99))
			point.Max = millis(p.latency.Max())
		}
		if i < len(loads) {
			point.HostCPU, point.DatabaseCPU = loads[i].host, loads[i].database
		}
		points = append(points, point)
	}
	return points
}

// load is how much of the host was used in one interval, in percent of it; -1:
// not known.
type load struct {
	host, database float64
}

func millis(nanos int64) float64 { return float64(nanos) / 1e6 }
