package ndbtest

import "slices"

// This file is the row locks. All of it is guarded by Cluster.mu.
//
// A lock is shared by readers or belongs to one transaction. Who cannot have it
// waits in the order of asking. A sole reader that wants to write goes before
// all others. What waits too long ends with its transaction: error 266.

type lockMode uint8

const (
	lockNone lockMode = iota
	lockShared
	lockExclusive
)

type rowLock struct {
	exclusive *txn
	shared    []*txn
	queue     []*lockWait
}

// lockWait is a place in the queue of a lock.
type lockWait struct {
	row    *rowEntry
	txn    *txn
	mode   lockMode
	resume func() // the lock is held now
	timer  *timer
}

func (l *rowLock) inUse() bool { return l.exclusive != nil || len(l.shared) > 0 || len(l.queue) > 0 }

// same tells whether both belong to one transaction: a scan in a transaction
// has a txn of its own, with the same id.
func (t *txn) same(other *txn) bool {
	return t == other || t != nil && other != nil && t.id == other.id
}

func (l *rowLock) isShared(t *txn) bool { return slices.ContainsFunc(l.shared, t.same) }

// holds tells whether the transaction holds the lock in that mode or a stronger
// one.
func (l *rowLock) holds(t *txn, mode lockMode) bool {
	return l.exclusive.same(t) && t != nil || mode == lockShared && l.isShared(t)
}

// free tells whether the transaction can have the lock now.
func (l *rowLock) free(t *txn, mode lockMode) bool {
	mine := l.isShared(t)
	switch {
	case l.holds(t, mode):
		return true
	case l.exclusive != nil, len(l.queue) > 0 && !mine:
		return false
	case mode == lockShared:
		return true
	}
	return !slices.ContainsFunc(l.shared, func(other *txn) bool { return !other.same(t) })
}

// take gives the lock to the transaction, if it can have it now.
func (l *rowLock) take(t *txn, mode lockMode) bool {
	switch {
	case !l.free(t, mode):
		return false
	case l.holds(t, mode):
	case mode == lockShared:
		l.shared = append(l.shared, t)
	default:
		l.exclusive, l.shared = t, nil
	}
	return true
}

// enqueue puts w into the queue: behind all others, or in front where its
// transaction reads already.
func (l *rowLock) enqueue(w *lockWait) {
	if l.isShared(w.txn) {
		l.queue = slices.Insert(l.queue, 0, w)
		return
	}
	l.queue = append(l.queue, w)
}

// grant takes out of the queue all who can have the lock now.
func (l *rowLock) grant() (granted []*lockWait) {
	for len(l.queue) > 0 {
		queue := l.queue
		l.queue = nil // who is first does not wait for the others
		if !l.take(queue[0].txn, queue[0].mode) {
			l.queue = queue
			break
		}
		l.queue = queue[1:]
		granted = append(granted, queue[0])
	}
	return granted
}

// release takes the lock away from t, and not from others of its transaction.
func (l *rowLock) release(t *txn) {
	if l.exclusive == t {
		l.exclusive = nil
	}
	l.shared = slices.DeleteFunc(l.shared, func(other *txn) bool { return other == t })
}

// passOn gives to t what another txn of its transaction has.
func (l *rowLock) passOn(t *txn) {
	pass := func(other *txn) bool {
		if other == nil || other == t || !other.same(t) {
			return false
		}
		other.locked = slices.DeleteFunc(other.locked, func(r *rowEntry) bool { return &r.lock == l })
		return true
	}
	if pass(l.exclusive) {
		l.exclusive = t
	}
	for i := range l.shared {
		if pass(l.shared[i]) {
			l.shared[i] = t
		}
	}
}
