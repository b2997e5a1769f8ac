package store

import (
	"context"
	"errors"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

// Idempotency is a road that keeps the answers of writes under the keys that
// clients gave, so that a write that is sent again is not done again.
//
// A write and its kept answer are one transaction. So there is no time at which
// one of them is there without the other, whoever dies when, and nothing has to
// be cleaned up after a gateway that died: its transaction was committed or it
// was not. Two writes with one key meet at the row of the key, whose primary key
// lets in one: the other one waits for its end, by the lock that an insert takes,
// and then finds its answer, or where it has failed takes its place. A write that
// fails keeps nothing, so that its key is free. A write whose outcome is unknown
// is sent again to learn it: either its answer is there or it is done now.
//
// All roads to one database share the keys.
type Idempotency interface {
	// CreateOnce is Create that also keeps the answer a. Where the key has an
	// answer already, which had not expired when a was made, nothing is done,
	// and the error is an *AnsweredError with that: so it is also where the ID
	// exists as well. An expired answer is replaced. ErrKeyInUse says that the
	// deadline passed while another write with the key was under way.
	CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error

	// CreateAllOnce, PatchAllOnce and DeleteAllOnce are CreateAll, PatchAll and
	// DeleteAll of Batches in the same way. The answer is kept before the items are
	// looked at, but for their values.
	CreateAllOnce(ctx context.Context, employees []models.Employee, a models.KeptAnswer) error
	PatchAllOnce(ctx context.Context, updates []models.EmployeeUpdate, a models.KeptAnswer) error
	DeleteAllOnce(ctx context.Context, ids []int64, a models.KeptAnswer) error

	// FindAnswer returns what is kept under a key, expired or not, or ErrNotFound.
	FindAnswer(ctx context.Context, caller, key []byte) (models.KeptAnswer, error)

	// ForgetAnswers removes at most limit answers that have expired at the time
	// now, and tells how many it removed. Those of which more than one caller
	// takes care at once count for one of them. The limit is at most MaxForget.
	ForgetAnswers(ctx context.Context, now time.Time, limit int) (int, error)

	// CheckAnswers makes one round trip that proves that answers can be kept. It
	// returns ErrNoAnswers where the table is missing.
	CheckAnswers(ctx context.Context) error
}

// MaxForget is how many answers ForgetAnswers removes at most: they are one
// transaction, whose locks others wait for.
const MaxForget = 256

// ErrKeyInUse says that another write with the same idempotency key is under
// way. Nothing was done.
var ErrKeyInUse = errors.New("the idempotency key is in use")

// ErrNoAnswers says that the database has no table for kept answers, or one that
// is not as deploy/schema.sql makes it. Nothing was done. ErrUnavailable stands
// beside it.
var ErrNoAnswers = errors.New("the table idempotency of deploy/schema.sql is missing, or another one")

// AnsweredError says that a write was not done because its idempotency key has
// an answer: that of the same write, or of another one, which Answer.Answers
// tells.
type AnsweredError struct {
	Answer models.KeptAnswer
}

// Error tells no more than that: keys are the secrets of clients.
func (e *AnsweredError) Error() string { return "the idempotency key has an answer already" }

var _ Idempotency = Unavailable{}

// CreateOnce returns ErrUnavailable.
func (u Unavailable) CreateOnce(context.Context, models.Employee, models.KeptAnswer) error {
	return u.err()
}

// CreateAllOnce returns ErrUnavailable.
func (u Unavailable) CreateAllOnce(context.Context, []models.Employee, models.KeptAnswer) error {
	return u.err()
}

// PatchAllOnce returns ErrUnavailable.
func (u Unavailable) PatchAllOnce(context.Context, []models.EmployeeUpdate, models.KeptAnswer) error {
	return u.err()
}

// DeleteAllOnce returns ErrUnavailable.
func (u Unavailable) DeleteAllOnce(context.Context, []int64, models.KeptAnswer) error { return u.err() }

// FindAnswer returns ErrUnavailable.
func (u Unavailable) FindAnswer(context.Context, []byte, []byte) (models.KeptAnswer, error) {
	return models.KeptAnswer{}, u.err()
}

// ForgetAnswers returns ErrUnavailable.
func (u Unavailable) ForgetAnswers(context.Context, time.Time, int) (int, error) { return 0, u.err() }

// CheckAnswers returns ErrUnavailable.
func (u Unavailable) CheckAnswers(context.Context) error { return u.err() }
