package loadtest

import (
	"fmt"
	"math"
	"runtime/metrics"
	"strings"

	"github.com/ndbgate/ndbgate/loadtest/cpu"
)

// Limits beyond which the generator may be what limits.
const (
	busyHost      = 90.0 // percent of all processors
	bigShare      = 0.3  // of the used processor time
	slowScheduler = 5.0  // milliseconds
	manyLate      = 0.01 // of the operations
)

// Note is something to know before trusting a cell.
type Note struct {
	Kind  NoteKind `json:"kind"`
	Text  string   `json:"text"`
	Value float64  `json:"value"` // how bad it is, against others of its kind
}

// NoteKind is what a note is about.
type NoteKind string

// The kinds.
const (
	GeneratorLimits NoteKind = "generator_limits" // the generator was the bottleneck
	GeneratorShares NoteKind = "generator_shares" // or a part of it
	GeneratorWaits  NoteKind = "generator_waits"  // it waited for processors itself
	GeneratorLate   NoteKind = "generator_late"   // it was late by itself
)

// about says what notes of a kind have in common.
var about = map[NoteKind]string{
	GeneratorLimits: "the generator was the bottleneck",
	GeneratorShares: "the generator was part of the bottleneck",
	GeneratorWaits:  "the generator waited for processors itself, which makes latencies longer",
	GeneratorLate:   "the generator was late by itself",
}

// bottleneckNotes tells signs that the generator, and not the target, was what
// limited a cell.
func bottleneckNotes(c *Cell, h *Host, way string) []Note {
	var notes []Note
	note := func(kind NoteKind, value float64, format string, args ...any) {
		notes = append(notes, Note{kind, fmt.Sprintf(format, args...), value})
	}
	self := "the generator"
	if strings.Contains(way, "direct") {
		self = "the generator, with the road in its process,"
	}
	own := 0.0
	for _, use := range c.CPU {
		if cpu.RoleOf(use.Name) == cpu.Generator {
			own = use.Seconds
		}
	}
	available := c.Seconds * float64(h.CPUs)
	busy := c.HostCPU / 100 * available
	switch {
	case own > 0.9*available:
		note(GeneratorLimits, own/available, "%s was the bottleneck: it used %.1f of %d processors", self, own/c.Seconds, h.CPUs)
	case c.HostCPU >= busyHost && own > bigShare*busy:
		note(GeneratorShares, own/busy, "%s was part of the bottleneck: the host was %.0f %% busy, and it used %.0f %% of that", self, c.HostCPU, own/busy*100)
	}
	if c.SchedulerP99 > slowScheduler {
		note(GeneratorWaits, c.SchedulerP99, "the generator waited for processors itself (p99 %.1f ms): latencies are that much too long", c.SchedulerP99)
	}
	if late := float64(c.LateTimer) / float64(max(c.Ops, 1)); late > manyLate {
		note(GeneratorLate, late, "the generator sent %d operations late though a worker waited for their moment", c.LateTimer)
	}
	return notes
}

// schedulerWaits is how long goroutines that could run had waited for a
// processor, since the process began.
type schedulerWaits struct {
	buckets []float64
	counts  []uint64
}

func readSchedulerWaits() schedulerWaits {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return schedulerWaits{}
	}
	h := sample[0].Value.Float64Histogram()
	return schedulerWaits{h.Buckets, h.Counts}
}

func (s schedulerWaits) since(before schedulerWaits) schedulerWaits {
	waits := schedulerWaits{buckets: s.buckets, counts: make([]uint64, len(s.counts))}
	for i := range s.counts {
		waits.counts[i] = s.counts[i]
		if i < len(before.counts) {
			waits.counts[i] -= before.counts[i]
		}
	}
	return waits
}

// p99 is in milliseconds.
func (s schedulerWaits) p99() float64 {
	var all, below uint64
	for _, n := range s.counts {
		all += n
	}
	for i, n := range s.counts {
		below += n
		if n > 0 && float64(below) >= 0.99*float64(all) {
			if upper := s.buckets[i+1]; !math.IsInf(upper, 1) {
				return upper * 1000
			}
			return s.buckets[i] * 1000
		}
	}
	return 0
}
