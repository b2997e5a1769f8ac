package models

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// FieldError says what is wrong with one property.
type FieldError struct {
	Property string // JSON name, as in "city"
	Rule     string // stable name of the rule broken, as in "max"
	Message  string // a sentence's end for people: "must be at most 64 characters"
}

// ValidationError lists every property that breaks a rule, in the order of the
// struct.
type ValidationError struct {
	Fields []FieldError
}

// Error names the properties and what each must be.
func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Property + " " + f.Message
	}
	return strings.Join(parts, "; ")
}

// Invalid is the ValidationError of one property.
func Invalid(property, rule, message string) *ValidationError {
	return &ValidationError{Fields: []FieldError{{Property: property, Rule: rule, Message: message}}}
}

// rules is safe for concurrent use once it is built.
var rules = newRules()

func newRules() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	mustRegister(v, "utf8", func(fl validator.FieldLevel) bool { return utf8.ValidString(fl.Field().String()) })
	mustRegister(v, "storable_date", func(fl validator.FieldLevel) bool {
		d := fl.Field().Interface().(Date)
		return d.Compare(minDate) >= 0 && d.Compare(maxDate) <= 0
	})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		if e := sl.Current().Interface().(Employee); endsBeforeStart(&e) {
			sl.ReportError(e.Ended, "ended", "Ended", "not_before_started", "")
		}
	}, Employee{})
	return v
}

func mustRegister(v *validator.Validate, tag string, fn validator.Func) {
	if err := v.RegisterValidation(tag, fn); err != nil {
		panic("models: validation rule " + tag + ": " + err.Error())
	}
}

func endsBeforeStart(e *Employee) bool {
	return e.Started != nil && e.Ended != nil && e.Ended.Compare(*e.Started) < 0
}

func validateStruct(s any) error {
	return toValidationError(rules.Struct(s))
}

// validatePart checks the rules of single fields for the given Go field names,
// and those between fields, for which the others must be left out of s.
func validatePart(s any, fields []string) error {
	return toValidationError(rules.StructPartial(s, fields...))
}

func toValidationError(err error) error {
	if err == nil {
		return nil
	}
	var broken validator.ValidationErrors
	if !errors.As(err, &broken) {
		panic("models: a struct that the validator cannot read: " + err.Error())
	}
	out := &ValidationError{Fields: make([]FieldError, len(broken))}
	for i, b := range broken {
		out.Fields[i] = FieldError{Property: b.Field(), Rule: b.Tag(), Message: ruleMessage(b)}
	}
	return out
}

func ruleMessage(b validator.FieldError) string {
	switch b.Tag() {
	case "min":
		return "must be at least " + b.Param()
	case "max":
		return "must be at most " + b.Param() + " characters"
	case "utf8":
		return "must be valid UTF-8"
	case "storable_date":
		return fmt.Sprintf("must be a date from %s to %s", minDate, maxDate)
	case "not_before_started":
		return "must not be before started"
	default:
		panic("models: no message for the rule " + b.Tag())
	}
}
