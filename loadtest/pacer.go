package loadtest

import (
	"math/rand/v2"
	"sync"
	"time"
)

// pacer says when the operations of an open loop are to be sent. Safe for
// concurrent use.
type pacer struct {
	mu     sync.Mutex // guards what is below
	n      int64
	rate   float64    // per second
	random *rand.Rand // nil: at equal distances
	last   float64    // seconds, of random distances
}

func newPacer(rate float64, arrivals Arrivals, random *rand.Rand) *pacer {
	p := &pacer{rate: rate}
	if arrivals == Poisson {
		p.random = random
	}
	return p
}

// next gives the time of the next operation since the cell began.
func (p *pacer) next() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.random != nil {
		p.last += p.random.ExpFloat64() / p.rate
		return seconds(p.last)
	}
	// From the number, so that rounding does not add up.
	at := seconds(float64(p.n) / p.rate)
	p.n++
	return at
}

// never is later than any cell ends, and far from what a Duration cannot hold.
const never = 2 * maxDuration

func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), float64(never)))
}
