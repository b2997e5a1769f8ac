package loadtest

import (
	"sync"
	"sync/atomic"
	"time"
)

// span is the time of a cell: warm-up, then the measured time. All times are
// since it began. It can be cut short. Safe for concurrent use.
type span struct {
	began  time.Time
	warmup time.Duration

	endsAt atomic.Int64
	left   atomic.Int64 // operations that may still begin
	cutOff chan struct{}

	mu     sync.Mutex // guards reason
	reason error
}

func newSpan(warmup, duration time.Duration, maxOps int64) *span {
	s := &span{began: time.Now(), warmup: warmup, cutOff: make(chan struct{})}
	s.endsAt.Store(int64(warmup + duration))
	if maxOps == 0 {
		maxOps = 1<<63 - 1
	}
	s.left.Store(maxOps)
	return s
}

func (s *span) now() time.Duration { return time.Since(s.began) }

func (s *span) end() time.Duration { return time.Duration(s.endsAt.Load()) }

// claim tells whether one more operation may begin.
func (s *span) claim() bool { return s.left.Add(-1) >= 0 }

// spent tells that there was no operation left for one who wanted to begin it.
func (s *span) spent() bool { return s.left.Load() < 0 }

// cut ends the cell now, for that reason. The first reason counts.
func (s *span) cut(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil {
		return
	}
	s.reason = reason
	s.endsAt.Store(min(s.endsAt.Load(), int64(s.now())))
	close(s.cutOff)
}

func (s *span) cutReason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}
