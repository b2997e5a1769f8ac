package ndbapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

var (
	errClosed     = errors.New("the store is closed")
	errConnecting = errors.New("connecting to the cluster")
)

// kinds are the errors that were made above package ndb.
var kinds = []error{
	store.ErrNotFound, store.ErrConflict, store.ErrInvalid, store.ErrPreconditionFailed, store.ErrUnavailable, store.ErrUnknownOutcome,
	store.ErrKeyInUse, store.ErrBatchTooLarge,
}

func isKind(err error) bool {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// translate puts the kind beside an error of package ndb. write says that the
// work would have left something in the database.
func translate(ctx context.Context, err error, write bool) error {
	if err == nil || isKind(err) {
		return err
	}
	kind := kindOf(err, write)
	switch {
	case kind == store.ErrNotFound || kind == store.ErrConflict:
		return kind
	case ctx.Err() != nil && errors.Is(err, ctx.Err()) && !write:
		return err
	case kind == nil:
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// kindOf is the kind of an error of package ndb, or nil where it is a mistake of
// ours or of the cluster.
func kindOf(err error, write bool) error {
	if errors.Is(err, ndb.ErrUnknownOrder) {
		return store.ErrOrderUnsupported
	}
	var e *ndb.Error
	if !errors.As(err, &e) {
		if errors.Is(err, ndb.ErrClosed) || errors.Is(err, ndb.ErrNoNode) || errors.Is(err, ndb.ErrQueueFull) {
			return store.ErrUnavailable
		}
		return nil
	}
	switch e.Status {
	case ndb.StatusUnknown, ndb.StatusCommitted:
		if write {
			return store.ErrUnknownOutcome
		}
		return store.ErrUnavailable
	case ndb.StatusTemporary:
		return store.ErrUnavailable
	}
	switch e.Classification {
	case ndb.ClassNoDataFound:
		return store.ErrNotFound
	case ndb.ClassConstraint:
		if isMissingValue(e) {
			return store.ErrUnavailable
		}
		return store.ErrConflict
	case ndb.ClassSchema, ndb.ClassSpace, ndb.ClassNodeShutdown, ndb.ClassNoConnection, ndb.ClassTimeout:
		return store.ErrUnavailable
	}
	return nil
}

// isMissingValue tells that a NOT NULL column got no value. Those that the model
// knows were checked before: this one is of a table that is not as it was.
func isMissingValue(e *ndb.Error) bool {
	const noValue, nullValue = 839, 840
	return e.Code == noValue || e.Code == nullValue
}

// isConditionFalse tells that the condition of an operation did not hold.
func isConditionFalse(err error) bool {
	var e *ndb.Error
	return errors.As(err, &e) && e.Code == ndb.CodeConditionFalse
}

// isClass tells whether err is an error of the cluster of that family.
func isClass(err error, class ndb.Classification) bool {
	var e *ndb.Error
	return errors.As(err, &e) && e.Classification == class
}

// wasCommitted tells that the work was done, though something of the answer is
// lost.
func wasCommitted(err error) bool {
	var e *ndb.Error
	return errors.As(err, &e) && e.Status == ndb.StatusCommitted
}

// isUnknown tells that a write may or may not have been done.
func isUnknown(err error) bool { return errors.Is(err, store.ErrUnknownOutcome) }
