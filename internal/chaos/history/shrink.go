package history

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Shrink returns a smaller part of a wrong history that is wrong, too: all that
// happened until the first answer that cannot be, without the operations that are
// not needed to see it. Each check of it may take the limit.
func Shrink(ops []*Op, reads Reads, limit time.Duration) []*Op {
	isWrong := func(part []*Op) bool { return Check(part, reads, limit) == Wrong }
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })

	ends := returns(ops)
	n := sort.Search(len(ends), func(i int) bool { return isWrong(until(ops, ends[i])) })
	if n == len(ends) {
		return ops // not decided often enough
	}
	ops = until(ops, ends[n])

	// What did not change the row may be left out of a right history, and what
	// nobody knows about may not have happened.
	for size := len(ops) / 2; size > 0; size /= 2 {
		for at := 0; at < len(ops); {
			end := min(at+size, len(ops))
			part := slices.Clone(ops[:at])
			for _, o := range ops[at:end] {
				if o.isWrite() && o.Outcome != Unknown {
					part = append(part, o)
				}
			}
			kept := len(part)
			part = append(part, ops[end:]...)
			if len(part) < len(ops) && isWrong(part) {
				ops, at = part, kept
			} else {
				at = end
			}
		}
	}
	return ops
}

// Draw writes a page that shows a history and how far an order of it was found.
func Draw(ops []*Op, reads Reads, limit time.Duration, path string) error {
	model := reads.model()
	_, info := porcupine.CheckOperationsVerbose(model, reads.steps(ops), limit)
	return porcupine.VisualizePath(model, info, path)
}
