package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Idempotency = (*Store)(nil)

// CreateOnce implements store.Idempotency: one round trip where the key is used
// for the first time, and two where it has an answer.
func (s *Store) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	return s.with(ctx, "create once", e.ID, func(x *Session) error {
		t, err := x.begin(&e, true)
		if err != nil {
			return err
		}
		w, err := x.workOf(answerType)
		if err != nil {
			return err
		}
		t.also = &alsoWork{work: w, row: reflect.ValueOf(&a).Elem()}
		for t.next(ctx) {
			t.err = t.createOnce(ctx, &a)
		}
		err = t.result(ctx)
		if _, answered := errors.AsType[*store.AnsweredError](err); answered {
			// The caller learns of a commit whose checkpoint only others know.
			s.commits.acknowledge(ndb.UnknownGCI)
		}
		return s.mayLackAnswers(err)
	})
}

var answerType = reflect.TypeFor[models.KeptAnswer]()

// FindAnswer implements store.Idempotency: one read.
func (s *Store) FindAnswer(ctx context.Context, caller, key []byte) (models.KeptAnswer, error) {
	a := models.KeptAnswer{Caller: caller, Key: key}
	err := s.with(ctx, "find answer", 0, func(x *Session) error { return s.mayLackAnswers(x.Find(ctx, &a)) })
	if err != nil {
		return models.KeptAnswer{}, err
	}
	return a, nil
}

// CheckAnswers implements store.Idempotency: it reads the answer of a key that
// nobody can have.
func (s *Store) CheckAnswers(ctx context.Context) error {
	_, err := s.FindAnswer(ctx, []byte{}, []byte{})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// mayLackAnswers says so of an error, where the table of answers is missing.
func (s *Store) mayLackAnswers(err error) error {
	if err == nil {
		return nil
	}
	p, ok := s.mappers.Load(answerType)
	if !ok || p.(*mapper).misfit() == nil || !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrNoAnswers, err)
}

// What an attempt to insert employee and answer can end with beside the kinds of
// package store.
var (
	errKeyTaken  = errors.New("the key has an answer")
	errKeyLocked = errors.New("another transaction has the key")
	errEither    = errors.New("the key has an answer, or the employee exists")
)

// keyRounds bounds how often an answer may come and go while it is looked at.
const keyRounds = 8

var errAnswerComesAndGoes = fmt.Errorf("%w: the answer of the key comes and goes", store.ErrUnavailable)

// createOnce inserts the employee and the answer, or finds out why it cannot.
func (t *tries) createOnce(ctx context.Context, a *models.KeptAnswer) error {
	err := t.insertTogether(ctx)
	waited := false
	for range keyRounds {
		for errors.Is(err, errKeyLocked) { // each time after the wait for a lock
			if ctx.Err() != nil {
				return fmt.Errorf("%w: %w", store.ErrKeyInUse, ctx.Err())
			}
			waited = true
			err = t.insertInTurn(ctx, waited)
		}
		if !errors.Is(err, errKeyTaken) && !errors.Is(err, errEither) {
			return err
		}
		kept, found, readErr := t.keptAnswer(ctx)
		switch {
		case readErr != nil:
			return readErr
		case !found:
			err = t.insertInTurn(ctx, waited)
		case kept.ExpiredBy(a):
			err = t.replaceExpired(ctx, &kept)
		default:
			return &store.AnsweredError{Answer: kept}
		}
	}
	return errAnswerComesAndGoes
}

// encodeBoth sets the values of both rows.
func (t *tries) encodeBoth() error {
	if err := t.also.mapping.encode(t.also.values, t.also.mapping.all, t.also.row); err != nil {
		return err
	}
	return t.work.mapping.encode(t.work.values, t.work.mapping.all, t.row)
}

// insertTogether takes one round trip. Its coordinator is the node of the key, so
// that transactions with the same key come by their locks in the same order.
func (t *tries) insertTogether(ctx context.Context) error {
	if err := t.encodeBoth(); err != nil {
		return err
	}
	tx, err := t.client.Begin(ctx, t.also.values)
	if err != nil {
		return err
	}
	defer tx.Close()
	tx.Insert(t.also.values)
	tx.Insert(t.work.values)
	err = t.commit(ctx, tx)
	switch {
	case isExistingKey(err):
		return errEither
	case isClass(err, ndb.ClassTimeout):
		return errKeyLocked // or the employee: the next attempt tells
	default:
		return err
	}
}

// insertInTurn takes two round trips, and so knows which of the two rows exists.
// waited says that the key was locked before.
func (t *tries) insertInTurn(ctx context.Context, waited bool) error {
	if err := t.encodeBoth(); err != nil {
		return err
	}
	tx, err := t.client.Begin(ctx, t.also.values)
	if err != nil {
		return err
	}
	defer tx.Close()
	tx.Insert(t.also.values)
	switch err := tx.Execute(ctx); {
	case isExistingKey(err):
		return errKeyTaken
	case isClass(err, ndb.ClassTimeout), err != nil && waited && ctx.Err() != nil:
		return errKeyLocked
	case err != nil:
		return err
	}
	tx.Insert(t.work.values)
	return t.commit(ctx, tx)
}

// replaceExpired takes one round trip.
func (t *tries) replaceExpired(ctx context.Context, expired *models.KeptAnswer) error {
	if err := t.encodeBoth(); err != nil {
		return err
	}
	tx, err := t.client.Begin(ctx, t.also.values)
	if err != nil {
		return err
	}
	defer tx.Close()
	tx.Update(t.also.values).If(ndb.Eq(t.also.column("Expires"), expired.Expires))
	tx.Insert(t.work.values)
	err = t.commit(ctx, tx)
	switch {
	case isConditionFalse(err), isClass(err, ndb.ClassNoDataFound):
		return errKeyTaken // by another answer, or it was removed
	case isClass(err, ndb.ClassTimeout):
		return errKeyLocked
	default:
		return err
	}
}

func (t *tries) commit(ctx context.Context, tx *ndb.Tx) error {
	err := tx.Commit(ctx)
	return t.committed(tx.GCI(), err)
}

// column is the column of a field, by the field's name.
func (w *work) column(field string) *ndb.Column {
	return w.mapping.columns[w.mapping.byName[field]]
}

func isExistingKey(err error) bool {
	var e *ndb.Error
	return errors.As(err, &e) && e.Classification == ndb.ClassConstraint && !isMissingValue(e)
}

// keptAnswer reads what is committed under the key.
func (t *tries) keptAnswer(ctx context.Context) (kept models.KeptAnswer, found bool, err error) {
	w := t.also
	if err := w.mapping.encode(w.values, w.mapping.key, w.row); err != nil {
		return kept, false, err
	}
	err = t.client.Read(ctx, w.values, w.mapping.read, &w.work.row)
	if isClass(err, ndb.ClassNoDataFound) {
		return kept, false, nil
	}
	if err == nil {
		err = w.decoder.decode(w.mapping, &w.work.row, reflect.ValueOf(&kept).Elem())
	}
	return kept, true, err
}
