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
		if err := t.keep(&a); err != nil {
			return err
		}
		for t.next(ctx) {
			k := &keeper{answer: &a}
			t.err = t.keeping(ctx, k, t.insertTogether(ctx), func() error { return t.insertInTurn(ctx, k) })
		}
		return t.keptResult(ctx)
	})
}

// CreateAllOnce implements store.Idempotency: one round trip more than CreateAll.
func (s *Store) CreateAllOnce(ctx context.Context, employees []models.Employee, a models.KeptAnswer) error {
	return s.writeAllOnce(ctx, s.creation(employees), &a)
}

// PatchAllOnce implements store.Idempotency: one round trip more than PatchAll.
func (s *Store) PatchAllOnce(ctx context.Context, updates []models.EmployeeUpdate, a models.KeptAnswer) error {
	return s.writeAllOnce(ctx, s.patching(updates, nil), &a)
}

// DeleteAllOnce implements store.Idempotency: one round trip more than DeleteAll.
func (s *Store) DeleteAllOnce(ctx context.Context, ids []int64, a models.KeptAnswer) error {
	return s.writeAllOnce(ctx, s.deletion(ids), &a)
}

func (s *Store) writeAllOnce(ctx context.Context, b *batch, a *models.KeptAnswer) error {
	b.keep = a
	return s.writeAll(ctx, b)
}

var answerType = reflect.TypeFor[models.KeptAnswer]()

// keep makes the answer a part of the call's transaction.
func (t *tries) keep(a *models.KeptAnswer) error {
	last := t.session.last
	w, err := t.session.workOf(answerType)
	t.session.last = last
	t.also = &alsoWork{work: w, row: reflect.ValueOf(a).Elem()}
	return err
}

// keptResult is result for a call that may keep an answer.
func (t *tries) keptResult(ctx context.Context) error {
	err := t.result(ctx)
	if t.also == nil {
		return err
	}
	if _, answered := errors.AsType[*store.AnsweredError](err); answered {
		// The caller learns of a commit whose checkpoint only others know.
		t.session.store.commits.acknowledge(ndb.UnknownGCI)
	}
	return t.session.store.mayLackAnswers(err)
}

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

// keeper is how an answer is to be kept, as far as is known.
type keeper struct {
	answer  *models.KeptAnswer
	expired *models.KeptAnswer // to be replaced; nil: the key has no answer
	waited  bool               // for the key, which another transaction has
}

// keeping makes attempts until one has kept the answer, with what it belongs to, or
// why it cannot is known. err is how the first one ended.
func (t *tries) keeping(ctx context.Context, k *keeper, err error, again func() error) error {
	for range keyRounds {
		for errors.Is(err, errKeyLocked) { // each time after the wait for a lock
			if ctx.Err() != nil {
				return fmt.Errorf("%w: %w", store.ErrKeyInUse, ctx.Err())
			}
			k.waited = true
			err = again()
		}
		if !errors.Is(err, errKeyTaken) && !errors.Is(err, errEither) {
			return err
		}
		kept, found, readErr := t.keptAnswer(ctx)
		switch {
		case readErr != nil:
			return readErr
		case !found:
			k.expired = nil
		case kept.ExpiredBy(k.answer):
			k.expired = &kept
		default:
			return &store.AnsweredError{Answer: kept}
		}
		err = again()
	}
	return errAnswerComesAndGoes
}

// beginKeeping starts a transaction that begins with the answer. Its coordinator
// is the node of the key, so that transactions with the same key come by their
// locks in the same order.
func (t *tries) beginKeeping(ctx context.Context) (*ndb.Tx, error) {
	k := t.also
	if err := k.mapping.encode(k.values, k.mapping.all, k.row); err != nil {
		return nil, err
	}
	return t.client.Begin(ctx, k.values)
}

// insertTogether takes one round trip. The data nodes take its two locks in no order:
// with a twin by another road that was given the same ID it can wait in a circle,
// which the database ends after a second or so.
func (t *tries) insertTogether(ctx context.Context) error {
	tx, err := t.beginKeeping(ctx)
	if err != nil {
		return err
	}
	defer tx.Close()
	if err := t.work.mapping.encode(t.work.values, t.work.mapping.all, t.row); err != nil {
		return err
	}
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
func (t *tries) insertInTurn(ctx context.Context, k *keeper) error {
	tx, err := t.beginKeeping(ctx)
	if err != nil {
		return err
	}
	defer tx.Close()
	if err := t.keepFirst(ctx, tx, k); err != nil {
		return err
	}
	if err := t.work.mapping.encode(t.work.values, t.work.mapping.all, t.row); err != nil {
		return err
	}
	tx.Insert(t.work.values)
	return t.commit(ctx, tx)
}

// keepFirst keeps the answer, in a round trip of its own: whoever has the key has
// it to himself, and has locked nothing else yet.
func (t *tries) keepFirst(ctx context.Context, tx *ndb.Tx, k *keeper) error {
	if k.expired == nil {
		tx.Insert(t.also.values)
	} else {
		tx.Update(t.also.values).If(ndb.Eq(t.also.column("Expires"), k.expired.Expires))
	}
	switch err := tx.Execute(ctx); {
	case isExistingKey(err):
		return errKeyTaken
	case isConditionFalse(err), isClass(err, ndb.ClassNoDataFound):
		return errKeyTaken // by another answer, or what had expired was removed
	case isClass(err, ndb.ClassTimeout), err != nil && k.waited && ctx.Err() != nil:
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
