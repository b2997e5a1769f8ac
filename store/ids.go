package store

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// An assigned ID is 33 bits that count quarters of a second (256 ms) since
// idEpoch, above 8 bits for one of 256 blocks and 12 bits for one of its 4096
// IDs: it grows with time, stays below 2^53 until the year 2094, and JavaScript
// keeps it exactly.
//
// Each source takes a block at random for each quarter in which it is used, and
// its IDs in turn. Who has used up a block goes on with the next. So two gateways
// meet where they take the same of 256 blocks, in one quarter of 256 where both
// are busy, and then once: the one that comes second learns it from the database
// (ErrConflict) and goes on in another block. Nothing has to be agreed upon or
// leased for that, whatever road a gateway has, and it costs one more round trip
// a minute for two gateways at full speed.
const (
	idQuarter   = 256 * time.Millisecond
	idBlockBits = 12
	idBlocks    = 256
	idTimeShift = 20 // of the quarters
)

var idEpoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// IDs assigns IDs to new employees. IDs of one process never repeat while its
// clock does not run back over a restart; two processes can meet, so whoever
// inserts an assigned ID takes another one, by NextAfter, on ErrConflict. Safe for
// concurrent use.
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
func (g *IDs) Next() int64 { return g.NextRun(1) }

// NextRun returns the first of n IDs that follow each other, all greater than
// those that were returned before. n is at least 1.
func (g *IDs) NextRun(n int) int64 {
	quarter := int64(g.now().Sub(idEpoch) / idQuarter)
	for {
		last := g.last.Load()
		first := last + 1
		if last>>idTimeShift < quarter {
			first = quarter<<idTimeShift | rand.Int64N(idBlocks)<<idBlockBits
		}
		if g.last.CompareAndSwap(last, first+int64(n)-1) {
			return first
		}
	}
}

// NextAfter is Next for somebody whose ID, from here, was taken: the rest of its
// block is left to the other one.
func (g *IDs) NextAfter(taken int64) int64 {
	for last := g.last.Load(); last>>idBlockBits == taken>>idBlockBits; last = g.last.Load() {
		other := last>>idBlockBits + 1 + rand.Int64N(idBlocks)
		if g.last.CompareAndSwap(last, other<<idBlockBits-1) {
			break
		}
	}
	return g.Next()
}
