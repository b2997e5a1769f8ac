package rows

import (
	"context"
	"fmt"
)

// DuplicateError means that a row with the same primary key exists.
type DuplicateError struct {
	ID       int64
	Existing Row // locked by the transaction that got this error
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("duplicate primary key %d", e.ID)
}

// Tx is a transaction, and after its end the next one: the first operation
// after Commit, Rollback or a lost wait for a lock begins it. A Tx is for one
// goroutine at a time.
type Tx struct {
	s    *Store
	own  map[int64]version  // changed rows; each is locked
	held map[int64]struct{} // the locks of this transaction
}

// version is a row as a transaction has left it; no row when it is deleted.
type version struct {
	row Row
	key string // of row in the secondary index
}

func (v version) position(index Index, id int64) Position {
	if index == Primary {
		return Position{ID: id}
	}
	return Position{Key: v.key, ID: id}
}

// Get returns the row with the given primary key, nil if there is none. With
// forUpdate an existing row is locked first.
func (t *Tx) Get(ctx context.Context, id int64, forUpdate bool) (Row, error) {
	if v, ok := t.own[id]; ok {
		return v.row, nil
	}
	if forUpdate {
		return t.lockRow(ctx, id)
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.s.read(id), nil
}

// Insert adds a row. The error is a *DuplicateError if the primary key is
// taken; the transaction goes on then.
func (t *Tx) Insert(ctx context.Context, id int64, row Row) error {
	old, err := t.current(ctx, id)
	if err != nil {
		return err
	}
	if old != nil {
		return &DuplicateError{ID: id, Existing: old}
	}
	t.set(id, row)
	return nil
}

// Update replaces the row whose primary key is old by one whose primary key is
// id. It returns false, and changes nothing, if there is no such row. The
// error is a *DuplicateError if the new primary key is taken.
func (t *Tx) Update(ctx context.Context, old, id int64, row Row) (bool, error) {
	now, err := t.current(ctx, old)
	if err != nil || now == nil {
		return false, err
	}
	if old != id {
		if err := t.Insert(ctx, id, row); err != nil {
			return false, err
		}
		t.set(old, nil)
		return true, nil
	}
	t.set(id, row)
	return true, nil
}

// Delete removes a row. It returns false if there is no such row.
func (t *Tx) Delete(ctx context.Context, id int64) (bool, error) {
	old, err := t.current(ctx, id)
	if err != nil || old == nil {
		return false, err
	}
	t.set(id, nil)
	return true, nil
}

// Commit makes the changes visible to all, at once, and ends the transaction.
func (t *Tx) Commit() { t.end(true) }

// Rollback drops the changes and ends the transaction.
func (t *Tx) Rollback() { t.end(false) }

func (t *Tx) end(commit bool) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if commit {
		for id, v := range t.own {
			t.s.store(id, v)
		}
	}
	for id := range t.held {
		t.s.release(id)
	}
	clear(t.own)
	clear(t.held)
}

// current locks the primary key and returns the row that has it, nil if there
// is none.
func (t *Tx) current(ctx context.Context, id int64) (Row, error) {
	if v, ok := t.own[id]; ok {
		return v.row, nil
	}
	if err := t.lock(ctx, id); err != nil {
		return nil, err
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	return t.s.read(id), nil
}

// lockRow is current without a lock on a row that does not exist.
func (t *Tx) lockRow(ctx context.Context, id int64) (Row, error) {
	_, held := t.held[id]
	row, err := t.current(ctx, id)
	if err == nil && row == nil && !held {
		t.unlock(id)
	}
	return row, err
}

// unlock gives back the lock of a row that the transaction has not changed.
func (t *Tx) unlock(id int64) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.release(id)
	delete(t.held, id)
}

func (t *Tx) set(id int64, row Row) {
	v := version{row: row}
	if row != nil {
		v.key = t.s.cfg.Key(row)
	}
	t.own[id] = v
}
