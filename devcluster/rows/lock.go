package rows

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrLockWait means that a row lock was waited for in vain. The transaction
// that waited is rolled back.
var ErrLockWait = errors.New("lock wait timeout exceeded")

// lock is the exclusive lock on one row, or on the primary key of a row to
// come. It is in Store.locks while somebody holds it.
type lock struct {
	owner   *Tx
	waiters []*waiter // the longest waiting first
}

type waiter struct {
	tx      *Tx
	granted chan struct{} // closed when tx has become the owner
}

// lock takes the lock on id, waiting for it if need be. It rolls the
// transaction back if it cannot have it: no other way out of a deadlock.
func (t *Tx) lock(ctx context.Context, id int64) error {
	if _, ok := t.held[id]; ok {
		return nil
	}
	w := t.s.ask(t, id)
	if w != nil {
		if err := t.await(ctx, id, w); err != nil {
			t.Rollback()
			return err
		}
	}
	t.held[id] = struct{}{}
	return nil
}

// ask gives the free lock on id to t and returns nil, or queues t for it.
func (s *Store) ask(t *Tx, id int64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[id]
	if l == nil {
		s.locks[id] = &lock{owner: t}
		return nil
	}
	w := &waiter{tx: t, granted: make(chan struct{})}
	l.waiters = append(l.waiters, w)
	return w
}

func (t *Tx) await(ctx context.Context, id int64, w *waiter) error {
	if t.s.cfg.OnWait != nil {
		t.s.cfg.OnWait()
	}
	timer := time.NewTimer(t.s.cfg.LockWait)
	defer timer.Stop()
	var err error
	select {
	case <-w.granted:
		return nil
	case <-timer.C:
		err = ErrLockWait
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if t.s.leave(id, w) {
		return err
	}
	// Granted at the last moment.
	return nil
}

// leave takes w out of the queue; false if it is there no longer, because the
// lock was granted.
func (s *Store) leave(id int64, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[id]
	i := slices.Index(l.waiters, w)
	if i < 0 {
		return false
	}
	l.waiters = slices.Delete(l.waiters, i, i+1)
	return true
}

// release hands the lock on id to the next waiter. s.mu must be held.
func (s *Store) release(id int64) {
	l := s.locks[id]
	if len(l.waiters) == 0 {
		delete(s.locks, id)
		return
	}
	w := l.waiters[0]
	l.waiters = l.waiters[1:]
	l.owner = w.tx
	close(w.granted)
}
