package store_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

const maxSafeInteger = 1<<53 - 1 // of JavaScript

func TestIDs_GrowWithTime(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	ids := store.NewIDs(func() time.Time { return now })
	last := int64(0)
	for range 1000 {
		id := ids.Next()
		if id <= last || id > maxSafeInteger {
			t.Fatalf("got %d after %d", id, last)
		}
		last = id
		now = now.Add(time.Millisecond)
	}
}

// A clock that stands still or runs back gives no ID twice.
func TestIDs_GrowWithoutTime(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	ids := store.NewIDs(func() time.Time { return now })
	last := ids.Next()
	for i := range 100_000 {
		if i == 50_000 {
			now = now.Add(-time.Hour)
		}
		id := ids.Next()
		if id <= last {
			t.Fatalf("got %d after %d", id, last)
		}
		last = id
	}
}

func TestIDs_OfTwoProcessesDiffer(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	same := 0
	for range 1000 {
		one, other := store.NewIDs(clock), store.NewIDs(clock)
		if one.Next() == other.Next() {
			same++
		}
	}
	if same > 100 {
		t.Errorf("got %d of 1000 equal first IDs", same)
	}
}

func TestIDs_StaySafeForJavaScript(t *testing.T) {
	for year := 2025; year <= 2093; year++ {
		now := time.Date(year, time.December, 31, 23, 59, 59, 0, time.UTC)
		if id := store.NewIDs(func() time.Time { return now }).Next(); id < 1 || id > maxSafeInteger {
			t.Errorf("%d: got %d", year, id)
		}
	}
}

func TestIDs_UniqueUnderConcurrency(t *testing.T) {
	const goroutines, each = 16, 2000
	ids := store.NewIDs(nil)
	all := make([]int64, goroutines*each)
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := range each {
				all[g*each+i] = ids.Next()
			}
		})
	}
	running.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != goroutines*each {
		t.Errorf("got %d different IDs, want %d", n, goroutines*each)
	}
}
