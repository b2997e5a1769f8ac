package ndb

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// Status says what became of the work that an error belongs to.
type Status uint8

// The statuses.
const (
	// StatusPermanent: not done, and the same request will fail again.
	StatusPermanent Status = iota
	// StatusTemporary: not done, and the same request may succeed later.
	StatusTemporary
	// StatusUnknown: it may have been done. Read before doing it again.
	StatusUnknown
	// StatusCommitted: it was done, but what it should have read is lost.
	StatusCommitted
)

// String names the status as the NDB manual does.
func (s Status) String() string {
	switch s {
	case StatusPermanent:
		return "permanent error"
	case StatusTemporary:
		return "temporary error"
	case StatusUnknown:
		return "unknown result"
	case StatusCommitted:
		return "committed"
	default:
		return fmt.Sprintf("Status(%d)", uint8(s))
	}
}

// Classification is the family of an error.
type Classification uint8

// The classifications. Callers decide by these and by the status, not by code.
const (
	ClassUnknown        Classification = iota // a code that this package does not know
	ClassNoDataFound                          // no row has the key
	ClassConstraint                           // a key exists, NULL in a NOT NULL column, a foreign key
	ClassCondition                            // a condition of the request itself was false
	ClassTimeout                              // a lock or an idle transaction took too long
	ClassNodeRecovery                         // a node failed or changes its role
	ClassNodeShutdown                         // a node or the cluster is shutting down
	ClassOverload                             // redo log or disk are behind
	ClassResource                             // memory, records or buffers ran out for now
	ClassSpace                                // the space for rows is used up
	ClassSchema                               // the table is not what the client thinks
	ClassApplication                          // the request makes no sense
	ClassInternal                             // a bug here or in the cluster
	ClassNoConnection                         // nothing was sent: no node can be used
	ClassUnknownOutcome                       // no answer will come
)

var classNames = [...]string{
	ClassUnknown: "unknown", ClassNoDataFound: "no data found", ClassConstraint: "constraint violation",
	ClassCondition: "condition false", ClassTimeout: "timeout expired", ClassNodeRecovery: "node recovery",
	ClassNodeShutdown: "node shutdown", ClassOverload: "overload", ClassResource: "temporary resource",
	ClassSpace: "insufficient space", ClassSchema: "schema error", ClassApplication: "application error",
	ClassInternal: "internal error", ClassNoConnection: "no connection", ClassUnknownOutcome: "unknown result",
}

// String names the classification as the NDB manual does.
func (c Classification) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("Classification(%d)", uint8(c))
}

// Error is an error of the cluster or of the way to it.
type Error struct {
	Op             string // what was done, as in "insert ndbtest/employee"; may be empty
	Code           int    // NDB's own number; 0 where it has none
	Status         Status
	Classification Classification
	Detail         uint32 // what the cluster says beside the code: for 893 the ID of the index
	Cause          error  // what lies below, such as a context's error; may be nil
}

// Error names the operation, the code and what it means.
func (e *Error) Error() string {
	text := fmt.Sprintf("%v (%v)", e.Classification, e.Status)
	if e.Code != 0 {
		text = fmt.Sprintf("NDB error %d: %s", e.Code, text)
		if meaning := codeMeaning(e.Code); meaning != "" {
			text = fmt.Sprintf("NDB error %d: %s (%v)", e.Code, meaning, e.Status)
		}
	}
	if e.Op != "" {
		text = e.Op + ": " + text
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errors of the client's own states.
var (
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("ndb: client is closed")
	// ErrNoNode says that no data node can be used now.
	ErrNoNode = errors.New("ndb: no data node is usable")
	// ErrQueueFull says that too much waits to be sent or to begin.
	ErrQueueFull = errors.New("ndb: too many requests wait")
)

// SurelyNotDone tells whether the work that err belongs to has left nothing in
// the database: it is false where that is not known, and where err is nil.
func SurelyNotDone(err error) bool {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Status == StatusPermanent || e.Status == StatusTemporary
	}
	return err != nil
}

// MayRetry tells whether the same work, begun anew, may succeed, and surely was
// not done yet.
func MayRetry(err error) bool {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Status == StatusTemporary
	}
	return errors.Is(err, ErrNoNode) || errors.Is(err, ErrQueueFull)
}

// newError classifies a code that the cluster sent with a refusal: whatever it
// was sent for was not done.
func newError(code uint32, detail uint32) *Error {
	e := classify(int(code))
	e.Detail = detail
	return e
}

// unknownOutcome is the error of a commit that was sent and never answered.
func unknownOutcome(code int, cause error) *Error {
	return &Error{Code: code, Status: StatusUnknown, Classification: ClassUnknownOutcome, Cause: cause}
}

// notSent is the error of work that never left this process.
func notSent(cause error) *Error {
	if errors.Is(cause, transporter.ErrQueueFull) {
		cause = fmt.Errorf("%w: %w", ErrQueueFull, cause)
	}
	status := StatusTemporary
	if errors.Is(cause, ErrClosed) || errors.Is(cause, context.Canceled) {
		status = StatusPermanent
	}
	return &Error{Status: status, Classification: ClassNoConnection, Cause: cause}
}
