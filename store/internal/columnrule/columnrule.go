// Package columnrule names the rules that only a column knows, so that a value
// which it cannot store is refused in the same words on every road.
package columnrule

import "github.com/ndbgate/ndbgate/models"

// The rules.
const (
	Charset      = "charset"
	Max          = "max"
	NotNull      = "not_null"
	Range        = "range"
	StorableDate = "storable_date"
)

var messages = map[string]string{
	Charset:      "must hold only characters that the column's character set can store",
	Max:          "must not be longer than its column",
	NotNull:      "must not be null",
	Range:        "must be in the range of its column",
	StorableDate: "must be a date that its column can store",
}

// Broken says that the property of that JSON name breaks a rule, one of those
// above.
func Broken(property, rule string) models.FieldError {
	message, ok := messages[rule]
	if !ok {
		panic("columnrule: no rule " + rule)
	}
	return models.FieldError{Property: property, Rule: rule, Message: message}
}
