package ndbapi

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

// pool has a bounded number of sessions, made as they are needed. Callers that
// find none wait in the order in which they came.
type pool struct {
	newSession func() *Session
	max        int
	maxWaiting int

	mu       sync.Mutex // guards all below
	idle     []*Session // the last one used comes first: its memory is warm
	open     int        // sessions that exist
	waiting  list.List  // of *waiter
	waits    int64
	waitTime time.Duration
	closed   bool
}

// waiter is a caller that waits. Whoever takes it off the list gives it a
// session, or closes its channel because the pool has closed.
type waiter struct {
	given chan *Session
}

// get takes a session. It waits until the context ends.
func (p *pool) get(ctx context.Context) (*Session, error) {
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, errClosed)
	case len(p.idle) > 0:
		last := len(p.idle) - 1
		x := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return x, nil
	case p.open < p.max:
		p.open++
		p.mu.Unlock()
		return p.newSession(), nil
	case p.waiting.Len() >= p.maxWaiting:
		p.mu.Unlock()
		return nil, fmt.Errorf("%w: all %d sessions are in use, and %d callers wait", store.ErrUnavailable, p.max, p.maxWaiting)
	}
	w := &waiter{given: make(chan *Session, 1)}
	place := p.waiting.PushBack(w)
	p.waits++
	p.mu.Unlock()
	return p.wait(ctx, w, place)
}

func (p *pool) wait(ctx context.Context, w *waiter, place *list.Element) (*Session, error) {
	began := time.Now()
	var x *Session
	var given bool
	select {
	case x, given = <-w.given:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitTime += time.Since(began)
	switch {
	case given:
		return x, nil
	case p.closed:
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, errClosed)
	}
	// The context has ended; a session may have come at the same moment.
	select {
	case x = <-w.given:
		return x, nil
	default:
		p.waiting.Remove(place)
		return nil, fmt.Errorf("%w: no session became free: %w", store.ErrUnavailable, ctx.Err())
	}
}

// put gives a session back.
func (p *pool) put(x *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch first := p.waiting.Front(); {
	case p.closed:
		p.open--
	case first != nil:
		p.waiting.Remove(first)
		first.Value.(*waiter).given <- x
	default:
		p.idle = append(p.idle, x)
	}
}

// close ends the waiting. Sessions in use are dropped when they come back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for e := p.waiting.Front(); e != nil; e = e.Next() {
		close(e.Value.(*waiter).given)
	}
	p.waiting.Init()
	p.open -= len(p.idle)
	p.idle = nil
}

// poolStats is what the pool knows of itself.
type poolStats struct {
	inUse, idle, waiting int
	waits                int64
	waitTime             time.Duration // of waits that are over
}

func (p *pool) stats() poolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return poolStats{inUse: p.open - len(p.idle), idle: len(p.idle), waiting: p.waiting.Len(), waits: p.waits, waitTime: p.waitTime}
}
