package parity

import (
	"context"
	"slices"
	"time"
)

// What may be spent on making a history shorter.
const (
	maxReplays    = 400
	maxShortening = 30 * time.Second
)

// shortener makes a history shorter that leads to a difference.
type shortener struct {
	*bed
	ctx     context.Context
	until   time.Time
	replays int
	found   *mismatch // of the last history that differs returned
	err     error
}

// shorten leaves out of the history what the difference needs not, and returns
// what the shortest one shows. Where the difference does not come again, that is
// nil, and the history stays as it is, but for the rows of others.
func (b *bed) shorten(ctx context.Context, history []step) ([]step, *mismatch, error) {
	s := &shortener{bed: b, ctx: ctx, until: time.Now().Add(maxShortening)}
	last := history[len(history)-1]
	about := slices.DeleteFunc(slices.Clone(history), func(s step) bool { return last.id != 0 && !s.isAbout(last.id) })
	best := s.differs(about)
	if best == nil {
		best = s.differs(history)
	}
	if best == nil {
		return about, nil, s.err
	}
	for before := len(best) + 1; len(best) < before; { // what is simpler may need less
		before = len(best)
		best = s.simplify(s.leaveOut(best))
	}
	return best, s.found, s.err
}

// differs plays a history, and returns it up to the step that shows a difference,
// or nil where none does.
func (s *shortener) differs(history []step) []step {
	if s.replays == maxReplays || time.Now().After(s.until) || s.err != nil {
		return nil
	}
	s.replays++
	tally := s.tally
	s.tally = Tally{} // counts only what was done for the first time
	done, found, err := s.play(s.ctx, history)
	s.tally, s.err = tally, err
	if found == nil || err != nil {
		return nil
	}
	s.found = found
	return history[:done]
}

// leaveOut tries without half of the steps, without a quarter, and so on.
func (s *shortener) leaveOut(history []step) []step {
	for size := len(history) / 2; size > 0; size /= 2 {
		for start := 0; start+size < len(history); { // the last step stays
			without := slices.Delete(slices.Clone(history), start, start+size)
			if shorter := s.differs(without); shorter != nil {
				history = shorter
				continue
			}
			start += size
		}
	}
	return history
}

// simplify puts smaller actions in place of others, from the last one on.
func (s *shortener) simplify(history []step) []step {
	for i := len(history) - 1; i >= 0; i-- {
		for again := true; again && i < len(history); {
			again = false
			for _, a := range history[i].smaller() {
				with := slices.Clone(history)
				with[i].action = a
				if shorter := s.differs(with); shorter != nil {
					history, again = shorter, true
					break
				}
			}
		}
	}
	return history
}
