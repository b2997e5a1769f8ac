package history

import "time"

// search goes through a history in time and keeps every state that the row may
// be in, with the operations under way that have had their effect to get there.
// At a return those stay, or are found, in which the operation has had its
// effect. The idea is G. Lowe's, Testing for Linearizability: just in time.
type search struct {
	reads    Reads
	open     []openOp // called and not returned
	possible []position
	now      time.Duration
	gets     map[Row][]*Op // by what they saw
	named    map[name]time.Duration
	deadline time.Time
}

// openOp is an operation under way.
type openOp struct {
	op     *Op // nil: the place is free
	origin *Op // op before it lost its name

	// A write that left no trace may never have happened. It is as good as others
	// of its class; these were called before it.
	traceless bool
	class     places
}

// position is one possibility.
type position struct {
	state state
	did   places // those of search.open that have had their effect
}

// maxPositions bounds the memory of a search, to some 200 MB.
const maxPositions = 500_000

func newSearch(ops []*Op, reads Reads, limit time.Duration) *search {
	s := &search{
		reads: reads, possible: []position{{}}, gets: map[Row][]*Op{}, named: namesIn(ops), deadline: time.Now().Add(limit),
	}
	for _, o := range ops {
		if o.Kind == Get {
			s.gets[o.seen()] = append(s.gets[o.seen()], o)
		}
	}
	return s
}

// call takes an operation in. It returns false where too many are under way.
func (s *search) call(e event) bool {
	o := openOp{op: e.op, origin: e.op, traceless: e.traceless}
	place := len(s.open)
	if e.traceless {
		o.op = e.op.nameless()
	}
	for i, other := range s.open {
		switch {
		case other.op == nil:
			place = i
		case e.traceless && other.traceless && o.op.isLike(other.op):
			o.class = o.class.with(i)
		}
	}
	if place == maxOpen {
		return false
	}
	if place == len(s.open) {
		s.open = append(s.open, o)
	} else {
		s.open[place] = o
	}
	return true
}

// ret leaves the positions in which an operation has had its effect.
func (s *search) ret(o *Op, at time.Duration) Verdict {
	s.now = at
	place := 0
	for s.open[place].origin != o {
		place++
	}
	next, seen := newPositions(s.traceless()), newPositions(s.traceless())
	for _, p := range s.possible {
		seen.add(p)
	}
	for n := 0; n < len(seen.all); n++ {
		if n%1024 == 0 && time.Now().After(s.deadline) || len(seen.all)+len(next.all) > maxPositions {
			return Undecided
		}
		p := s.settleReads(seen.all[n])
		if p.did.has(place) {
			p.did = p.did.without(place)
			if p.state.commit == o {
				p.state = p.state.settled() // it is told when every replica has it
			}
			next.add(p)
			continue
		}
		for i := range s.open {
			if after, ok := s.after(p, i); ok {
				seen.add(after)
			}
		}
	}
	s.open[place] = openOp{}
	s.possible = next.all
	if len(s.possible) == 0 {
		return Wrong
	}
	return Right
}

// after is the position after one more operation has its effect.
func (s *search) after(p position, i int) (position, bool) {
	o := &s.open[i]
	if o.op == nil || p.did.has(i) || !o.class.isWithin(p.did) {
		return p, false
	}
	ok, next := s.reads.apply(p.state, o.op)
	return position{s.simplified(next), p.did.with(i)}, ok
}

// simplified leaves out of a state what no answer tells from now on: so there are
// fewer of them.
func (s *search) simplified(p state) state {
	if p.commit != nil && !s.isReadElsewhere(p) {
		p = p.settled()
	}
	p.row = p.row.forgetting(s.named, s.now)
	return p
}

// isReadElsewhere tells whether somebody read what another replica has.
func (s *search) isReadElsewhere(p state) bool {
	for _, get := range s.gets[p.before] {
		if get.Return >= s.now && !get.Settled && (p.commit == someUnknown || get.Call <= p.commit.Return) {
			return true
		}
	}
	return false
}

// settleReads has all reads and refusals that are right now happen now: later they
// can only be as right. A write that changes nothing now might be of use later.
func (s *search) settleReads(p position) position {
	for i := range s.open {
		if after, ok := s.after(p, i); ok && after.state == p.state && !s.open[i].op.isWrite() {
			p = after
		}
	}
	return p
}

func (s *search) traceless() (set places) {
	for i, o := range s.open {
		if o.traceless {
			set = set.with(i)
		}
	}
	return set
}

// positions are possibilities of which none is worse than another one: with the
// same state and the same operations that had their effect, but for more of those
// that may never happen.
type positions struct {
	all       []position
	traceless places
	best      map[position][]places
}

func newPositions(traceless places) *positions {
	return &positions{traceless: traceless, best: map[position][]places{}}
}

func (s *positions) add(p position) {
	optional, must := p.did.split(s.traceless)
	key := position{p.state, must}
	for _, better := range s.best[key] {
		if better.isWithin(optional) {
			return
		}
	}
	s.best[key] = append(s.best[key], optional)
	s.all = append(s.all, p)
}
