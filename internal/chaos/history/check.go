package history

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is the result of a check.
type Verdict uint8

// The verdicts.
const (
	Right     Verdict = iota // there is an order in which every answer is right
	Wrong                    // there is none
	Undecided                // the time was over
)

func (v Verdict) String() string { return [...]string{"right", "wrong", "not decided"}[v] }

// Check looks at the history of one row, in any order, for at most about the
// limit. The row is absent before the first operation.
//
// The work may double with each write of unknown outcome that left no trace. What
// is right without some of them is right: they may never have happened. So it
// begins without them and, where that and a quick look at all does not settle it,
// takes them in one by one as far as that helps: a delete, perhaps, after which
// the row was missing.
func Check(ops []*Op, reads Reads, limit time.Duration) Verdict {
	c := checker{reads: reads, deadline: time.Now().Add(limit)}
	var part, traceless []*Op
	for _, o := range ops {
		if o.Outcome == Unknown && seenBy(o, ops) == forever {
			traceless = append(traceless, o)
		} else {
			part = append(part, o)
		}
	}
	quick := checker{reads: reads, deadline: time.Now().Add(limit / 8)}
	if v := quick.check(part); v == Right || len(traceless) == 0 && v == Wrong {
		return v
	}
	quick.deadline = time.Now().Add(limit / 8)
	if v := quick.check(ops); v != Undecided {
		return v
	}
	return c.checkStepwise(part, traceless, ops)
}

func (c checker) checkStepwise(part, traceless, ops []*Op) Verdict {
	best := c.rightUntil(part)
	for best < forever {
		helper := -1
		for i, o := range traceless {
			if until := c.rightUntil(append(part, o)); until > best {
				best, helper = until, i
			}
		}
		if helper < 0 {
			// Every beginning of a right history is right.
			return c.check(until(ops, best))
		}
		part = append(part, traceless[helper])
		traceless = slices.Delete(traceless, helper, helper+1)
	}
	return Right
}

const forever time.Duration = math.MaxInt64

type checker struct {
	reads    Reads
	deadline time.Time
}

// rightUntil returns the first return of an operation such that what was known
// then is not right, or not decided; forever where there is none.
func (c checker) rightUntil(ops []*Op) time.Duration {
	if c.check(ops) == Right {
		return forever
	}
	ends := returns(ops)
	n := sort.Search(len(ends), func(i int) bool { return c.check(until(ops, ends[i])) != Right })
	if n == len(ends) {
		return forever - 1 // the time was over
	}
	return ends[n]
}

// returns are the moments at which something became known.
func returns(ops []*Op) []time.Duration {
	var ends []time.Duration
	for _, o := range ops {
		if o.Outcome != Unknown {
			ends = append(ends, o.Return)
		}
	}
	slices.Sort(ends)
	return ends
}

// until is what was known at a moment: of an operation that had not returned,
// nothing.
func until(ops []*Op, end time.Duration) []*Op {
	var part []*Op
	for _, o := range ops {
		switch {
		case o.Call > end:
		case o.Outcome == Unknown || o.Return <= end:
			part = append(part, o)
		case o.isWrite():
			open := *o
			open.Outcome, open.Saw = Unknown, nil
			part = append(part, &open)
		}
	}
	return part
}

func (c checker) check(ops []*Op) Verdict {
	// Porcupine takes 0 for no limit.
	limit := max(time.Until(c.deadline), time.Millisecond)
	switch porcupine.CheckOperationsTimeout(c.reads.model(), c.reads.steps(ops), limit) {
	case porcupine.Ok:
		return Right
	case porcupine.Illegal:
		return Wrong
	default:
		return Undecided
	}
}

// seenBy returns the first moment at which somebody knew something that the write
// writes; forever where nobody ever did. Values are unique to their write. Of a
// delete nothing is seen.
func seenBy(o *Op, ops []*Op) time.Duration {
	var columns Columns
	switch o.Kind {
	case Create, Put:
		columns = allColumns
	case Patch:
		columns = o.Columns
	}
	first := forever
	for _, other := range ops {
		if other.Saw != nil && other.Outcome != Unknown && other.Saw.shares(o.Value, columns) {
			first = min(first, other.Return)
		}
	}
	return first
}

// shares tells whether the rows have the same value, but NULL, in a column.
func (r Row) shares(other Row, columns Columns) bool {
	same := func(column Columns, a, b string) bool { return columns&column != 0 && a == b && a != "" }
	return same(First, r.First, other.First) || same(Last, r.Last, other.Last) || same(City, r.City, other.City) ||
		columns&Department != 0 && r.Department == other.Department
}
