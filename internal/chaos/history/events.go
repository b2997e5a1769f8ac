package history

import (
	"cmp"
	"slices"
	"time"
)

// event is a call or a return.
type event struct {
	at        time.Duration
	isCall    bool
	op        *Op
	traceless bool // an unknown write of which nobody has seen anything: it has no return
}

// eventsOf lists what happened, in time. Calls come before returns of the same
// moment, of which nobody knows the order. A write of unknown outcome has
// happened when somebody has seen it: that is its return.
func eventsOf(ops []*Op) []event {
	var events []event
	for _, o := range ops {
		end := o.Return
		if o.Outcome == Unknown {
			end = seenBy(o, ops)
		}
		events = append(events, event{at: o.Call, isCall: true, op: o, traceless: end == forever})
		if end != forever {
			events = append(events, event{at: end, op: o})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.at != b.at || a.isCall == b.isCall:
			return cmp.Compare(a.at, b.at)
		case a.isCall:
			return -1
		default:
			return 1
		}
	})
	return events
}

// forever is when nobody ever sees a write.
const forever time.Duration = 1<<63 - 1

// seenBy returns the first moment at which somebody knew something that the write
// writes. Values are unique to their write. Of a delete nothing is seen.
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
	return max(first, o.Call) // earlier, and it is the answer that cannot be
}

// shares tells whether the rows have the same value, but NULL, in a column.
func (r Row) shares(other Row, columns Columns) bool {
	same := func(column Columns, a, b string) bool { return columns&column != 0 && a == b && a != "" }
	return same(First, r.First, other.First) || same(Last, r.Last, other.Last) || same(City, r.City, other.City) ||
		columns&Department != 0 && r.Department == other.Department
}

// nameless is a write without its values, which nobody has seen: all such rows
// are as good as each other.
func (o *Op) nameless() *Op {
	same := *o
	name := func(text *string) {
		if *text != "" {
			*text = forgotten
		}
	}
	name(&same.Value.First)
	name(&same.Value.Last)
	name(&same.Value.City)
	same.Value.Department = forgottenNumber
	return &same
}

// isLike tells whether two nameless writes do the same to any row.
func (o *Op) isLike(other *Op) bool {
	return o.Kind == other.Kind && o.Value == other.Value && o.Columns == other.Columns && o.Absent == other.Absent &&
		(o.Match == nil) == (other.Match == nil) && (o.Match == nil || *o.Match == *other.Match)
}
