package ndbapi

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// saveRounds bounds how often a save is begun again because the row came and
// went under it.
const saveRounds = 8

// Save inserts the row, or replaces all of the one that has its primary key,
// and tells which of the two it did. One round trip: an update and an insert
// leave together with the commit, each ignoring the other's failure. The one
// that finds the row, or none, does the work. Where neither does, others have
// made and deleted the row in between, and it is tried again.
func (x *Session) Save(ctx context.Context, row any) (created bool, err error) {
	t, err := x.begin(row, true)
	if err != nil {
		return false, err
	}
	for t.next(ctx) {
		created, t.err = t.save(ctx)
	}
	err = t.result(ctx)
	return created && err == nil, err
}

var errRowComesAndGoes = fmt.Errorf("%w: the row comes and goes", store.ErrUnavailable)

func (t *tries) save(ctx context.Context) (created bool, err error) {
	for i := range saveRounds {
		if i > 0 {
			t.session.store.counters.retries.Add(1)
		}
		created, done, err := t.trySave(ctx)
		if done || err != nil {
			return created, err
		}
	}
	return false, errRowComesAndGoes
}

func (t *tries) trySave(ctx context.Context) (created, done bool, err error) {
	w := t.work
	if err := w.mapping.encode(w.values, w.mapping.all, t.row); err != nil {
		return false, false, err
	}
	tx, err := t.client.Begin(ctx, w.values)
	if err != nil {
		return false, false, err
	}
	defer tx.Close()
	update := tx.Update(w.values).IgnoreError()
	insert := tx.Insert(w.values).IgnoreError()
	if err := tx.Commit(ctx); err != nil {
		return false, false, err
	}
	if created, done, err = saved(update.Err(), insert.Err()); done {
		t.session.store.commits.acknowledge(tx.GCI())
	}
	return created, done, err
}

// saved tells what became of a save whose transaction was committed: of the two,
// what was refused did nothing.
func saved(update, insert error) (created, done bool, err error) {
	switch {
	case update == nil:
		return false, true, nil
	case insert == nil:
		return true, true, nil
	case !isClass(update, ndb.ClassNoDataFound):
		return false, false, update
	case !isClass(insert, ndb.ClassConstraint):
		return false, false, insert
	default:
		return false, false, nil
	}
}

// change replaces the fields in set of the row that has the primary key of row
// by those of values, or deletes the row where values is nil, if decide wants
// that: it sees the stored row in row, which is locked, and an error of it is the
// result. Two round trips. What values cannot store is refused before anything
// is sent.
func (x *Session) change(ctx context.Context, row, values any, set []int, decide func() error) error {
	t, err := x.begin(row, true)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		if values != nil {
			t.err = t.work.mapping.encode(t.work.other, set, reflect.ValueOf(values).Elem())
		}
		if t.err == nil {
			t.err = t.change(ctx, values == nil, decide)
		}
	}
	return t.result(ctx)
}

// change does the rest, with the new values in work.other.
func (t *tries) change(ctx context.Context, remove bool, decide func() error) error {
	w := t.work
	if err := w.mapping.encode(w.values, w.mapping.key, t.row); err != nil {
		return err
	}
	tx, err := t.client.Begin(ctx, w.values)
	if err != nil {
		return err
	}
	defer tx.Close()
	tx.Read(w.values, w.mapping.read, &w.row, ndb.ExclusiveLock)
	if err := tx.Execute(ctx); err != nil {
		return err
	}
	if err := w.decoder.decode(w.mapping, &w.row, t.row); err != nil {
		return err
	}
	if err := decide(); err != nil {
		return err
	}
	if remove {
		tx.Delete(w.values)
	} else {
		tx.Update(w.other)
	}
	err = tx.Commit(ctx)
	return t.committed(tx.GCI(), err)
}

// condition makes the condition of an update for the table as it is now.
type condition func(m *mapping) ndb.Filter

// updateIf changes the fields in set of the row that has the primary key of row,
// if the condition holds; nil always does. With read, row becomes what that left.
// One round trip. An error for which isConditionFalse is true says that the row
// is there.
func (x *Session) updateIf(ctx context.Context, row any, set []int, only condition, read bool) error {
	t, err := x.begin(row, true)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		t.err = t.updateIf(ctx, set, only, read)
	}
	return t.result(ctx)
}

func (t *tries) updateIf(ctx context.Context, set []int, only condition, read bool) error {
	w := t.work
	if err := w.mapping.encode(w.values, set, t.row); err != nil {
		return err
	}
	tx, err := t.client.Begin(ctx, w.values)
	if err != nil {
		return err
	}
	defer tx.Close()
	update := tx.Update(w.values)
	if only != nil {
		update.If(only(w.mapping))
	}
	if read {
		update.Returning(w.mapping.read, &w.row)
	}
	err = tx.Commit(ctx)
	if !read || err == nil { // of one that is done, but not read, the caller must not think so
		err = t.committed(tx.GCI(), err)
	}
	if err != nil || !read {
		return err
	}
	return w.decoder.decode(w.mapping, &w.row, t.row)
}
