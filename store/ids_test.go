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

// processes are sources with one clock, which insert their IDs into one table.
type processes struct {
	now       time.Time
	sources   []*store.IDs
	taken     map[int64]bool
	conflicts int
}

func newProcesses(n int) *processes {
	p := &processes{now: time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC), taken: map[int64]bool{}}
	for range n {
		p.sources = append(p.sources, store.NewIDs(func() time.Time { return p.now }))
	}
	return p
}

// create inserts an employee as gateways do.
func (p *processes) create(t *testing.T, source *store.IDs) {
	t.Helper()
	id := source.Next()
	for range maxTries {
		if !p.taken[id] {
			p.taken[id] = true
			return
		}
		p.conflicts++
		id = source.NextAfter(id)
	}
	t.Fatalf("%d IDs in a row were taken", maxTries)
}

const maxTries = 8

// The number of conflicts is that of the package's documentation: about one in
// 256 quarters of a second for two gateways, whatever they do in it.
func TestIDs_OfFourProcesses_MeetSeldom(t *testing.T) {
	const quarters, each = 500, 200
	p := newProcesses(4)
	for range quarters {
		for range each {
			for _, source := range p.sources {
				p.create(t, source)
			}
		}
		p.now = p.now.Add(256 * time.Millisecond)
	}
	pairs := 6
	if want := pairs * quarters / 256; p.conflicts > 3*want {
		t.Errorf("got %d conflicts, want about %d", p.conflicts, want)
	}
}

// A process that is far ahead of its clock, because it has made more IDs than
// there are, is no trouble to another one.
func TestIDs_OfAProcessThatWasStartedAnew_MeetSeldom(t *testing.T) {
	p := newProcesses(1)
	for range 100_000 {
		p.create(t, p.sources[0])
	}
	for range 100 {
		anew := store.NewIDs(func() time.Time { return p.now })
		for range 100 {
			p.create(t, anew)
		}
	}
	if p.conflicts > 100 {
		t.Errorf("got %d conflicts of 100 processes", p.conflicts)
	}
}

func TestIDs_NextAfter_LeavesTheBlock_AndGrows(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	ids := store.NewIDs(func() time.Time { return now })
	for range 10_000 {
		taken := ids.Next()
		next := ids.NextAfter(taken)
		if next>>12 == taken>>12 || next < taken {
			t.Fatalf("got %d after %d, want one of a later block", next, taken)
		}
		if again := ids.NextAfter(taken); again != next+1 {
			t.Fatalf("got %d after %d, want %d: the block was left already", again, taken, next+1)
		}
	}
}

func TestIDs_NextRun_FollowEachOther(t *testing.T) {
	ids := store.NewIDs(nil)
	last := ids.Next()
	for _, n := range []int{1, 50_000, 7, 1} {
		first := ids.NextRun(n)
		if first <= last {
			t.Fatalf("got %d after %d", first, last)
		}
		last = first + int64(n) - 1
	}
	if next := ids.Next(); next <= last {
		t.Errorf("got %d after a run that ends with %d", next, last)
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
		running.Go(func() { // ends after its IDs
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
