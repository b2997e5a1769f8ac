package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Idempotency = (*Store)(nil)

// What an attempt to insert an answer can end with beside the kinds of package
// store.
var (
	errKeyTaken  = errors.New("the key has an answer")
	errKeyLocked = errors.New("another transaction has the key")
)

// keyRounds bounds how often an answer may come and go while it is looked at.
const keyRounds = 8

// CreateOnce implements store.Idempotency: a transaction of two INSERTs, that of
// the answer first, so that writes with one key meet there.
func (s *Store) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	c := call{op: "create once", id: e.ID, write: true, values: &e, set: allProperties, keyFirst: true}
	o := &once{answer: &a}
	return s.runOnce(ctx, &c, o, func() error {
		return s.do(ctx, c, func(db *gorm.DB) error {
			return db.Transaction(func(tx *gorm.DB) error {
				if err := o.keep(tx); err != nil {
					return err
				}
				return tx.Create(&e).Error
			})
		})
	})
}

// CreateAllOnce implements store.Idempotency.
func (s *Store) CreateAllOnce(ctx context.Context, employees []models.Employee, a models.KeptAnswer) error {
	return s.writeAllOnce(ctx, s.creation(employees), &a)
}

// PatchAllOnce implements store.Idempotency.
func (s *Store) PatchAllOnce(ctx context.Context, updates []models.EmployeeUpdate, a models.KeptAnswer) error {
	return s.writeAllOnce(ctx, s.patching(updates, false).batch, &a)
}

// DeleteAllOnce implements store.Idempotency.
func (s *Store) DeleteAllOnce(ctx context.Context, ids []int64, a models.KeptAnswer) error {
	return s.writeAllOnce(ctx, s.deletion(ids), &a)
}

func (s *Store) writeAllOnce(ctx context.Context, b *batch, a *models.KeptAnswer) error {
	b.once = &once{answer: a}
	c := call{op: b.op + " all once"}
	return s.runOnce(ctx, &c, b.once, func() error { return s.writeAll(ctx, b) })
}

// once is what keeps the answer of a transaction, as its first statement.
type once struct {
	answer  *models.KeptAnswer
	expired *models.KeptAnswer // to be replaced; nil: the key has no answer yet
	waited  bool               // for the key, in vain
	atKey   bool               // the last transaction came to the key, and no further
	pastKey bool               // it came further
}

// runOnce runs transactions until one has kept the answer, or why it cannot is
// known.
func (s *Store) runOnce(ctx context.Context, c *call, o *once, run func() error) error {
	for range keyRounds {
		err := o.run(ctx, run)
		for errors.Is(err, errKeyLocked) { // each time after the wait for a lock
			if ctx.Err() != nil {
				return c.error("", store.ErrKeyInUse, ctx.Err())
			}
			o.waited = true
			err = o.run(ctx, run)
		}
		if !errors.Is(err, errKeyTaken) {
			return err
		}
		kept, err := s.FindAnswer(ctx, o.answer.Caller, o.answer.Key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			o.expired = nil
		case err != nil:
			return err
		case kept.ExpiredBy(o.answer):
			o.expired = &kept
		default:
			return c.error("", &store.AnsweredError{Answer: kept}, nil)
		}
	}
	return c.error("", store.ErrUnavailable, errors.New("the answer of the key comes and goes"))
}

// run runs one transaction, and tells what its failure at the key means.
func (o *once) run(ctx context.Context, run func() error) error {
	o.atKey, o.pastKey = false, false
	err := run()
	switch {
	case err != nil && o.waited && !o.pastKey && ctx.Err() != nil:
		return errKeyLocked
	case err == nil || !o.atKey:
		return err
	case errors.Is(err, store.ErrConflict), errors.Is(err, errKeyTaken):
		return errKeyTaken
	case errorNumber(err) == errLockWait:
		return errKeyLocked
	default:
		return mayLackAnswers(err)
	}
}

// keep stores the answer. errKeyTaken says that the expired one is no more, or
// was replaced by others.
func (o *once) keep(tx *gorm.DB) error {
	o.atKey = true
	var result *gorm.DB
	if o.expired == nil {
		result = answers(tx).Create(o.answer)
	} else {
		result = answers(tx).Where(o.expired, "Caller", "Key", "Expires").
			Select("Request", "Made", "Expires", "Answer").UpdateColumns(o.answer)
	}
	switch {
	case result.Error != nil:
		return result.Error
	case result.RowsAffected == 0:
		return errKeyTaken
	}
	o.atKey, o.pastKey = false, true
	return nil
}

// answers is the table of answers in the transaction or connection of db.
func answers(db *gorm.DB) *gorm.DB {
	return db.Session(&gorm.Session{NewDB: true}).Model(&models.KeptAnswer{})
}

// FindAnswer implements store.Idempotency.
func (s *Store) FindAnswer(ctx context.Context, caller, key []byte) (models.KeptAnswer, error) {
	var a models.KeptAnswer
	err := s.do(ctx, call{op: "find answer"}, func(db *gorm.DB) error {
		a = models.KeptAnswer{}
		return answers(db).Where(&models.KeptAnswer{Caller: caller, Key: key}, "Caller", "Key").Take(&a).Error
	})
	if err != nil {
		return models.KeptAnswer{}, mayLackAnswers(err)
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

// ForgetAnswers implements store.Idempotency: one DELETE.
func (s *Store) ForgetAnswers(ctx context.Context, now time.Time, limit int) (forgotten int, err error) {
	err = s.do(ctx, call{op: "forget answers", write: true}, func(db *gorm.DB) error {
		expired := clause.Lte{Column: clause.Column{Name: s.columns.expires}, Value: now.UnixMilli()}
		result := answers(db).Where(expired).Limit(min(limit, store.MaxForget)).Delete(&models.KeptAnswer{})
		forgotten = int(result.RowsAffected)
		return result.Error
	})
	return forgotten, mayLackAnswers(err)
}

// mayLackAnswers says so of an error, where it is that of a table that is missing
// or another one.
func mayLackAnswers(err error) error {
	switch errorNumber(err) {
	case errNoTable, errNoColumn, errNoDefault:
		return fmt.Errorf("%w: %w", store.ErrNoAnswers, err)
	default:
		return err
	}
}
