// Package models holds the types that cross every room of the gateway: the
// employee, its changes, queries and batches.
//
// The struct tags of Employee are the one mapping between JSON, validation and
// columns; both roads to the database read it from there.
package models

// DefaultDepartment is what the column takes when a create or replace leaves
// the department out.
const DefaultDepartment = 1

// Employee is one row of the table employee. A nil pointer is NULL in the
// database and null in JSON. Copies share what the pointers point to, so treat
// those values as read only.
type Employee struct {
	ID         int64   `json:"id" gorm:"column:id;primaryKey;autoIncrement:false" validate:"min=1"`
	First      *string `json:"first" gorm:"column:first;size:64" validate:"omitempty,utf8,max=64"`
	Last       *string `json:"last" gorm:"column:last;size:64" validate:"omitempty,utf8,max=64"`
	City       *string `json:"city" gorm:"column:municipality;size:64;index:idx_municipality" validate:"omitempty,utf8,max=64"`
	Started    *Date   `json:"started" gorm:"column:started" validate:"omitempty,storable_date"`
	Ended      *Date   `json:"ended" gorm:"column:ended" validate:"omitempty,storable_date"`
	Department int32   `json:"department" gorm:"column:department;not null" validate:"min=1"`
}

// NewEmployee returns an employee with the defaults of its columns and no ID.
func NewEmployee() Employee {
	return Employee{Department: DefaultDepartment}
}

// TableName is the table that GORM and the native road use.
func (Employee) TableName() string { return "employee" }

// Validate checks every rule that needs no database. It returns nil or a
// *ValidationError that names all bad properties.
func (e *Employee) Validate() error {
	return validateStruct(e)
}
