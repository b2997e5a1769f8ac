package history

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Reads says what reads promise.
type Reads uint8

// The promises.
const (
	// Linearizable reads see each write at one moment.
	Linearizable Reads = iota

	// OfEitherReplica is what NDB does where a table has read backup: a commit
	// reaches the replicas of a row one after another, and the client hears of it
	// once it has reached both. A read is served by either replica, without a lock.
	// So until a write is acknowledged one read may see the new row and a later one
	// the old row again, even after a 404, 409 or 412 by which another client knew
	// of the new one. Once it is acknowledged, every read sees it. Writes, their
	// preconditions and what they return go by the locked row and are linearizable,
	// and the next change of a row begins when both replicas have the one before.
	OfEitherReplica
)

// state is what the replicas hold. They differ while a commit is under way.
type state struct {
	row    Row
	before Row // on the replica that the commit has not reached
	commit *Op // that is under way; nil: none, and before counts for nothing
}

func (s state) settled() state { return state{row: s.row} }

func (s state) String() string {
	if s.commit == nil {
		return s.row.String()
	}
	return fmt.Sprintf("%v, elsewhere %v", s.row, s.before)
}

// step is an operation as porcupine orders it. An acknowledged write is two: it
// reaches the first replica, and then the last.
type step struct {
	*Op
	last bool
}

func (r Reads) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, input, _ any) (bool, any) {
			ok, next := r.step(s.(state), input.(step))
			return ok, next
		},
		DescribeOperation: func(input, _ any) string {
			s := input.(step)
			if s.last {
				return "the write has reached every replica"
			}
			return s.String()
		},
		DescribeState: func(s any) string { return s.(state).String() },
	}
}

// step tells whether the operation can be the next one, and what it leaves.
func (r Reads) step(s state, next step) (bool, state) {
	switch {
	case next.last:
		return s.commit == next.Op, s.settled()
	case next.isWrite() && s.commit != nil && s.commit.Outcome != Unknown:
		return false, s // the next change waits for the last replica
	default:
		return r.apply(s, next.Op)
	}
}

// apply tells whether an operation can have its effect now.
func (r Reads) apply(s state, o *Op) (bool, state) {
	if o.Kind == Get {
		return s.row == o.seen() || !o.Settled && s.commit != nil && s.before == o.seen(), s
	}
	row, outcome := o.apply(s.row)
	if o.Outcome != Unknown && (outcome != o.Outcome || o.Saw != nil && *o.Saw != row) {
		return false, s
	}
	if row == s.row {
		return true, s
	}
	after := state{row: row}
	if r == OfEitherReplica {
		after.before, after.commit = s.row, o
		if o.Outcome == Unknown {
			after.commit = someUnknown
		}
	}
	return true, after
}

// someUnknown stands for any write of unknown outcome, of which nobody ever hears
// that it has reached every replica.
var someUnknown = &Op{Outcome: Unknown}

// seen is the row that a get was told of.
func (o *Op) seen() Row {
	if o.Saw == nil {
		return Row{}
	}
	return *o.Saw
}

// steps gives porcupine the operations of a history.
func (r Reads) steps(ops []*Op) []porcupine.Operation {
	var steps []porcupine.Operation
	for lane, o := range ops {
		next := porcupine.Operation{ClientId: lane, Input: step{Op: o}, Call: int64(o.Call), Return: int64(o.Return)}
		if o.Outcome == Unknown {
			next.Return = int64(seenBy(o, ops)) // it has happened when somebody has seen it
		}
		steps = append(steps, next)
		if r == OfEitherReplica && o.isWrite() && o.Outcome != Unknown {
			next.Input = step{Op: o, last: true}
			steps = append(steps, next)
		}
	}
	return steps
}
