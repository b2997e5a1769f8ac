// Package store says what a road to the rows must do, whatever technology
// drives it. The roads live in the packages below it; store/storetest proves
// that each keeps this contract.
package store

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
)

// Employees reads and writes the table employee.
//
// Every call ends by the deadline of its context. Every write is one
// transaction: it happens as a whole or not at all. A write that returns nil
// is committed. Errors are tested with errors.Is:
//
//   - ErrNotFound, ErrConflict, ErrInvalid, ErrPreconditionFailed and
//     ErrUnavailable promise that nothing was written.
//   - ErrUnknownOutcome says that the write may have happened. It is never
//     retried below the caller.
//   - A context error with no kind beside it comes from reads, and from writes
//     of which nothing was sent.
//
// All methods are safe for concurrent use. Employees passed in are valid
// (models.Employee.Validate); what only the database knows, such as the
// character set of a column, the road checks itself and answers with
// ErrInvalid and a *models.ValidationError.
type Employees interface {
	// Get returns the employee, or ErrNotFound.
	Get(ctx context.Context, id int64) (models.Employee, error)

	// List returns at most q.Limit employees in the order of q; none is an empty
	// result and no error. Each is as it was last committed when it was read:
	// together they are no snapshot. ErrInvalid with a *models.ValidationError
	// says that text which its column cannot hold is to be compared in order;
	// ErrOrderUnsupported that this road cannot keep the order.
	List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error)

	// Create inserts the employee, or returns ErrConflict where its ID exists.
	Create(ctx context.Context, e models.Employee) error

	// Save creates the employee or replaces all of it, and tells which of the
	// two it did. A row that already is as asked counts as replaced.
	Save(ctx context.Context, e models.Employee, pre Precondition) (created bool, err error)

	// Patch changes the employee, or returns ErrNotFound. An ID in the patch
	// is ignored. Where the patch breaks a rule together with the stored row,
	// it returns ErrInvalid and a *models.ValidationError. With opts.ReturnRow
	// it returns the employee as this very change left it, else the zero value.
	Patch(ctx context.Context, id int64, p models.EmployeePatch, opts PatchOptions) (models.Employee, error)

	// Delete removes the employee, or returns ErrNotFound.
	Delete(ctx context.Context, id int64, pre Precondition) error
}

// Precondition must hold for the stored row, checked in the same transaction
// as the write, or the write returns ErrPreconditionFailed. The zero value
// always holds. At most one field is set.
//
// Patch and Delete of an absent row return ErrNotFound whatever is asked.
type Precondition struct {
	Absent  bool                        // there is no row
	Present bool                        // there is a row
	Matches func(*models.Employee) bool // there is a row, and this is true of it; may not block
}

// HoldsFor checks the precondition against a row, nil where there is none.
func (p Precondition) HoldsFor(row *models.Employee) bool {
	switch {
	case p.Absent:
		return row == nil
	case p.Present:
		return row != nil
	case p.Matches != nil:
		return row != nil && p.Matches(row)
	default:
		return true
	}
}

// PatchOptions change how Patch works; the zero value is a plain change.
type PatchOptions struct {
	Precondition Precondition
	ReturnRow    bool
}
