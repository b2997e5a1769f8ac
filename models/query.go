package models

// EmployeeQuery selects employees and says in which order they come.
type EmployeeQuery struct {
	Filter Filter
	Order  []Order // ties, and all where it is empty, come by ascending ID
	// After leaves out the employees up to a place in the order, which is a
	// Cursor of an earlier page with the same Order; nil leaves out none.
	After Cursor
	Limit int // at most so many; at least 1
	// Fields are the properties that are wanted; the ID is read in any case. The
	// others may have any value. Nil means all.
	Fields []Property
}

// EmployeePage is some of what a query selects.
type EmployeePage struct {
	Employees []Employee // the slice is the caller's; none is empty, not nil
	// Next is the place of the last employee, where others come behind it; else
	// nil.
	Next Cursor
}

// EmployeeKey is the property that no two employees share.
var EmployeeKey = mustProperty("id")

func mustProperty(name string) Property {
	p, ok := EmployeeProperty(name)
	if !ok {
		panic("models: no property " + name)
	}
	return p
}

// TotalOrder is the order of the query with its ties broken.
func (q *EmployeeQuery) TotalOrder() []Order { return TotalOrder(q.Order, EmployeeKey) }

// Selected is the normal form of what the query selects, After included.
func (q *EmployeeQuery) Selected() Filter {
	if q.After == nil {
		return q.Filter.Normal()
	}
	return And(q.Filter, After(q.TotalOrder(), q.After)).Normal()
}
