package models

import "slices"

// EmployeePatch is a set of changes to one employee: the properties in Set
// take the values they have in Values, where nil is NULL. The zero value
// changes nothing.
type EmployeePatch struct {
	Values Employee
	Set    []Property
}

// Sets tells whether the patch changes the property of that JSON name.
func (p *EmployeePatch) Sets(name string) bool {
	return slices.ContainsFunc(p.Set, func(s Property) bool { return s.Name == name })
}

// Validate checks what can be checked without the stored row. It returns nil
// or a *ValidationError that names all bad properties.
func (p *EmployeePatch) Validate() error {
	if len(p.Set) == 0 {
		return nil
	}
	var values Employee // what is not set may be anything
	fields := make([]string, len(p.Set))
	for i, s := range p.Set {
		s.copyTo(&values, &p.Values)
		fields[i] = s.Field
	}
	return validatePart(&values, fields)
}

// NeedsRow tells whether a rule compares a property of the patch with one that
// only the stored row has, so that Merge has to see the row.
func (p *EmployeePatch) NeedsRow() bool {
	return p.Sets("started") && !p.Sets("ended") && p.Values.Started != nil ||
		p.Sets("ended") && !p.Sets("started") && p.Values.Ended != nil
}

// Merge returns current with the changes of the patch. A *ValidationError says
// that the patch and the row together break a rule; rules that the patch does
// not touch are not looked at, so a row that others left in a bad state can
// still be mended in part.
func (p *EmployeePatch) Merge(current Employee) (Employee, error) {
	merged := current
	for _, s := range p.Set {
		s.copyTo(&merged, &p.Values)
	}
	if !p.NeedsRow() {
		return merged, nil
	}
	if err := checkOrderOfDates(&merged); err != nil {
		return Employee{}, err
	}
	return merged, nil
}

func checkOrderOfDates(e *Employee) error {
	if endsBeforeStart(e) {
		return Invalid("ended", "not_before_started", "must not be before started")
	}
	return nil
}
