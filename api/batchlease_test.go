package api

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func TestItemLease_LargeBatches_LeaveRoomForSmallOnes(t *testing.T) {
	budget := &itemBudget{max: 2 * models.MaxBatchItems}
	grow := func(l *itemLease, n int) error {
		for i := leaseItems; i <= n; i += leaseItems {
			if err := l.grow(i); err != nil {
				return err
			}
		}
		return nil
	}
	stalled, second := budget.lease(), budget.lease()
	if err := grow(stalled, models.MaxBatchItems); err != nil {
		t.Fatal(err)
	}
	if problem, ok := errors.AsType[*problem](grow(second, models.MaxBatchItems)); !ok || problem.Code != codeUnavailable {
		t.Errorf("got %v, want a second one to be refused", problem)
	}
	small := 0
	for budget.lease().grow(leaseItems) == nil {
		small++
	}
	if small != 25 {
		t.Errorf("got %d small batches beside two large ones, want 25", small)
	}
	stalled.release()
	second.release()
	if got := budget.used.Load(); got != 25*leaseItems {
		t.Errorf("got %d items in work, want those of the small ones", got)
	}
}

func TestItemLease_LargestBatch_FitsTheSmallestBudget(t *testing.T) {
	budget := &itemBudget{max: models.MaxBatchItems}
	lease := budget.lease()
	for n := 1; n <= models.MaxBatchItems; n++ {
		if err := lease.grow(n); err != nil {
			t.Fatal(err)
		}
	}
}
