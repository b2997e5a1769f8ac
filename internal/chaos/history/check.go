package history

import "time"

// Verdict is the result of a check.
type Verdict uint8

// The verdicts.
const (
	Right     Verdict = iota // there is an order in which every answer is right
	Wrong                    // there is none
	Undecided                // the time or the memory was over
)

func (v Verdict) String() string { return [...]string{"right", "wrong", "not decided"}[v] }

// Check looks at the history of one row, in any order, for at most about the
// limit. The row is absent before the first operation. It tells the same as
// porcupine, which does not come to an end on what a dozen clients at one row and
// a dozen writes of unknown outcome leave.
func Check(ops []*Op, reads Reads, limit time.Duration) Verdict {
	verdict, _ := check(ops, reads, limit)
	return verdict
}

// check also returns the moment at which a wrong history has become wrong.
func check(ops []*Op, reads Reads, limit time.Duration) (verdict Verdict, at time.Duration) {
	s := newSearch(ops, reads, limit)
	for _, e := range eventsOf(ops) {
		if e.isCall {
			if !s.call(e) {
				return Undecided, e.at
			}
		} else if verdict := s.ret(e.op, e.at); verdict != Right {
			return verdict, e.at
		}
	}
	return Right, 0
}
