package models

// MaxBatchItems is the most items that one batch may hold.
const MaxBatchItems = 50_000

// EmployeeUpdate is one item of a batch of changes: what becomes of the employee
// with the ID.
type EmployeeUpdate struct {
	ID    int64
	Patch EmployeePatch
}
