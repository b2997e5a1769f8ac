package api

import (
	"context"
	"sync"
)

// turns lets in one at a time for each key. The zero value is ready for use. It
// is safe for concurrent use.
type turns struct {
	mu   sync.Mutex // guards busy
	busy map[string]chan struct{}
}

// enter waits until nobody else is in with the key, and is not ok where the
// context ends before. Whoever is in calls leave. Those who wait come in no order.
func (t *turns) enter(ctx context.Context, key string) (leave func(), ok bool) {
	for {
		t.mu.Lock()
		others, busy := t.busy[key]
		if !busy {
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			t.busy[key] = mine
			t.mu.Unlock()
			return func() { t.leave(key, mine) }, true
		}
		t.mu.Unlock()
		select {
		case <-others:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (t *turns) leave(key string, mine chan struct{}) {
	t.mu.Lock()
	delete(t.busy, key)
	t.mu.Unlock()
	close(mine)
}
