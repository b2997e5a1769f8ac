package store

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// An assigned ID is 41 bits of milliseconds since idEpoch above 12 bits of a
// counter: it grows with time, stays below 2^53 until the year 2094, and
// JavaScript keeps it exactly.
const idCounterBits = 12

var idEpoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// IDs assigns IDs to new employees. IDs of one process never repeat while its
// clock does not run back over a restart; two processes can meet, so whoever
// inserts an assigned ID takes another one on ErrConflict. Safe for concurrent
// use.
type IDs struct {
	last atomic.Int64
	now  func() time.Time
}

// NewIDs returns a source of IDs. The clock is time.Now where now is nil.
func NewIDs(now func() time.Time) *IDs {
	if now == nil {
		now = time.Now
	}
	return &IDs{now: now}
}

// Next returns an ID greater than all that it returned before.
func (g *IDs) Next() int64 {
	// A random counter in a new millisecond keeps processes apart; half of
	// the range stays free for those that follow in the same millisecond.
	fresh := g.now().Sub(idEpoch).Milliseconds()<<idCounterBits | rand.Int64N(1<<(idCounterBits-1))
	for {
		last := g.last.Load()
		next := max(fresh, last+1)
		if g.last.CompareAndSwap(last, next) {
			return next
		}
	}
}
