package api

import (
	"fmt"
	"sync/atomic"
)

// defaultMaxInFlight is eight times the default size of a road's pool: whoever
// gets a place waits for some seven others of the same pool, which is far from
// the deadline, and enough for all connections of the pool to have work all the
// time.
const defaultMaxInFlight = 8 * 64

// places bounds the requests that are at one road at the same time. Each road has
// its own, so that one that hangs takes nothing from the others. It is safe for
// concurrent use.
type places struct {
	max   int64
	taken atomic.Int64
}

// take is false at once where none is left.
func (p *places) take() bool {
	if p.taken.Add(1) > p.max {
		p.taken.Add(-1)
		return false
	}
	return true
}

func (p *places) release() { p.taken.Add(-1) }

// takePlace returns a problem where the road has none left.
func (x *exchange) takePlace() error {
	if x.places == nil || x.placed {
		return nil
	}
	if !x.places.take() {
		return newProblem(codeOverloaded, fmt.Sprintf("nothing was done: %d requests are at the backend %s already; try again later, or choose another backend",
			x.places.max, x.road)).withHeader("Retry-After", retryAfterSeconds)
	}
	x.placed = true
	return nil
}

// leavePlace may be called again, and where no place was taken.
func (x *exchange) leavePlace() {
	if x.placed {
		x.placed = false
		x.places.release()
	}
}
