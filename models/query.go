package models

// Match asks that a property equals a value. Text compares by the collation of
// its column: in the original table without regard to case, to most accents and
// to spaces at the end. Text with more characters than its column has room for,
// spaces at the end left aside, equals nothing, whatever the collation passes over.
type Match struct {
	Property Property
	Value    any // of the property's type without pointer: int64, int32, string or Date
}

// EmployeeQuery selects employees in ascending order of their IDs.
type EmployeeQuery struct {
	Matches []Match // all of them must hold; none selects every employee
	AfterID int64   // only employees with a greater ID
	Limit   int     // at most so many; at least 1
}
