package history

import (
	"slices"
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

// Check looks at the history of one row, in any order, for at most the limit and
// a moment. The row is absent before the first operation.
func Check(ops []*Op, reads Reads, limit time.Duration) Verdict {
	deadline := time.Now().Add(limit)
	// Most writes of unknown outcome leave no trace. If the rest is right without
	// them, then it is right: they may never have happened. Each that is left out
	// halves the work.
	few := slices.DeleteFunc(slices.Clone(ops), func(o *Op) bool { return o.Outcome == Unknown && !isSeen(o, ops) })
	verdict := check(few, reads, limit/2)
	if verdict == Right || len(few) == len(ops) && verdict == Wrong {
		return verdict
	}
	return check(ops, reads, time.Until(deadline))
}

func check(ops []*Op, reads Reads, limit time.Duration) Verdict {
	// Porcupine takes 0 for no limit.
	switch porcupine.CheckOperationsTimeout(reads.model(), reads.steps(ops), max(limit, time.Millisecond)) {
	case porcupine.Ok:
		return Right
	case porcupine.Illegal:
		return Wrong
	default:
		return Undecided
	}
}

// isSeen tells whether any answer has something that the write writes. Values are
// unique to their write. Of a delete nothing is seen.
func isSeen(o *Op, ops []*Op) bool {
	var columns Columns
	switch o.Kind {
	case Create, Put:
		columns = allColumns
	case Patch:
		columns = o.Columns
	}
	for _, other := range ops {
		if other.Saw != nil && other.Saw.shares(o.Value, columns) {
			return true
		}
	}
	return false
}

// shares tells whether the rows have the same value, but NULL, in a column.
func (r Row) shares(other Row, columns Columns) bool {
	same := func(column Columns, a, b string) bool { return columns&column != 0 && a == b && a != "" }
	return same(First, r.First, other.First) || same(Last, r.Last, other.Last) || same(City, r.City, other.City) ||
		columns&Department != 0 && r.Department == other.Department
}
