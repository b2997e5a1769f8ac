package store

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	// sweepEvery is the time between two sweeps of one gateway, on average.
	sweepEvery = time.Minute
	// sweepStepTimeout bounds each step of a sweep.
	sweepStepTimeout = 5 * time.Second
)

// SweepAnswers removes expired answers until ctx ends. Each gateway has one
// goroutine for it. The sweeps of several gateways are about a minute apart, in no
// rhythm. A sweep goes in steps of at most MaxForget answers, and rests after each
// one as long as that took, so that it takes no more than half of one connection.
// It takes one road, since all of them have the same table as a rule: another one
// each time, and the next one where that fails. Of failures it tells the log
// alone: who finds an expired answer treats it as none.
func SweepAnswers(ctx context.Context, backends *Registry, log *slog.Logger) {
	names := backends.Names()
	for turn := 0; rest(ctx, sweepEvery); turn++ {
		for i := range names {
			name := names[(turn+i)%len(names)]
			_, backend, _ := backends.Lookup(name)
			forgotten, err := sweep(ctx, backend)
			if forgotten > 0 {
				log.Debug("expired answers are removed", "backend", name, "answers", forgotten)
			}
			if err == nil || ctx.Err() != nil {
				break
			}
			level := slog.LevelWarn
			if errors.Is(err, ErrUnavailable) { // which others tell of
				level = slog.LevelDebug
			}
			log.Log(ctx, level, "expired answers are not removed", "backend", name, "error", err.Error())
		}
	}
}

// sweep removes all answers that have expired.
func sweep(ctx context.Context, road Idempotency) (forgotten int, err error) {
	for {
		begun := time.Now()
		n, err := sweepStep(ctx, road, begun)
		forgotten += n
		if err != nil || n < MaxForget || !rest(ctx, time.Since(begun)) {
			return forgotten, err
		}
	}
}

func sweepStep(ctx context.Context, road Idempotency, now time.Time) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepStepTimeout)
	defer cancel()
	return road.ForgetAnswers(ctx, now, MaxForget)
}

// rest waits for about d, half of it at least and half more at most, and tells
// whether ctx goes on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
