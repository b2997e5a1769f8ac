package ndbtest

import (
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// txn is what a transaction has locked and changed. It knows nothing of
// signals; tcTransaction and LocalTx are built on it. Guarded by Cluster.mu.
type txn struct {
	cluster *Cluster
	id      signal.TransID
	locked  []*rowEntry // rows whose lock it holds, each once
	changes []*rowEntry // rows that it has changed, each once
	waits   []*lockWait
	batch   uint64 // the number of the one that is being executed
	over    bool
	scans   bool   // of a scan: it has locks, and changes nothing
	wrote   bool   // once it is committed: it had changes
	gci     uint64 // once it is committed
	// kill aborts it, because of what the code says.
	kill func(code uint32)
}

// acquire takes the lock of r, or queues for it: then resume is called when the
// lock is held. What a scan of the transaction has locked becomes the
// transaction's.
func (t *txn) acquire(r *rowEntry, mode lockMode, resume func()) (held bool) {
	if !t.scans && !t.owns(r) {
		r.lock.passOn(t)
	}
	if r.lock.holds(t, mode) || r.lock.take(t, mode) {
		if t.owns(r) {
			t.holds(r)
		}
		return true
	}
	w := &lockWait{row: r, txn: t, mode: mode, resume: resume}
	r.lock.enqueue(w)
	t.waits = append(t.waits, w)
	t.cluster.newWaits++
	w.timer = t.cluster.after(t.cluster.opt.lockWait, func() {
		if slices.Contains(t.waits, w) {
			t.kill(codeLockTimeout)
		}
	})
	return false
}

// owns tells whether t itself has a lock of r.
func (t *txn) owns(r *rowEntry) bool {
	return r.lock.exclusive == t || slices.Contains(r.lock.shared, t)
}

// wouldWait tells whether acquire would queue.
func (t *txn) wouldWait(r *rowEntry, mode lockMode) bool { return !r.lock.free(t, mode) }

func (t *txn) holds(r *rowEntry) {
	if !slices.Contains(t.locked[max(0, len(t.locked)-recentLocks):], r) {
		t.locked = append(t.locked, r)
	}
}

// recentLocks bounds the search for a row that is locked already. That a row
// is there twice does no harm.
const recentLocks = 4

// unlock gives a lock back before the end. The transaction has not changed the
// row.
func (t *txn) unlock(r *rowEntry) {
	if r.changed && r.lock.exclusive == t {
		return
	}
	t.locked = slices.DeleteFunc(t.locked, func(other *rowEntry) bool { return other == r })
	t.letGo(r)
}

func (t *txn) letGo(r *rowEntry) {
	r.lock.release(t)
	for _, w := range r.lock.grant() {
		w.granted()
	}
	r.dropIfUnused()
}

func (w *lockWait) granted() {
	w.timer.stop()
	t := w.txn
	t.waits = slices.DeleteFunc(t.waits, func(other *lockWait) bool { return other == w })
	t.holds(w.row)
	t.cluster.later(func() {
		if !t.over {
			w.resume()
		}
	})
}

// commit ends the transaction. Its changes belong to the checkpoint gci.
func (t *txn) commit(gci uint64) {
	for _, r := range t.changes {
		t.cluster.remember(r)
		r.commit(gci)
	}
	t.end()
}

// abort ends the transaction without a trace.
func (t *txn) abort() {
	for _, r := range t.changes {
		r.rollback()
	}
	t.end()
}

func (t *txn) end() {
	t.over = true
	for _, w := range t.waits {
		w.timer.stop()
		l := &w.row.lock
		l.queue = slices.DeleteFunc(l.queue, func(other *lockWait) bool { return other == w })
	}
	waits := t.waits
	t.waits = nil
	for _, r := range t.locked {
		t.letGo(r)
	}
	for _, w := range waits { // those behind it may go on
		for _, granted := range w.row.lock.grant() {
			granted.granted()
		}
		w.row.dropIfUnused()
	}
	t.locked, t.changes = nil, nil
}
