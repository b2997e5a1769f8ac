package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/models"
)

// Batches reads and writes many employees at once. A batch has at least one item;
// more than models.MaxBatchItems are for callers who know why. Employees and
// patches are valid, as in Employees, and the IDs of a batch of writes are all
// different.
//
// There are two kinds of writes. CreateAll, PatchAll and DeleteAll are one
// transaction: all items or none. Where one item is to blame, the error is a
// *BatchError that says which, in which errors.Is finds what the error of the
// single write would have been. Values that cannot be stored are looked for in
// all items first; then it is the first item that fails. An error of Employees
// that promises that nothing was written promises it for all items, and after
// ErrUnknownOutcome all are written or none. Rows are locked from the moment they
// are written until the end, in the order of the items, though some hundreds at a
// time in no order: two batches that want the same rows can wait for each other,
// which the database ends by the refusal of one after a second or so. The road
// may do that one again; else it ends with ErrUnavailable.
//
// CreateEach, PatchEach and DeleteEach are as many single writes, of which a road
// may do some together: element i of the result is for item i. One that fails is
// no reason for another one to fail. After the context has ended, what was not
// sent ends with the context's error or ErrUnavailable.
//
// All methods are safe for concurrent use. The slices passed in are not kept.
type Batches interface {
	// GetMany reads the employees with the IDs, which may repeat; element i is for
	// ids[i]. Each is read as it was last committed, so that together they are no
	// snapshot. An ID that nobody has is ErrNotFound; any other error may stand at
	// many items of which the failure has kept it from.
	GetMany(ctx context.Context, ids []int64) []ItemResult

	// CreateAll inserts all employees. It returns ErrBatchTooLarge where one
	// transaction cannot hold them.
	CreateAll(ctx context.Context, employees []models.Employee) error

	// PatchAll changes all employees. With returnRows it returns them in the order
	// of the items, as this very change left them, else nil. ErrBatchTooLarge as
	// above.
	PatchAll(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) ([]models.Employee, error)

	// DeleteAll removes all employees. ErrBatchTooLarge as above.
	DeleteAll(ctx context.Context, ids []int64) error

	// CreateEach inserts each employee.
	CreateEach(ctx context.Context, employees []models.Employee) []ItemResult

	// PatchEach changes each employee. With returnRows the results that are done
	// have the employee as this very change left it.
	PatchEach(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) []ItemResult

	// DeleteEach removes each employee.
	DeleteEach(ctx context.Context, ids []int64) []ItemResult
}

// ItemResult is what became of one item of a batch.
type ItemResult struct {
	Employee models.Employee // the zero value where there is an error, or no row was asked for
	Err      error           // nil: done
}

// BatchError says which item of a batch failed, and with it the batch.
type BatchError struct {
	Index int // of the item, from 0 on
	Err   error
}

// Error names the item by its index.
func (e *BatchError) Error() string { return fmt.Sprintf("item %d: %v", e.Index, e.Err) }

// Unwrap gives what happened.
func (e *BatchError) Unwrap() error { return e.Err }

// ErrBatchTooLarge says that the items are more than one transaction may hold.
// Nothing was written. A *BatchTooLargeError has what is known of the limit.
var ErrBatchTooLarge = errors.New("more than one transaction may hold")

// BatchTooLargeError is an ErrBatchTooLarge.
type BatchTooLargeError struct {
	Limit   int    // how many items such a batch may have; 0: not known
	Setting string // what the configuration of the data nodes calls the limit that counts; empty: not known
	Cause   error  // what the database said; nil where it was not asked
}

// Error names the limit.
func (e *BatchTooLargeError) Error() string {
	text := ErrBatchTooLarge.Error()
	if e.Limit > 0 {
		text = fmt.Sprintf("%s: %d items, by %s", text, e.Limit, e.Setting)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the kind and the cause.
func (e *BatchTooLargeError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrBatchTooLarge}
	}
	return []error{ErrBatchTooLarge, e.Cause}
}

// FailedItems returns n items that all ended with the error.
func FailedItems(n int, err error) []ItemResult {
	items := make([]ItemResult, n)
	for i := range items {
		items[i].Err = err
	}
	return items
}

var _ Batches = Unavailable{}

// GetMany returns ErrUnavailable for each.
func (u Unavailable) GetMany(_ context.Context, ids []int64) []ItemResult {
	return FailedItems(len(ids), u.err())
}

// CreateAll returns ErrUnavailable.
func (u Unavailable) CreateAll(context.Context, []models.Employee) error { return u.err() }

// PatchAll returns ErrUnavailable.
func (u Unavailable) PatchAll(context.Context, []models.EmployeeUpdate, bool) ([]models.Employee, error) {
	return nil, u.err()
}

// DeleteAll returns ErrUnavailable.
func (u Unavailable) DeleteAll(context.Context, []int64) error { return u.err() }

// CreateEach returns ErrUnavailable for each.
func (u Unavailable) CreateEach(_ context.Context, employees []models.Employee) []ItemResult {
	return FailedItems(len(employees), u.err())
}

// PatchEach returns ErrUnavailable for each.
func (u Unavailable) PatchEach(_ context.Context, updates []models.EmployeeUpdate, _ bool) []ItemResult {
	return FailedItems(len(updates), u.err())
}

// DeleteEach returns ErrUnavailable for each.
func (u Unavailable) DeleteEach(_ context.Context, ids []int64) []ItemResult {
	return FailedItems(len(ids), u.err())
}
