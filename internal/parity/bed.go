package parity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// bed is where steps are done.
type bed struct {
	twins [2][2]*side // by twin and road, the native one first
	tally Tally
}

func newBed(twins [2]Twin) *bed {
	return &bed{
		twins: [2][2]*side{newSides("first", twins[0]), newSides("second", twins[1])},
		tally: Tally{},
	}
}

// all lists the sides.
func (b *bed) all() []*side {
	return []*side{b.twins[0][0], b.twins[0][1], b.twins[1][0], b.twins[1][1]}
}

// of lists the sides that do a step.
func (b *bed) of(s step) []*side {
	switch {
	case s.reads:
		return b.all()
	case s.native:
		return []*side{b.twins[0][0], b.twins[1][1]}
	default:
		return []*side{b.twins[0][1], b.twins[1][0]}
	}
}

// mismatch is a set of outcomes of which not all are as they should be.
type mismatch struct {
	step     step
	about    string // what was done; empty: the step itself
	sides    []*side
	outcomes []outcome
}

func (m mismatch) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the roads differ\n%s", m.step)
	if m.about != "" {
		fmt.Fprintf(&b, "\n%s", m.about)
	}
	for i, s := range m.sides {
		fmt.Fprintf(&b, "\n  %s:\n    %s", s, strings.ReplaceAll(m.outcomes[i].String(), "\n", "\n    "))
	}
	return b.String()
}

// play does the steps with tables that are empty at first. done counts the steps
// up to the one that shows a difference, if any does.
func (b *bed) play(ctx context.Context, steps []step) (done int, found *mismatch, err error) {
	if err := b.clear(ctx); err != nil {
		return 0, nil, err
	}
	m := newMemory()
	for i, s := range steps {
		if err := ctx.Err(); err != nil {
			return i, nil, err
		}
		if found := b.do(ctx, s, m); found != nil {
			return i + 1, found, nil
		}
	}
	return len(steps), nil, nil
}

// do does one step and then has all sides show the row that it was about, or all
// rows.
func (b *bed) do(ctx context.Context, s step, m *memory) *mismatch {
	outcomes, found := b.compare(ctx, s, "", s.action, b.of(s), m)
	b.tally[outcomes[0].name]++
	switch {
	case found != nil:
		return found
	case s.many:
		return b.lookAtAll(ctx, s, outcomes[0], m)
	case s.id == 0:
		return nil
	}
	now, found := b.compare(ctx, s, "then GET", get(s.id), b.all(), m)
	if found != nil {
		return found
	}
	if now[0].shown != nil {
		m.saw(s.id, now[0].shown.etag)
	}
	// Both roads could show what neither has stored.
	written := outcomes[0].shown
	if !s.reads && written != nil && !outcomes[0].replayed && !written.isShownBy(now[0].shown) {
		return &mismatch{
			step: s, about: "answered otherwise than a GET after it",
			sides: []*side{b.of(s)[0], b.all()[0]}, outcomes: []outcome{outcomes[0], now[0]},
		}
	}
	return nil
}

// compare does an action on sides.
func (b *bed) compare(ctx context.Context, s step, about string, a action, sides []*side, m *memory) ([]outcome, *mismatch) {
	outcomes := make([]outcome, len(sides))
	differ := false
	for i, side := range sides {
		outcomes[i] = a.do(ctx, side, m)
		differ = differ || outcomes[i].same != outcomes[0].same || outcomes[i].wrong != ""
	}
	if n, ok := a.(noting); ok && !differ {
		n.note(outcomes[0], m)
	}
	if differ {
		return outcomes, &mismatch{step: s, about: about, sides: sides, outcomes: outcomes}
	}
	return outcomes, nil
}

// noting is an action that leaves something for those behind it.
type noting interface {
	note(o outcome, m *memory)
}

// clear removes all rows and kept answers of both twins.
func (b *bed) clear(ctx context.Context) error {
	for _, twin := range b.twins {
		if err := errors.Join(twin[1].clear(ctx), twin[1].forget(ctx)); err != nil {
			return fmt.Errorf("clear the %s twin: %w", twin[1].twin, err)
		}
	}
	return nil
}

func (s *side) clear(ctx context.Context) error {
	if s.others != nil {
		_, err := s.others.ExecContext(ctx, "DELETE FROM employee")
		return err
	}
	rows, err := s.rows.List(ctx, models.EmployeeQuery{Limit: math.MaxInt32})
	for _, e := range rows.Employees {
		err = errors.Join(err, s.rows.Delete(ctx, e.ID, store.Precondition{}))
	}
	return err
}

// forget removes the kept answers, where there is a table of them.
func (s *side) forget(ctx context.Context) error {
	for {
		n, err := s.rows.ForgetAnswers(ctx, time.UnixMilli(math.MaxInt64), store.MaxForget)
		if errors.Is(err, store.ErrNoAnswers) {
			return nil
		}
		if err != nil || n < store.MaxForget {
			return err
		}
	}
}
