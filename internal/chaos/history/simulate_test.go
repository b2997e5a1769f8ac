package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// simulation makes a true history: clients whose operations overlap, of which
// each takes effect at one moment between call and return, or, where its outcome
// is unknown, at any later one or never.
type simulation struct {
	random  *rand.Rand
	now     time.Duration
	row     Row
	seen    []Row
	waiting []*Op // called, without effect so far
	done    []*Op // with effect, not returned
	late    []*Op // of unknown outcome, without effect so far
	ops     []*Op
}

func simulate(seed uint64, operations, clients int) []*Op {
	s := &simulation{random: rand.New(rand.NewPCG(seed, 0))}
	for called := 0; called < operations || len(s.waiting)+len(s.done) > 0; s.now++ {
		switch n := s.random.IntN(4); {
		case n == 0 && called < operations && len(s.waiting)+len(s.done) < clients:
			called++
			s.call(called)
		case n == 1 && len(s.waiting) > 0:
			s.effect()
		case n == 2 && len(s.done) > 0:
			s.done = s.ends(s.done)
		case n == 3 && len(s.late) > 0 && s.random.IntN(8) == 0:
			o := s.take(&s.late)
			s.row, _ = o.apply(s.row)
		}
	}
	return s.ops
}

func (s *simulation) call(n int) {
	o := &Op{Client: n, Kind: Kind(s.random.IntN(5)), Call: s.now}
	unique := fmt.Sprint("v", n)
	o.Value = Row{Present: true, First: unique, Last: unique, City: unique, Department: int32(n)}
	if o.Kind == Patch {
		o.Columns = Columns(1 + s.random.IntN(int(allColumns)))
	}
	if len(s.seen) > 0 && o.Kind >= Put && s.random.IntN(3) == 0 {
		match := s.seen[max(0, len(s.seen)-1-s.random.IntN(2))]
		o.Match = &match
	} else if o.Kind == Put {
		o.Absent = s.random.IntN(4) == 0
	}
	s.waiting = append(s.waiting, o)
	s.ops = append(s.ops, o)
}

func (s *simulation) take(from *[]*Op) *Op {
	i := s.random.IntN(len(*from))
	o := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return o
}

func (s *simulation) effect() {
	o := s.take(&s.waiting)
	if o.Kind != Get && s.random.IntN(40) == 0 {
		o.Outcome, o.Return = Unknown, s.now
		if s.random.IntN(2) == 0 {
			s.late = append(s.late, o)
		}
		return
	}
	s.row, o.Outcome = o.apply(s.row)
	if o.Kind == Get && o.Outcome == Done || o.Kind == Patch && o.Outcome == Done && s.random.IntN(2) == 0 {
		row := s.row
		o.Saw = &row
		s.seen = append(s.seen, row)
	}
	s.done = append(s.done, o)
}

func (s *simulation) ends(open []*Op) []*Op {
	s.take(&open).Return = s.now
	return open
}

const simulations = 50

var promises = []Reads{Linearizable, OfEitherReplica}

func TestCheck_TrueHistories_AreRight(t *testing.T) {
	for seed := range uint64(simulations) {
		ops := simulate(seed, 300, 6)
		for _, reads := range promises {
			if got := Check(ops, reads, checkLimit); got != Right {
				t.Errorf("seed %d, reads %d: got %v, want right", seed, reads, got)
			}
		}
	}
}

// TestCheck_AgreesWithPorcupine spoils histories that are small enough for it.
func TestCheck_AgreesWithPorcupine(t *testing.T) {
	count := map[porcupine.CheckResult]int{}
	for seed := range uint64(10 * simulations) {
		ops := simulate(seed, 24, 4)
		spoil(ops, rand.New(rand.NewPCG(seed, 1)))
		for _, reads := range promises {
			want := porcupine.CheckOperationsTimeout(reads.model(), reads.steps(ops), checkLimit)
			count[want]++
			if got := Check(ops, reads, checkLimit); (got == Right) != (want == porcupine.Ok) || got == Undecided {
				t.Errorf("seed %d, reads %d: got %v, want %v as porcupine has it", seed, reads, got, want)
			}
		}
	}
	if count[porcupine.Ok] < simulations || count[porcupine.Illegal] < simulations {
		t.Errorf("got results %v, want enough of both", count)
	}
}

// spoil exchanges what two answers saw, or what they were.
func spoil(ops []*Op, random *rand.Rand) {
	a, b := ops[random.IntN(len(ops))], ops[random.IntN(len(ops))]
	switch {
	case a.Kind == Get && b.Kind == Get:
		a.Saw, b.Saw = b.Saw, a.Saw
		a.Outcome, b.Outcome = b.Outcome, a.Outcome
	case a.Kind == b.Kind && a.Outcome != Unknown && b.Outcome != Unknown && a.Saw == nil && b.Saw == nil:
		a.Outcome, b.Outcome = b.Outcome, a.Outcome
	}
}

// TestCheck_OneWrongAnswer_IsFound makes one answer of a true history wrong: a
// get returns a row that was gone before its call.
func TestCheck_OneWrongAnswer_IsFound(t *testing.T) {
	for seed := range uint64(simulations) {
		ops := simulate(seed, 200, 6)
		get, old := staleGet(ops)
		if get == nil {
			continue
		}
		get.Saw, get.Outcome = &old, Done
		if got := Check(ops, OfEitherReplica, checkLimit); got != Wrong {
			t.Errorf("seed %d: got %v for a stale %v at %v, want wrong", seed, got, get, get.Call)
		}
	}
}

// staleGet finds a get, and a row that an acknowledged put had written which was
// replaced as a whole by another acknowledged put, both before the get.
func staleGet(ops []*Op) (get *Op, old Row) {
	var puts []*Op
	for _, o := range ops {
		if o.Kind == Put && o.isWrite() && o.Outcome != Unknown {
			puts = append(puts, o)
		}
	}
	for _, o := range slices.Backward(ops) {
		if o.Kind != Get {
			continue
		}
		for _, first := range puts {
			for _, second := range puts {
				if first.Return < second.Call && second.Return < o.Call {
					return o, first.Value
				}
			}
		}
	}
	return nil, Row{}
}
