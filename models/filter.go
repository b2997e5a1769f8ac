package models

import (
	"fmt"
	"strconv"
	"strings"
)

// Filter is a condition on employees, with the logic of SQL: comparing null with
// anything is unknown, NOT of unknown is unknown, and only what is true selects.
// Text compares by the collation of its column: in the original table without
// regard to case, to most accents and to spaces at the end. The zero value
// selects every employee. A Filter is not changed once it is made.
type Filter struct {
	Op       FilterOp
	Members  []Filter // of OpAnd and OpOr, any number; of OpNot, one
	Property Property // of all others
	// Value is of the property's type without pointer: int64, int32, string or
	// Date. Of OpLike and OpNotLike it is the pattern; tests for null have none.
	Value any
}

// FilterOp says what a Filter asks for.
type FilterOp uint8

// The operations.
const (
	OpAnd FilterOp = iota // all members hold; so it does without any
	OpOr                  // a member holds; without any it never does
	OpNot
	OpEqual
	OpNotEqual
	OpLess
	OpLessOrEqual
	OpGreater
	OpGreaterOrEqual
	OpLike // % stands for any text, _ for one character, \ makes the next one mean itself
	OpNotLike
	OpNull
	OpNotNull
)

var negations = map[FilterOp]FilterOp{
	OpAnd: OpOr, OpOr: OpAnd,
	OpEqual: OpNotEqual, OpNotEqual: OpEqual,
	OpLess: OpGreaterOrEqual, OpGreaterOrEqual: OpLess,
	OpGreater: OpLessOrEqual, OpLessOrEqual: OpGreater,
	OpLike: OpNotLike, OpNotLike: OpLike,
	OpNull: OpNotNull, OpNotNull: OpNull,
}

// IsOrdering tells the operations that need an order of values.
func (op FilterOp) IsOrdering() bool { return op >= OpLess && op <= OpGreaterOrEqual }

// And holds where all filters hold.
func And(filters ...Filter) Filter { return Filter{Op: OpAnd, Members: filters} }

// Or holds where any of the filters holds.
func Or(filters ...Filter) Filter { return Filter{Op: OpOr, Members: filters} }

// Not holds where f is false.
func Not(f Filter) Filter { return Filter{Op: OpNot, Members: []Filter{f}} }

// Compare holds where the property compares so with the value.
func Compare(p Property, op FilterOp, value any) Filter {
	return Filter{Op: op, Property: p, Value: value}
}

// IsNull holds where the property is null.
func IsNull(p Property) Filter { return Filter{Op: OpNull, Property: p} }

// IsNotNull holds where the property is not null.
func IsNotNull(p Property) Filter { return Filter{Op: OpNotNull, Property: p} }

// SelectsAll tells whether f, in its normal form, holds for every employee.
func (f Filter) SelectsAll() bool { return f.Op == OpAnd && len(f.Members) == 0 }

// SelectsNone tells whether f, in its normal form, holds for no employee.
func (f Filter) SelectsNone() bool { return f.Op == OpOr && len(f.Members) == 0 }

// Normal returns a filter that selects the same, and is as simple as it gets
// without looking at values: there is no OpNot, no group is in a group of its own
// kind, and a group has at least two members, but for those that hold always or
// never. In such a filter unknown may be taken for false.
func (f Filter) Normal() Filter { return f.normal(false) }

func (f Filter) normal(negated bool) Filter {
	switch {
	case f.Op == OpNot:
		return f.Members[0].normal(!negated)
	case negated:
		f.Op = negations[f.Op]
	}
	if f.Op != OpAnd && f.Op != OpOr {
		return f
	}
	members := make([]Filter, 0, len(f.Members))
	for _, m := range f.Members {
		m = m.normal(negated)
		switch {
		case m.Op == f.Op: // also what adds nothing
			members = append(members, m.Members...)
		case m.SelectsAll() || m.SelectsNone():
			return m
		default:
			members = append(members, m)
		}
	}
	if len(members) == 1 {
		return members[0]
	}
	return Filter{Op: f.Op, Members: members}
}

// Replaced returns f with what change makes of each comparison and test for null,
// in the normal form where f is in it.
func (f Filter) Replaced(change func(Filter) (Filter, error)) (Filter, error) {
	if f.Op > OpNot {
		return change(f)
	}
	members := make([]Filter, len(f.Members))
	for i, m := range f.Members {
		var err error
		if members[i], err = m.Replaced(change); err != nil {
			return Filter{}, err
		}
	}
	return Filter{Op: f.Op, Members: members}.Normal(), nil
}

// Conjuncts lists what all must hold, of a filter in its normal form.
func (f Filter) Conjuncts() []Filter {
	if f.Op == OpAnd {
		return f.Members
	}
	return []Filter{f}
}

var comparators = map[FilterOp]string{
	OpEqual: "=", OpNotEqual: "!=", OpLess: "<", OpLessOrEqual: "<=", OpGreater: ">", OpGreaterOrEqual: ">=",
}

// String writes the filter in the syntax of AIP-160, in one form for all that
// are the same. What holds always is TRUE and what never does FALSE.
func (f Filter) String() string {
	var b strings.Builder
	f.appendTo(&b, false)
	return b.String()
}

func (f Filter) appendTo(b *strings.Builder, inGroup bool) {
	switch f.Op {
	case OpAnd, OpOr:
		f.appendGroup(b, inGroup)
	case OpNot:
		b.WriteString("NOT (")
		f.Members[0].appendTo(b, false)
		b.WriteByte(')')
	case OpLike, OpNotLike:
		if f.Op == OpNotLike {
			b.WriteString("NOT ")
		}
		fmt.Fprintf(b, "like(%s, %s)", f.Property.Name, literal(f.Value))
	case OpNull:
		b.WriteString(f.Property.Name + " = null")
	case OpNotNull:
		b.WriteString(f.Property.Name + " != null")
	default:
		fmt.Fprintf(b, "%s %s %s", f.Property.Name, comparators[f.Op], f.literal())
	}
}

func (f Filter) appendGroup(b *strings.Builder, inGroup bool) {
	word, none := " AND ", "TRUE"
	if f.Op == OpOr {
		word, none = " OR ", "FALSE"
	}
	if len(f.Members) == 0 {
		b.WriteString(none)
		return
	}
	if inGroup {
		b.WriteByte('(')
	}
	for i, m := range f.Members {
		if i > 0 {
			b.WriteString(word)
		}
		m.appendTo(b, true)
	}
	if inGroup {
		b.WriteByte(')')
	}
}

// literal escapes the stars of text that compares by = and !=, where they would
// stand for any text.
func (f Filter) literal() string {
	text := literal(f.Value)
	if _, isText := f.Value.(string); isText && (f.Op == OpEqual || f.Op == OpNotEqual) {
		text = strings.ReplaceAll(text, "*", `\*`)
	}
	return text
}

func literal(value any) string {
	switch value := value.(type) {
	case string:
		return `"` + escapes.Replace(value) + `"`
	case int64:
		return strconv.FormatInt(value, 10)
	case int32:
		return strconv.FormatInt(int64(value), 10)
	default:
		return fmt.Sprintf(`"%v"`, value)
	}
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
