package storetest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// IdempotentStore is a road that keeps answers.
type IdempotentStore interface {
	store.Employees
	store.Batches
	store.Idempotency
}

// RunIdempotency tests store.Idempotency. Open returns one road or several to the
// same tables: what one has done is sent again to the other. The tables may hold
// the rows of others, and be swept by others. Answers expire some minutes after
// the test.
func RunIdempotency(t *testing.T, open func(t *testing.T) []IdempotentStore) {
	roads := open(t)
	for i, first := range roads {
		again := roads[(i+1)%len(roads)]
		s := &onceSuite{
			suite: suite{store: first, nextID: 1<<62 + rand.Int64N(1<<40)*idsPerRun},
			first: first, again: again, nextKey: hex.EncodeToString(randomBytes(8)),
		}
		t.Run(fmt.Sprintf("%T, again by %T", first, again), s.test)
	}
}

type onceSuite struct {
	suite
	first, again IdempotentStore
	nextKey      string
	keys         int
}

func (s *onceSuite) test(t *testing.T) {
	t.Run("Check", func(t *testing.T) { wantKind(t, s.first.CheckAnswers(testContext(t)), nil) })
	t.Run("Once", s.testOnce)
	t.Run("Failures", s.testFailures)
	t.Run("Keys", s.testKeys)
	t.Run("Answers", s.testAnswers)
	t.Run("Expiry", s.testExpiry)
	t.Run("Forget", s.testForget)
	t.Run("Twins", s.testTwins)
	t.Run("TwinsOfManyKeys", s.testTwinsOfManyKeys)
	t.Run("EndedContext", s.testOnceWithEndedContext)
	t.Run("Batches", s.testBatchesOnce)
	t.Run("BatchFailures", s.testBatchFailures)
	t.Run("BatchTwins", s.testBatchTwins)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// answer is one that may be kept under a key that nobody has used.
func (s *onceSuite) answer() models.KeptAnswer {
	s.keys++
	now := time.Now()
	return models.KeptAnswer{
		Caller: []byte{}, Key: fmt.Appendf(nil, "storetest-%s-%d", s.nextKey, s.keys), Request: []byte(hex.EncodeToString(randomBytes(32))),
		Made: now.UnixMilli(), Expires: now.Add(10 * time.Minute).UnixMilli(), Answer: []byte("201\n\nÅ\x00\xff"),
	}
}

// wantKept fails where what is kept under the key of want is not that. Each road
// is asked.
func (s *onceSuite) wantKept(t *testing.T, want models.KeptAnswer) {
	t.Helper()
	for _, road := range []IdempotentStore{s.first, s.again} {
		got, err := road.FindAnswer(testContext(t), want.Caller, want.Key)
		wantKind(t, err, nil)
		wantEqual(t, got, want)
	}
}

func (s *onceSuite) wantNothingKept(t *testing.T, a models.KeptAnswer) {
	t.Helper()
	_, err := s.again.FindAnswer(testContext(t), a.Caller, a.Key)
	wantKind(t, err, store.ErrNotFound)
}

// wantAnswered fails where the error is not that of a key with this answer.
func wantAnswered(t *testing.T, err error, want models.KeptAnswer) {
	t.Helper()
	answered, ok := errors.AsType[*store.AnsweredError](err)
	if !ok {
		t.Fatalf("got error %q, want an answer", text(err))
	}
	wantEqual(t, answered.Answer, want)
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			t.Fatalf("got error %q, which is %q too", text(err), kind)
		}
	}
}

func (s *onceSuite) testOnce(t *testing.T) {
	t.Run("employee and answer are there, and the second time nothing is done", func(t *testing.T) {
		e, a := full(s.newID(t)), s.answer()
		wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
		s.wantStored(t, e)
		s.wantKept(t, a)
		later := a
		later.Made, later.Expires, later.Answer = a.Made+1, a.Expires+1, []byte("another")
		wantAnswered(t, s.again.CreateOnce(testContext(t), e, later), a)
		wantAnswered(t, s.first.CreateOnce(testContext(t), e, later), a)
		s.wantStored(t, e)
		s.wantKept(t, a)
	})
	t.Run("with another ID, as gateways assign them", func(t *testing.T) {
		e, other, a := full(s.newID(t)), full(s.newID(t)), s.answer()
		wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
		wantAnswered(t, s.again.CreateOnce(testContext(t), other, a), a)
		s.wantAbsent(t, other.ID)
	})
	t.Run("another request with the key gets the answer too, which tells", func(t *testing.T) {
		e, a := full(s.newID(t)), s.answer()
		wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
		other := s.answer()
		other.Key = a.Key
		wantAnswered(t, s.again.CreateOnce(testContext(t), bare(s.newID(t)), other), a)
		wantEqual(t, a.Answers(&other), false)
	})
	t.Run("the answer stays when the employee goes", func(t *testing.T) {
		e, a := full(s.newID(t)), s.answer()
		wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
		wantKind(t, s.again.Delete(testContext(t), e.ID, store.Precondition{}), nil)
		wantAnswered(t, s.again.CreateOnce(testContext(t), e, a), a)
		s.wantAbsent(t, e.ID)
	})
	t.Run("a key is no matter of creates without one", func(t *testing.T) {
		e, a := full(s.newID(t)), s.answer()
		wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
		wantKind(t, s.again.Create(testContext(t), e), store.ErrConflict)
		s.create(t, bare(s.newID(t)))
	})
}

// testFailures: a write that fails leaves its key free.
func (s *onceSuite) testFailures(t *testing.T) {
	t.Run("the employee exists", func(t *testing.T) {
		e, a := s.stored(t), s.answer()
		for range 2 {
			wantKind(t, s.first.CreateOnce(testContext(t), bare(e.ID), a), store.ErrConflict)
			s.wantStored(t, e)
			s.wantNothingKept(t, a)
		}
		wantKind(t, s.again.Delete(testContext(t), e.ID, store.Precondition{}), nil)
		wantKind(t, s.again.CreateOnce(testContext(t), bare(e.ID), a), nil)
		s.wantStored(t, bare(e.ID))
		s.wantKept(t, a)
	})
	t.Run("the employee exists, and the key has an answer", func(t *testing.T) {
		e, a := s.stored(t), s.answer()
		wantKind(t, s.first.CreateOnce(testContext(t), full(s.newID(t)), a), nil)
		wantAnswered(t, s.again.CreateOnce(testContext(t), bare(e.ID), a), a)
		s.wantStored(t, e)
	})
	t.Run("the employee cannot be stored", func(t *testing.T) {
		e, a := full(s.newID(t)), s.answer()
		e.City = ptr("grin 😀")
		wantInvalid(t, s.first.CreateOnce(testContext(t), e, a), "city", "charset")
		s.wantAbsent(t, e.ID)
		s.wantNothingKept(t, a)
	})
}

func (s *onceSuite) testKeys(t *testing.T) {
	unused := s.answer()
	base := append(unused.Key, "-key"...)
	var all []models.KeptAnswer
	for _, key := range [][]byte{
		base, bytes.ToUpper(base), append(bytes.Clone(base), ' '), append(bytes.Clone(base), 0), base[:len(base)-1],
		append(bytes.Repeat([]byte("x"), models.MaxIdempotencyKeyBytes-len(base)), base...),
	} {
		for _, caller := range []string{"", "a", "b", string(bytes.Repeat([]byte("c"), models.MaxCallerBytes))} {
			a := s.answer()
			a.Key, a.Caller = key, []byte(caller)
			wantKind(t, s.first.CreateOnce(testContext(t), bare(s.newID(t)), a), nil)
			all = append(all, a)
		}
	}
	for _, a := range all {
		s.wantKept(t, a)
		wantAnswered(t, s.again.CreateOnce(testContext(t), bare(s.newID(t)), a), a)
	}
}

func (s *onceSuite) testAnswers(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, answer := range map[string][]byte{
		"empty": {}, "one zero": {0}, "every byte": every, "spaces": []byte("  "),
		"the longest":      bytes.Repeat([]byte("y"), models.MaxKeptAnswerBytes),
		"about half of it": bytes.Repeat([]byte("å\n"), models.MaxKeptAnswerBytes/6),
	} {
		t.Run(name, func(t *testing.T) {
			e, a := full(s.newID(t)), s.answer()
			a.Answer = answer
			wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
			s.wantKept(t, a)
			wantAnswered(t, s.again.CreateOnce(testContext(t), e, a), a)
		})
	}
}

func (s *onceSuite) testExpiry(t *testing.T) {
	e, a := full(s.newID(t)), s.answer()
	wantKind(t, s.first.CreateOnce(testContext(t), e, a), nil)
	late := s.answer()
	late.Key, late.Made, late.Expires = a.Key, a.Expires-1, a.Expires+1000
	other := full(s.newID(t))
	wantAnswered(t, s.again.CreateOnce(testContext(t), other, late), a)

	late.Made = a.Expires
	wantKind(t, s.again.CreateOnce(testContext(t), e, late), store.ErrConflict)
	s.wantKept(t, a)
	wantKind(t, s.again.CreateOnce(testContext(t), other, late), nil)
	s.wantStored(t, other)
	s.wantKept(t, late)
	wantAnswered(t, s.first.CreateOnce(testContext(t), full(s.newID(t)), late), late)

	t.Run("of many that replace one wins", func(t *testing.T) {
		ctx, ids := testContext(t), s.newIDs(t, goroutines)
		errs := together(goroutines, func(i int) error {
			road := []IdempotentStore{s.first, s.again}[i%2]
			mine := late
			mine.Made, mine.Expires = late.Expires, late.Expires+1000
			return retry(ctx, func() error { return road.CreateOnce(ctx, bare(ids[i]), mine) })
		})
		s.wantOneOf(t, errs, ids)
	})
}

func (s *onceSuite) testForget(t *testing.T) {
	const expired = 7
	var gone, kept []models.KeptAnswer
	for i := range 2 * expired {
		a := s.answer()
		if i%2 == 0 {
			a.Expires = a.Made
			gone = append(gone, a)
		} else {
			kept = append(kept, a)
		}
		wantKind(t, s.first.CreateOnce(testContext(t), bare(s.newID(t)), a), nil)
	}
	ctx := testContext(t)
	for {
		n, err := s.again.ForgetAnswers(ctx, time.UnixMilli(gone[expired-1].Expires), 3)
		wantKind(t, err, nil)
		if n < 0 || n > 3 {
			t.Fatalf("got %d forgotten, want at most 3", n)
		}
		if n == 0 {
			break
		}
	}
	for _, a := range gone {
		s.wantNothingKept(t, a)
	}
	for _, a := range kept {
		s.wantKept(t, a)
	}
	wantKind(t, s.first.CreateOnce(ctx, bare(s.newID(t)), gone[0]), nil)
}

// newIDs returns IDs that no row has.
func (s *onceSuite) newIDs(t *testing.T, n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = s.newID(t)
	}
	return ids
}

// wantOneOf fails where not exactly one has succeeded, all others were told its
// answer, and its employee alone is there.
func (s *onceSuite) wantOneOf(t *testing.T, errs []error, ids []int64) {
	t.Helper()
	winner := -1
	for i, err := range errs {
		switch _, answered := errors.AsType[*store.AnsweredError](err); {
		case answered:
		case err != nil:
			t.Fatalf("goroutine %d: got error %v, want an answer", i, err)
		case winner >= 0:
			t.Fatalf("goroutines %d and %d both won", winner, i)
		default:
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	for i, id := range ids {
		if i == winner {
			s.wantStored(t, bare(id))
		} else if id != ids[winner] {
			s.wantAbsent(t, id)
		}
	}
}

// testTwins: of many with one key, one is done.
func (s *onceSuite) testTwins(t *testing.T) {
	for name, ids := range map[string]func(t *testing.T) []int64{
		"with IDs of their own": func(t *testing.T) []int64 { return s.newIDs(t, goroutines) },
		"with one ID": func(t *testing.T) []int64 {
			return slices.Repeat([]int64{s.newID(t)}, goroutines)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, ids, a := testContext(t), ids(t), s.answer()
			errs := together(goroutines, func(i int) error {
				road := []IdempotentStore{s.first, s.again}[i%2]
				return retry(ctx, func() error { return road.CreateOnce(ctx, bare(ids[i]), a) })
			})
			s.wantOneOf(t, errs, ids)
			s.wantKept(t, a)
		})
	}
}

// testTwinsOfManyKeys: twins and others at the same time, each key with an ID.
func (s *onceSuite) testTwinsOfManyKeys(t *testing.T) {
	const keys, twins = 12, 4
	ctx, ids := testContext(t), s.newIDs(t, keys)
	answers := make([]models.KeptAnswer, keys)
	for i := range answers {
		answers[i] = s.answer()
	}
	errs := together(keys*twins, func(i int) error {
		road := []IdempotentStore{s.first, s.again}[i%2]
		return retry(ctx, func() error { return road.CreateOnce(ctx, bare(ids[i%keys]), answers[i%keys]) })
	})
	for key := range keys {
		var mine []error
		for i := key; i < len(errs); i += keys {
			mine = append(mine, errs[i])
		}
		s.wantOneOf(t, mine, slices.Repeat([]int64{ids[key]}, twins))
	}
}

func (s *onceSuite) testOnceWithEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e, a := full(s.newID(t)), s.answer()
	for name, run := range map[string]func() error{
		"create once": func() error { return s.first.CreateOnce(ended, e, a) },
		"find": func() error {
			_, err := s.first.FindAnswer(ended, a.Caller, a.Key)
			return err
		},
		"forget": func() error {
			_, err := s.first.ForgetAnswers(ended, time.Now(), 1)
			return err
		},
		"check": func() error { return s.first.CheckAnswers(ended) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(); !errors.Is(err, ended.Err()) && !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("got error %q, want %q or %q", text(err), ended.Err(), store.ErrUnavailable)
			}
		})
	}
	s.wantAbsent(t, e.ID)
	s.wantNothingKept(t, a)
}
