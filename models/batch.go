package models

import "fmt"

// MaxBatchItems is the most items that one batch may hold.
const MaxBatchItems = 50_000

// EmployeeUpdate is one item of a batch of updates.
type EmployeeUpdate struct {
	ID    int64
	Patch EmployeePatch
}

// Batch is a list of items that are read or written together: IDs to get or
// delete, employees to create, updates to make.
type Batch[T int64 | Employee | EmployeeUpdate] struct {
	Items []T
	// Partial asks for an outcome of each item instead of all or nothing.
	Partial bool
}

// CheckSize returns an error where a batch is empty or too large.
func (b *Batch[T]) CheckSize() error {
	if n := len(b.Items); n < 1 || n > MaxBatchItems {
		return fmt.Errorf("a batch holds 1 to %d items, not %d", MaxBatchItems, n)
	}
	return nil
}
