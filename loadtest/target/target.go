// Package target is what load goes to: one road to the rows, over HTTP by a
// gateway, or straight by a store in this process.
package target

import (
	"context"
	"errors"

	"github.com/ndbgate/ndbgate/models"
)

// Target is one road, by one way. It is safe for concurrent use.
type Target interface {
	// Open returns a session for one worker. It may connect.
	Open(ctx context.Context) (Session, error)
	// Close ends what the sessions share. Sessions are closed before.
	Close() error
}

// Session does operations one after the other, for one worker. Each ends within
// the timeout of its target, or with the context. What the target says of an
// operation that was not done is an *Error. Nothing is done again. Not safe for
// concurrent use.
type Session interface {
	// Insert adds a row.
	Insert(ctx context.Context, e *models.Employee) error
	// Select reads a row, into e unless that is nil. A row with another ID is an
	// error.
	Select(ctx context.Context, id int64, e *models.Employee) error
	// Update sets the first and the last name of a row, which must exist.
	Update(ctx context.Context, id int64, first, last string) error
	// Delete removes a row, which must exist.
	Delete(ctx context.Context, id int64) error
	// List reads at most limit rows of a city, and tells how many came.
	List(ctx context.Context, city string, limit int) (rows int, err error)
	// Close ends the session.
	Close()
}

// Ranges is a session that knows which rows there are. Sessions need not
// implement it.
type Ranges interface {
	// Rows returns rows from first to last, in ascending order of their IDs, at most
	// limit of them, with their IDs and both names alone.
	Rows(ctx context.Context, first, last int64, limit int) ([]models.Employee, error)
}

// Batches is a session that writes many rows at once. Sessions need not implement
// it.
type Batches interface {
	// InsertAll adds the rows in one transaction: all or none.
	InsertAll(ctx context.Context, rows []models.Employee) error
	// DeleteAny removes those of the rows that are there, not in one transaction.
	DeleteAny(ctx context.Context, ids []int64) error
}

// Kinds of errors. Those of a gateway have the code of its problem, which these
// are too as far as they come from there.
const (
	NotFound       = "not_found"
	Conflict       = "already_exists"
	Invalid        = "validation_failed"
	Unavailable    = "unavailable"
	UnknownOutcome = "outcome_unknown"
	Timeout        = "timeout"    // no answer in time
	Connection     = "connection" // refused, cut off
	Protocol       = "protocol"   // what came was no answer to the question
	Other          = "other"
)

// Error says why an operation was not done, or may not have been.
type Error struct {
	Kind string
	Err  error
}

// Error gives the kind and the cause.
func (e *Error) Error() string { return e.Kind + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Kind is the kind of an error, Other where it has none.
func Kind(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Other
}

// IsDown tells errors of a target that does not serve at all, at this moment.
func IsDown(err error) bool {
	kind := Kind(err)
	return kind == Connection || kind == Unavailable || kind == Timeout
}
