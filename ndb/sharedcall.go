package ndb

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// sharedCall is a call that one caller at a time makes, on behalf of all others
// that want its result. The zero value is ready.
type sharedCall[T any] struct {
	mu     sync.Mutex // guards latest
	latest *flight[T]
}

// flight is one call. Its results are set before over is closed.
type flight[T any] struct {
	over    chan struct{}
	value   T
	err     error
	left    bool // the caller left before there was a result
	expires time.Time
}

// get returns the result of a call that is on its way, or that has succeeded no
// longer than keep ago, or else of a new one, which is to end with ctx. A call
// whose caller leaves is made again by another one.
func (s *sharedCall[T]) get(ctx context.Context, keep time.Duration, call func() (T, error)) (T, error) {
	for {
		f, lead := s.join()
		if lead {
			f.value, f.err = call()
			f.left = f.err != nil && ctx.Err() != nil
			f.expires = time.Now().Add(keep)
			close(f.over)
			return f.value, f.err
		}
		select {
		case <-f.over:
		case <-ctx.Done():
			var none T
			return none, fmt.Errorf("ndb: an answer is waited for: %w", ctx.Err())
		}
		if !f.left {
			return f.value, f.err
		}
	}
}

// join returns the flight to wait for, or a new one that the caller is to lead.
func (s *sharedCall[T]) join() (f *flight[T], lead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != nil && s.latest.holds() {
		return s.latest, false
	}
	s.latest = &flight[T]{over: make(chan struct{})}
	return s.latest, true
}

// holds tells whether the flight is on its way, or its result is still good.
func (f *flight[T]) holds() bool {
	select {
	case <-f.over:
		return f.err == nil && time.Now().Before(f.expires)
	default:
		return true
	}
}
