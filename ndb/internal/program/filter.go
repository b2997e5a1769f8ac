package program

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Filter is a condition on a row, with the logic of SQL: where NULL leaves it
// unknown, the row is refused, and NOT of unknown is unknown.
type Filter interface {
	// emit writes code that goes to whenTrue where the filter holds, and to
	// whenFalse where it does not or is unknown. One of the two follows: goesOn
	// tells which, and no jump leads there. A negated filter holds where the
	// filter itself is false.
	emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool)
}

type (
	and     []Filter
	or      []Filter
	not     struct{ of Filter }
	compare struct {
		column *dictinfo.Column
		cond   Condition
		value  any
	}
	compareColumns struct {
		x, y *dictinfo.Column
		cond Condition
	}
	nullTest struct {
		column *dictinfo.Column
		isNull bool
	}
)

// And holds where all filters hold, and where there are none.
func And(filters ...Filter) Filter { return and(filters) }

// Or holds where any filter holds.
func Or(filters ...Filter) Filter { return or(filters) }

// Not holds where the filter is false.
func Not(filter Filter) Filter { return not{filter} }

// Compare compares a column with a value, which is anything that row.AppendValue
// takes. For Like and NotLike it is a string with the wildcards % and _, and \
// before either to mean itself. Comparing with nil is unknown.
func Compare(c *dictinfo.Column, cond Condition, value any) Filter { return compare{c, cond, value} }

// CompareColumns compares two columns of the same type by EQ to GE.
func CompareColumns(x *dictinfo.Column, cond Condition, y *dictinfo.Column) Filter {
	return compareColumns{x, y, cond}
}

// IsNull holds where the column is NULL.
func IsNull(c *dictinfo.Column) Filter { return nullTest{c, true} }

// IsNotNull holds where the column is not NULL.
func IsNotNull(c *dictinfo.Column) Filter { return nullTest{c, false} }

// Compile returns the program that accepts the rows for which f holds, and
// refuses others by code: RefuseNoMatch in scans, one of MinRefuseCode to
// MaxRefuseCode in key operations. Errors wrap ErrTooLong, ErrInvalid or are a
// *row.ValueError.
func Compile(f Filter, code int) ([]byte, error) { return compile(f, code, (*Builder).Accept) }

// CompileFirst is Compile for scans that want one row of each fragment: its
// scan ends with the first row that f accepts.
func CompileFirst(f Filter) ([]byte, error) { return compile(f, RefuseNoMatch, (*Builder).AcceptLast) }

func compile(f Filter, code int, accept func(*Builder)) ([]byte, error) {
	var b Builder
	whenTrue, whenFalse := b.NewLabel(), b.NewLabel()
	if f == nil {
		f = And()
	}
	f.emit(&b, false, whenTrue, whenFalse, true)
	b.Place(whenTrue)
	accept(&b)
	b.Place(whenFalse)
	b.Refuse(code)
	return b.Program()
}

// First is the program that accepts one row of each fragment: with the pseudo
// column of the row count, it counts a table without reading its rows.
func First() []byte {
	var b Builder
	b.AcceptLast()
	p, err := b.Program()
	if err != nil {
		panic(err)
	}
	return p
}

func (f and) emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	emitAll(b, f, !negated, negated, whenTrue, whenFalse, goesOn)
}

func (f or) emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	emitAll(b, f, negated, negated, whenTrue, whenFalse, goesOn)
}

// emitAll writes filters of which all must hold, or any. A negated group is the
// other group of its negated members.
func emitAll(b *Builder, filters []Filter, all, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	if len(filters) == 0 {
		emitConstant(b, all, whenTrue, whenFalse, goesOn)
		return
	}
	last := len(filters) - 1
	for _, f := range filters[:last] {
		next := b.NewLabel()
		if all {
			f.emit(b, negated, next, whenFalse, true)
		} else {
			f.emit(b, negated, whenTrue, next, false)
		}
		b.Place(next)
	}
	filters[last].emit(b, negated, whenTrue, whenFalse, goesOn)
}

func emitConstant(b *Builder, holds bool, whenTrue, whenFalse Label, goesOn bool) {
	switch {
	case holds == goesOn:
	case holds:
		b.Jump(whenTrue)
	default:
		b.Jump(whenFalse)
	}
}

func (f not) emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	if f.of == nil {
		b.fail("NOT of nothing")
		return
	}
	f.of.emit(b, !negated, whenTrue, whenFalse, goesOn)
}

// target tells for a comparison what to test and where to jump, so that the
// other way goes on, and that NULL goes to whenFalse.
func target(cond Condition, negated bool, whenTrue, whenFalse Label, goesOn bool) (Condition, NullRule, Label) {
	if negated {
		cond = cond.Negated()
	}
	if goesOn {
		return cond.Negated(), NullJumps, whenFalse
	}
	return cond, NullGoesOn, whenTrue
}

func (f compare) emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	if f.cond > NotLike || !orderIsSQL(f.column, f.cond) {
		b.fail("column %s (%v) %v", f.column.Name, f.column.Type, f.cond)
		return
	}
	value, err := f.constant()
	if err != nil {
		b.setError(err)
		return
	}
	if value == nil {
		if err := usable(f.column); err != nil {
			b.setError(err)
			return
		}
		emitConstant(b, false, whenTrue, whenFalse, goesOn)
		return
	}
	cond, rule, to := target(f.cond, negated, whenTrue, whenFalse, goesOn)
	b.JumpColumn(cond, rule, f.column, value, to)
}

// orderIsSQL tells whether data nodes order the column's values as SQL does.
// They compare the low word of BIT first, and the low byte of ENUM and SET.
func orderIsSQL(c *dictinfo.Column, cond Condition) bool {
	switch {
	case cond == EQ || cond == NE:
		return true
	case c.Type == dictinfo.TypeBit:
		return c.SizeBytes() <= word.SizeBytes
	case row.IsNumbered(c):
		return c.SizeBytes() == 1
	}
	return true
}

// constant returns the value as the program has it, nil for NULL.
func (f compare) constant() ([]byte, error) {
	if f.cond == Like || f.cond == NotLike {
		switch pattern := f.value.(type) {
		case nil:
			return nil, nil
		case string:
			return row.AppendPattern(nil, f.column, pattern)
		case []byte:
			return row.AppendPattern(nil, f.column, string(pattern))
		}
		return nil, fmt.Errorf("%w: column %s %v %T", ErrInvalid, f.column.Name, f.cond, f.value)
	}
	nullable := *f.column
	nullable.Nullable = true // NULL is a value to compare with, whatever the column
	header, err := row.AppendValue(nil, row.FormAttr, &nullable, f.value)
	if err != nil {
		return nil, err
	}
	_, value, _, err := row.NextAttr(header)
	return value, err
}

func (f compareColumns) emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	if f.cond > GE || !orderIsSQL(f.x, f.cond) {
		b.fail("column %s (%v) %v column %s", f.x.Name, f.x.Type, f.cond, f.y.Name)
		return
	}
	cond, rule, to := target(f.cond, negated, whenTrue, whenFalse, goesOn)
	b.JumpColumns(cond, rule, f.x, f.y, to)
}

func (f nullTest) emit(b *Builder, negated bool, whenTrue, whenFalse Label, goesOn bool) {
	jumpIfNull, to := f.isNull != negated, whenTrue
	if goesOn {
		jumpIfNull, to = !jumpIfNull, whenFalse
	}
	if jumpIfNull {
		b.JumpColumnNull(f.column, to)
	} else {
		b.JumpColumnNotNull(f.column, to)
	}
}
