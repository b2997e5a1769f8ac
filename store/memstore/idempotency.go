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
	return s.keep(ctx, a, func(s *Store) error { return s.Create(ctx, e) })
}

// CreateAllOnce implements store.Idempotency.
func (s *Store) CreateAllOnce(ctx context.Context, employees []models.Employee, a models.KeptAnswer) error {
	return s.keep(ctx, a, func(s *Store) error { return s.CreateAll(ctx, employees) })
}

// PatchAllOnce implements store.Idempotency.
func (s *Store) PatchAllOnce(ctx context.Context, updates []models.EmployeeUpdate, a models.KeptAnswer) error {
	return s.keep(ctx, a, func(s *Store) error {
		_, err := s.PatchAll(ctx, updates, false)
		return err
	})
}

// DeleteAllOnce implements store.Idempotency.
func (s *Store) DeleteAllOnce(ctx context.Context, ids []int64, a models.KeptAnswer) error {
	return s.keep(ctx, a, func(s *Store) error { return s.DeleteAll(ctx, ids) })
}

// keep writes, and keeps the answer where that succeeds. The write is done to a
// store of its own with the same rows, so that nobody comes in between.
func (s *Store) keep(ctx context.Context, a models.KeptAnswer, write func(s *Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, found := s.answers[keyOf(&a)]; found && !kept.ExpiredBy(&a) {
		return &store.AnsweredError{Answer: cloned(kept)}
	}
	locked := &Store{rows: s.rows}
	if err := write(locked); err != nil {
		return err
	}
	if s.answers == nil {
		s.answers = map[answerKey]models.KeptAnswer{}
	}
	s.rows, s.answers[keyOf(&a)] = locked.rows, cloned(a)
	return nil
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
