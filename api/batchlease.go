package api

import (
	"fmt"
	"sync/atomic"
)

// itemBudget bounds the items of all batches that are in memory, and so the memory
// that they take.
type itemBudget struct {
	max  int64
	used atomic.Int64
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
	if l.budget.used.Add(leaseItems) > l.budget.max {
		l.budget.used.Add(-leaseItems)
		return newProblem(codeUnavailable, fmt.Sprintf("nothing was done: batches with %d items are in work, try again", l.budget.max)).
			withHeader("Retry-After", retryAfterSeconds)
	}
	l.taken += leaseItems
	return nil
}

func (l *itemLease) release() { l.budget.used.Add(-l.taken) }
