package loadtest

import (
	"testing"
	"time"
)

func TestPacer_AnyRate_TimesNeverFall(t *testing.T) {
	for _, arrivals := range []Arrivals{Constant, Poisson} {
		for _, rate := range []float64{1e-300, 1e-9, 0.5, 1000, 1e7} {
			p := newPacer(rate, arrivals, newRand(1, 0, 0))
			last := time.Duration(0)
			for i := range 10_000 {
				at := p.next()
				if at < last {
					t.Fatalf("%s, %v in a second: operation %d: got %v after %v", arrivals, rate, i, at, last)
				}
				last = at
			}
			if rate <= 0.5 && last < time.Hour {
				t.Errorf("%s, %v in a second: got %v for 10,000 operations", arrivals, rate, last)
			}
		}
	}
}
