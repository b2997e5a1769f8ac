package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Shrink returns a smaller part of a wrong history that is wrong, too: all that
// happened until the first answer that cannot be, without what did not change the
// row and is not needed to see it. Each check of it may take the limit.
func Shrink(ops []*Op, reads Reads, limit time.Duration) []*Op {
	verdict, at := check(ops, reads, limit)
	if verdict != Wrong {
		return ops
	}
	ops = until(ops, at)
	slices.SortFunc(ops, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	for size := len(ops) / 2; size > 0; size /= 2 {
		for at := 0; at < len(ops); {
			end := min(at+size, len(ops))
			part := slices.Clone(ops[:at])
			for _, o := range ops[at:end] {
				if o.isWrite() {
					part = append(part, o)
				}
			}
			kept := len(part)
			part = append(part, ops[end:]...)
			if len(part) < len(ops) && Check(part, reads, limit) == Wrong {
				ops, at = part, kept
			} else {
				at = end
			}
		}
	}
	return ops
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

// Draw writes a page that shows a history and how far an order of it was found.
func Draw(ops []*Op, reads Reads, limit time.Duration, path string) error {
	model := reads.model()
	_, info := porcupine.CheckOperationsVerbose(model, reads.steps(ops), limit)
	return porcupine.VisualizePath(model, info, path)
}
