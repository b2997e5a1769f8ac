package models

import "slices"

// Order is a property by which employees are ordered. Null comes first where it
// ascends and last where it descends. Text is ordered by the collation of its
// column.
type Order struct {
	Property   Property
	Descending bool
}

// Cursor is a place in an order: the values of its properties, nil for null, at
// one employee. The order must be total; see TotalOrder.
type Cursor []any

// TotalOrder returns the order that has no ties: the key, which no two rows
// share, comes last, ascending where the order does not have it.
func TotalOrder(order []Order, key Property) []Order {
	for i, o := range order {
		if o.Property.Field == key.Field {
			return slices.Clone(order[:i+1])
		}
	}
	return append(slices.Clone(order), Order{Property: key})
}

// After returns the filter of what comes behind a cursor in a total order, which
// must have a value for each property of it.
func After(order []Order, cursor Cursor) Filter {
	var choices, tied []Filter
	for i, o := range order {
		if behind, ok := o.behind(cursor[i]); ok {
			choices = append(choices, And(append(slices.Clone(tied), behind)...))
		}
		tied = append(tied, o.tied(cursor[i]))
	}
	if len(choices) == 1 {
		return choices[0]
	}
	// The first member says no more than the second one, but it is what an index
	// on the first property can use.
	return And(order[0].notBefore(cursor[0]), Or(choices...))
}

// behind holds where the property comes behind the value; nothing may.
func (o Order) behind(value any) (f Filter, ok bool) {
	switch {
	case value == nil && o.Descending, value == nil && !o.Property.Nullable:
		return Filter{}, false
	case value == nil:
		return IsNotNull(o.Property), true
	case !o.Descending:
		return Compare(o.Property, OpGreater, value), true
	case o.Property.Nullable:
		return Or(Compare(o.Property, OpLess, value), IsNull(o.Property)), true
	default:
		return Compare(o.Property, OpLess, value), true
	}
}

func (o Order) tied(value any) Filter {
	if value == nil {
		return IsNull(o.Property)
	}
	return Compare(o.Property, OpEqual, value)
}

// notBefore holds where the property is tied or comes behind.
func (o Order) notBefore(value any) Filter {
	switch {
	case value == nil && o.Descending:
		return IsNull(o.Property)
	case value == nil:
		return And()
	case !o.Descending:
		return Compare(o.Property, OpGreaterOrEqual, value)
	case o.Property.Nullable:
		return Or(Compare(o.Property, OpLessOrEqual, value), IsNull(o.Property))
	default:
		return Compare(o.Property, OpLessOrEqual, value)
	}
}
