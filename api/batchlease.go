package api

import (
	"fmt"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/models"
)

// itemBudget bounds the items of all batches that are in memory, and so the memory
// that they take.
type itemBudget struct {
	max  int64
	used atomic.Int64
}

// shared is what batches may take beyond their first leaseItems. The rest, a quarter
// where the largest batch leaves so much, is for small ones: large ones whose
// bodies come slowly, or never end, do not keep them out.
func (b *itemBudget) shared() int64 {
	return min(b.max, max(b.max-b.max/4, models.MaxBatchItems))
}

// leaseItems is how many items a batch takes out of the budget at a time.
const leaseItems = 1000

// itemLease is what one batch has taken.
type itemLease struct {
	budget *itemBudget
	taken  int64
}

func (b *itemBudget) lease() *itemLease { return &itemLease{budget: b} }

// grow makes room for n items of the batch, or returns a problem at once.
func (l *itemLease) grow(n int) error {
	if int64(n) <= l.taken {
		return nil
	}
	limit := l.budget.max
	if l.taken > 0 {
		limit = l.budget.shared()
	}
	if l.budget.used.Add(leaseItems) > limit {
		l.budget.used.Add(-leaseItems)
		return newProblem(codeUnavailable, fmt.Sprintf("nothing was done: batches with %d items are in work, try again", limit)).
			withHeader("Retry-After", retryAfterSeconds)
	}
	l.taken += leaseItems
	return nil
}

func (l *itemLease) release() { l.budget.used.Add(-l.taken) }
