package ndb

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// link is one connection to one data node, from the moment the node is known
// to be started until the connection is lost. It owns the transaction records
// that were seized over it; they are void with it.
type link struct {
	api  *apiNode
	node signal.NodeID
	conn *transporter.Conn

	down chan struct{} // closed once the connection is lost

	mu   sync.Mutex  // guards all below; may be taken with a record's lock held, never the other way round
	free []*txRecord // seized, and without a transaction
	all  map[*txRecord]struct{}
	lost bool
}

func newLink(api *apiNode, node signal.NodeID, conn *transporter.Conn) *link {
	return &link{api: api, node: node, conn: conn, down: make(chan struct{}), all: map[*txRecord]struct{}{}}
}

// acquire takes a free record or seizes one at the node's coordinator.
func (l *link) acquire(ctx context.Context) (*txRecord, error) {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		rec := l.free[n-1]
		l.free = l.free[:n-1]
		l.mu.Unlock()
		rec.fresh = false
		return rec, nil
	}
	lost := l.lost
	l.mu.Unlock()
	if lost {
		return nil, notSent(ErrNoNode)
	}
	return l.seize(ctx, anyInstance)
}

// anyInstance lets the data node choose which of its coordinators it is.
const anyInstance = 0

// seize asks the coordinator for a record, of the given instance. A caller that leaves in between
// leaves the record to whoever comes next.
func (l *link) seize(ctx context.Context, instance int) (*txRecord, error) {
	rec, err := l.api.records.add(l)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.lost {
		l.mu.Unlock()
		l.api.records.remove(rec)
		return nil, notSent(ErrNoNode)
	}
	l.all[rec] = struct{}{}
	l.mu.Unlock()
	rec.beginSeize()
	req := signal.TCSeizeReq{Pointer: rec.pointer(0), Ref: l.api.ref(), Instance: instance}
	if err := transporter.Send(l.conn, signal.BlockAPI, &req); err != nil {
		l.discard(rec)
		return nil, notSent(err)
	}
	abandoned, err := rec.wait(ctx)
	if err != nil && !abandoned {
		l.discard(rec)
	}
	if err != nil {
		return nil, err
	}
	rec.fresh = true
	return rec, nil
}

// release gives a record back that has no transaction.
func (l *link) release(rec *txRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		l.api.records.remove(rec)
		return
	}
	l.free = append(l.free, rec)
}

// discard forgets a record that the node does not have or never answers for.
func (l *link) discard(rec *txRecord) {
	l.mu.Lock()
	delete(l.all, rec)
	l.mu.Unlock()
	l.api.records.remove(rec)
}

// fail marks the link as lost. Transactions in flight wait for the verdict of
// the node that takes over; see apiNode.takenOver.
func (l *link) fail() {
	l.mu.Lock()
	for _, rec := range l.free {
		delete(l.all, rec)
		l.api.records.remove(rec)
	}
	l.lost, l.free = true, nil
	inUse := slices.Collect(maps.Keys(l.all))
	l.mu.Unlock()
	close(l.down)
	for _, rec := range inUse {
		rec.orphan()
	}
}

// recordTable finds records by the pointers that the data nodes send back.
type recordTable struct {
	slots []atomic.Pointer[txRecord]

	mu   sync.Mutex // guards free
	free []uint32
}

// Pointers that data nodes send back: the record's index above the operation's
// number above two zero bits.
const (
	operationShift   = 2
	operationBits    = 10
	recordShift      = operationShift + operationBits
	maxBatchOps      = 1<<operationBits - 1
	maxRecordIndexes = 1<<(32-recordShift) - 2 // the last would collide with RNIL
)

func newRecordTable(size int) *recordTable {
	t := &recordTable{slots: make([]atomic.Pointer[txRecord], min(size, maxRecordIndexes)+1)}
	for i := range t.slots[1:] {
		t.free = append(t.free, uint32(i+1))
	}
	return t
}

func (t *recordTable) add(l *link) (*txRecord, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) == 0 {
		return nil, notSent(ErrQueueFull)
	}
	// The one that was freed first: late signals for its last owner are over.
	index := t.free[0]
	t.free = t.free[1:]
	rec := newTxRecord(l, index)
	t.slots[index].Store(rec)
	return rec, nil
}

func (t *recordTable) remove(rec *txRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[rec.index].CompareAndSwap(rec, nil) {
		t.free = append(t.free, rec.index)
	}
}

// find returns the record of a pointer, or nil.
func (t *recordTable) find(pointer uint32) *txRecord {
	index := pointer >> recordShift
	if int(index) >= len(t.slots) {
		return nil
	}
	return t.slots[index].Load()
}

// each calls f for every record, without a lock.
func (t *recordTable) each(f func(*txRecord)) {
	for i := range t.slots {
		if rec := t.slots[i].Load(); rec != nil {
			f(rec)
		}
	}
}
