package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

// sweptRoad has expired answers, and counts how they are asked for.
type sweptRoad struct {
	store.Unavailable
	expired int
	err     error
	takes   time.Duration
	steps   []time.Time
}

func (r *sweptRoad) ForgetAnswers(ctx context.Context, now time.Time, limit int) (int, error) {
	r.steps = append(r.steps, now)
	if r.err != nil {
		return 0, r.err
	}
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	n := min(r.expired, limit)
	r.expired -= n
	return n, nil
}

// sweepFor sweeps the roads for that long.
func sweepFor(t *testing.T, d time.Duration, roads ...*sweptRoad) {
	t.Helper()
	backends := store.NewRegistry("a0")
	for i, r := range roads {
		backends.Add(fmt.Sprintf("a%d", i), r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	store.SweepAnswers(ctx, backends, slog.New(slog.DiscardHandler))
}

func TestSweep_GoesOnInSteps_AndRestsBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const steps = 100
		r := &sweptRoad{expired: steps*store.MaxForget - 1, takes: 10 * time.Millisecond}
		begun := time.Now()
		sweepFor(t, 100*time.Second, r)
		if r.expired != 0 || len(r.steps) < steps || len(r.steps) > steps+2 {
			t.Fatalf("got %d answers left after %d steps, want 0 after %d", r.expired, len(r.steps), steps)
		}
		if first := r.steps[0].Sub(begun); first < 30*time.Second || first > 90*time.Second {
			t.Errorf("got the first step after %v, want about a minute", first)
		}
		if took := r.steps[steps-1].Sub(r.steps[0]); took < 3*steps/2*10*time.Millisecond*9/10 || took > 3*steps*10*time.Millisecond {
			t.Errorf("got %d steps in %v, want about twice the %v that they take", steps, took, r.takes)
		}
	})
}

func TestSweep_ComesBackEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &sweptRoad{}
		sweepFor(t, time.Hour, r)
		if n := len(r.steps); n < 45 || n > 80 {
			t.Errorf("got %d sweeps in an hour, want about 60", n)
		}
	})
}

func TestSweep_TakesTheRoadsInTurn_AndTheNextWhereOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := &sweptRoad{}, &sweptRoad{}
		sweepFor(t, time.Hour, one, other)
		if a, b := len(one.steps), len(other.steps); a < 20 || a-b > 1 || b-a > 1 {
			t.Errorf("got %d and %d sweeps, want them in turn", a, b)
		}
		for _, err := range []error{store.ErrUnavailable, store.ErrNoAnswers, context.DeadlineExceeded} {
			bad, good := &sweptRoad{err: err}, &sweptRoad{expired: 10}
			sweepFor(t, time.Hour, bad, good)
			if good.expired != 0 || len(good.steps) < 45 {
				t.Errorf("%v: got %d sweeps by the road that works", err, len(good.steps))
			}
		}
	})
}

func TestSweep_ARoadThatHangs_IsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &sweptRoad{takes: 24 * time.Hour}
		sweepFor(t, 10*time.Minute, r)
		if len(r.steps) < 5 {
			t.Errorf("got %d tries in 10 minutes", len(r.steps))
		}
	})
}
