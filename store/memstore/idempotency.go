package memstore

import (
	"context"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Idempotency = (*Store)(nil)

// answerKey is the primary key of a kept answer.
type answerKey struct{ caller, key string }

func keyOf(a *models.KeptAnswer) answerKey { return answerKey{string(a.Caller), string(a.Key)} }

// CreateOnce implements store.Idempotency.
func (s *Store) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	if err := checkCharset(&e, models.EmployeeProperties()); err != nil {
		return err
	}
	return s.write(ctx, e.ID, func(row *models.Employee) (*models.Employee, error) {
		kept, found := s.answers[keyOf(&a)]
		switch {
		case found && !kept.ExpiredBy(&a):
			return nil, &store.AnsweredError{Answer: cloned(kept)}
		case row != nil:
			return nil, store.ErrConflict
		}
		if s.answers == nil {
			s.answers = map[answerKey]models.KeptAnswer{}
		}
		s.answers[keyOf(&a)] = cloned(a)
		return &e, nil
	})
}

func cloned(a models.KeptAnswer) models.KeptAnswer {
	for _, b := range []*[]byte{&a.Caller, &a.Key, &a.Request, &a.Answer} {
		*b = append([]byte{}, *b...)
	}
	return a
}

// FindAnswer implements store.Idempotency.
func (s *Store) FindAnswer(ctx context.Context, caller, key []byte) (models.KeptAnswer, error) {
	if err := ctx.Err(); err != nil {
		return models.KeptAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, found := s.answers[answerKey{string(caller), string(key)}]
	if !found {
		return models.KeptAnswer{}, store.ErrNotFound
	}
	return cloned(kept), nil
}

// ForgetAnswers implements store.Idempotency.
func (s *Store) ForgetAnswers(ctx context.Context, now time.Time, limit int) (forgotten int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, kept := range s.answers {
		if kept.Expires <= now.UnixMilli() && forgotten < limit {
			delete(s.answers, key)
			forgotten++
		}
	}
	return forgotten, nil
}

// CheckAnswers always succeeds.
func (s *Store) CheckAnswers(ctx context.Context) error { return ctx.Err() }
