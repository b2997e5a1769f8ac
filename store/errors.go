package store

import "errors"

// The kinds of errors that callers may test for with errors.Is. A road wraps
// its own cause beside the kind, so that errors.As finds that too.
var (
	// ErrNotFound says that no row has the ID.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that a row with the ID exists already.
	ErrConflict = errors.New("exists already")
	// ErrInvalid says that the database cannot store a value. A
	// *models.ValidationError beside it names the properties where known.
	ErrInvalid = errors.New("invalid value")
	// ErrPreconditionFailed says that the stored row is not as was asked.
	ErrPreconditionFailed = errors.New("precondition failed")
	// ErrOrderUnsupported says that the road cannot compare the values of a
	// column as its collation does, so that it cannot order by them. Another
	// road may.
	ErrOrderUnsupported = errors.New("order not supported")
	// ErrUnavailable says that the road cannot serve now: surely nothing was
	// done, and a later try may help.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnknownOutcome says that a write may or may not have been done.
	ErrUnknownOutcome = errors.New("outcome unknown")
)
