package loadtest

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	l := Latency{
		Count: h.TotalCount(),
		Mean:  h.Mean() / 1e6,
		P50:   millis(h.ValueAtQuantile(50)),
		P95:   millis(h.ValueAtQuantile(95)),
		P99:   millis(h.ValueAtQuantile(99)),
		P999:  millis(h.ValueAtQuantile(99.9)),
		Max:   millis(h.Max()),
	}
	if encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		l.Histogram = string(encoded)
	}
	return l
}

// decode gives the histogram of a latency, nil where there is none.
func (l *Latency) decode() *hdrhistogram.Histogram {
	if l.Histogram == "" {
		return nil
	}
	h, err := hdrhistogram.Decode([]byte(l.Histogram))
	if err != nil {
		return nil
	}
	return h
}

// Merge gives the distribution of all of them together. Those without a
// histogram are left out.
func Merge(all []Latency) Latency {
	if len(all) == 1 {
		return all[0]
	}
	sum := newHistogram()
	for i := range all {
		if h := all[i].decode(); h != nil {
			sum.Merge(h)
		}
	}
	return latencyOf(sum)
}

// Percentiles gives the values at the percentiles, in milliseconds; nil where
// the histogram was not kept.
func (l *Latency) Percentiles(at []float64) []float64 {
	h := l.decode()
	if h == nil {
		return nil
	}
	var values []float64
	for _, p := range at {
		values = append(values, millis(h.ValueAtQuantile(p)))
	}
	return values
}

// LatencyFor is the distribution of n times, for those who make reports.
func LatencyFor(n int, at func(i int) time.Duration) Latency {
	h := newHistogram()
	for i := range n {
		recordIn(h, at(i))
	}
	return latencyOf(h)
}
