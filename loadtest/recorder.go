package loadtest

import (
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/ndbgate/ndbgate/loadtest/target"
)

// Bounds of the histograms, in nanoseconds. What is longer counts as longest.
const (
	shortest = 100
	longest  = int64(10 * time.Minute)
)

// newHistogram keeps latencies to three digits in some 200 KiB.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, 3) }

// newCoarseHistogram keeps two digits in some 30 KiB, for the many intervals of
// a series.
func newCoarseHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, 2) }

func recordIn(h *hdrhistogram.Histogram, d time.Duration) {
	// Between the bounds nothing fails.
	_ = h.RecordValue(min(max(int64(d), 0), longest))
}

// maxErrorKinds bounds the kinds of errors of a cell; what comes after counts as
// target.Other.
const maxErrorKinds = 32

// done is an operation that has ended. Times are since the cell began.
type done struct {
	op        int           // its index in the mix
	scheduled time.Duration // when it should have been sent
	sent      time.Duration
	ended     time.Duration
	rows      int
	err       error
}

// recorder keeps what one worker has measured. Not safe for concurrent use.
type recorder struct {
	span    *span
	series  *series
	latency *hdrhistogram.Histogram   // of what was scheduled in the measured time, and done
	service *hdrhistogram.Histogram   // the same, from when it was sent; nil in a closed loop
	byOp    []*hdrhistogram.Histogram // of a mix alone
	counts  counts
	part    part // of the series
}

// counts are what a cell counts.
type counts struct {
	ops, rows int64 // ended in the measured time
	errors    map[string]*ErrorCount
	late      int64 // sent late because all workers were busy
	lateTimer int64 // sent late though a worker waited for the moment
	dropped   int64 // never sent
}

func newRecorder(s *span, series *series, w *Workload, open bool) *recorder {
	r := &recorder{span: s, series: series, latency: newHistogram()}
	r.counts.errors = map[string]*ErrorCount{}
	r.part.latency = newCoarseHistogram()
	if open {
		r.service = newHistogram()
	}
	if len(w.Mix) > 1 {
		for range w.Mix {
			r.byOp = append(r.byOp, newHistogram())
		}
	}
	return r
}

func (r *recorder) record(d done) {
	began := d.scheduled >= r.span.warmup && d.scheduled < r.span.end()
	ended := d.ended >= r.span.warmup && d.ended < r.span.end()
	if d.err != nil {
		if began || ended {
			r.counts.addError(target.Kind(d.err), 1, d.err)
		}
		if ended {
			r.series.add(&r.part, d.ended-r.span.warmup, -1)
		}
		return
	}
	latency := d.ended - d.scheduled
	if began {
		recordIn(r.latency, latency)
		if r.service != nil {
			recordIn(r.service, d.ended-d.sent)
		}
		if r.byOp != nil {
			recordIn(r.byOp[d.op], latency)
		}
	}
	if ended {
		r.counts.ops++
		r.counts.rows += int64(d.rows)
		r.series.add(&r.part, d.ended-r.span.warmup, latency)
	}
}

func (c *counts) addError(kind string, n int64, example error) {
	known := c.errors[kind]
	if known == nil && len(c.errors) >= maxErrorKinds {
		kind = target.Other
		known = c.errors[kind]
	}
	if known == nil {
		known = &ErrorCount{Kind: kind, Example: exampleOf(example)}
		c.errors[kind] = known
	}
	known.Count += n
}

func exampleOf(err error) string {
	if e, ok := errors.AsType[*target.Error](err); ok {
		err = e.Err
	}
	const most = 200
	text := err.Error()
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// mergeInto adds all that the worker has measured.
func (r *recorder) mergeInto(all *recorder) {
	r.series.flush(&r.part)
	all.latency.Merge(r.latency)
	if r.service != nil {
		all.service.Merge(r.service)
	}
	for i, h := range r.byOp {
		all.byOp[i].Merge(h)
	}
	all.counts.ops += r.counts.ops
	all.counts.rows += r.counts.rows
	all.counts.late += r.counts.late
	all.counts.lateTimer += r.counts.lateTimer
	all.counts.dropped += r.counts.dropped
	for kind, e := range r.counts.errors {
		all.counts.addError(kind, e.Count, errors.New(e.Example))
	}
}
