package models

import (
	"reflect"
	"slices"
	"strings"
)

// Property is one JSON member of Employee. The list of all of them is read
// from the struct's tags.
type Property struct {
	Name     string // JSON name, as in "city"
	Field    string // Go field name, as in "City"
	Nullable bool   // null in JSON and NULL in the column are allowed
	index    int
}

var employeeProperties = readProperties(reflect.TypeFor[Employee]())

func readProperties(t reflect.Type) []Property {
	properties := make([]Property, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties = append(properties, Property{Name: name, Field: f.Name, Nullable: f.Type.Kind() == reflect.Pointer, index: i})
	}
	return properties
}

// EmployeeProperties returns all properties in the order of the struct. The
// slice is the caller's.
func EmployeeProperties() []Property { return slices.Clone(employeeProperties) }

// EmployeeProperty finds a property by its JSON name.
func EmployeeProperty(name string) (Property, bool) {
	for _, p := range employeeProperties {
		if p.Name == name {
			return p, true
		}
	}
	return Property{}, false
}

// Pointer returns the address of the property's field in e, as *int64,
// **string and so on.
func (p Property) Pointer(e *Employee) any {
	return reflect.ValueOf(e).Elem().Field(p.index).Addr().Interface()
}

// Value returns the property's value in e: int64, string, Date and so on, or
// nil for null.
func (p Property) Value(e *Employee) any {
	v := reflect.ValueOf(e).Elem().Field(p.index)
	if v.Kind() != reflect.Pointer {
		return v.Interface()
	}
	if v.IsNil() {
		return nil
	}
	return v.Elem().Interface()
}

// copyTo sets the property of dst to what it is in src.
func (p Property) copyTo(dst, src *Employee) {
	reflect.ValueOf(dst).Elem().Field(p.index).Set(reflect.ValueOf(src).Elem().Field(p.index))
}
