package ndb

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/program"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// Filter is a condition on rows that the data nodes test, with the logic of SQL:
// a comparison with NULL is unknown, NOT of unknown is unknown, and rows of which
// a filter is unknown are passed over. Text compares by the collation of its
// column. Values are of any type that Values.Any takes, and what does not fit
// the column is an error of the scan before anything is sent. ENUM, SET and BIT
// of more than 32 bits compare by Eq and Ne alone: data nodes order their bytes,
// not their numbers. Filters do not change, and are safe for concurrent use.
type Filter interface {
	// bind translates the filter for a table as it is now.
	bind(d *definition) (program.Filter, error)
}

// And holds where all filters hold, and where there are none.
func And(filters ...Filter) Filter { return groupFilter{filters, program.And} }

// Or holds where any of the filters holds.
func Or(filters ...Filter) Filter { return groupFilter{filters, program.Or} }

// Not holds where f is false.
func Not(f Filter) Filter { return notFilter{f} }

// Eq holds where the column equals the value.
func Eq(c *Column, value any) Filter { return compareFilter{c, program.EQ, value} }

// Ne holds where the column has another value.
func Ne(c *Column, value any) Filter { return compareFilter{c, program.NE, value} }

// Lt holds where the column is less than the value.
func Lt(c *Column, value any) Filter { return compareFilter{c, program.LT, value} }

// Le holds where the column is at most the value.
func Le(c *Column, value any) Filter { return compareFilter{c, program.LE, value} }

// Gt holds where the column is greater than the value.
func Gt(c *Column, value any) Filter { return compareFilter{c, program.GT, value} }

// Ge holds where the column is at least the value.
func Ge(c *Column, value any) Filter { return compareFilter{c, program.GE, value} }

// Like holds where a column of characters or bytes matches the pattern: % stands
// for any text, _ for one character, and \ makes the next one mean itself.
func Like(c *Column, pattern string) Filter { return compareFilter{c, program.Like, pattern} }

// NotLike holds where the column does not match the pattern; see Like.
func NotLike(c *Column, pattern string) Filter { return compareFilter{c, program.NotLike, pattern} }

// IsNull holds where the column is NULL.
func IsNull(c *Column) Filter { return nullFilter{c, program.IsNull} }

// IsNotNull holds where the column is not NULL.
func IsNotNull(c *Column) Filter { return nullFilter{c, program.IsNotNull} }

type groupFilter struct {
	filters []Filter
	group   func(...program.Filter) program.Filter
}

func (f groupFilter) bind(d *definition) (program.Filter, error) {
	bound := make([]program.Filter, 0, len(f.filters))
	for _, member := range f.filters {
		b, err := bindFilter(member, d)
		if err != nil {
			return nil, err
		}
		bound = append(bound, b)
	}
	return f.group(bound...), nil
}

type notFilter struct{ of Filter }

func (f notFilter) bind(d *definition) (program.Filter, error) {
	of, err := bindFilter(f.of, d)
	if err != nil {
		return nil, err
	}
	return program.Not(of), nil
}

type compareFilter struct {
	column *Column
	cond   program.Condition
	value  any
}

func (f compareFilter) bind(d *definition) (program.Filter, error) {
	c, err := d.current(f.column)
	if err != nil {
		return nil, err
	}
	if err := checkComparable(c, f.cond); err != nil {
		return nil, err
	}
	if f.value == "" && (f.cond == program.Like || f.cond == program.NotLike) {
		// The pattern without characters would read as NULL. What it matches is
		// what no pattern with a character does.
		return program.Compare(c.info, f.cond.Negated(), "_%"), nil
	}
	return program.Compare(c.info, f.cond, f.value), nil
}

// checkComparable refuses comparisons of which it is not known what the data nodes
// make of them.
func checkComparable(c *Column, cond program.Condition) error {
	switch {
	case row.Supported(c.info) != nil:
		return fmt.Errorf("ndb: %w", row.Supported(c.info))
	case c.info.Type == dictinfo.TypeBit && cond > program.GE:
		return fmt.Errorf("ndb: column %s: BIT columns have no text to match", c.Name)
	case c.info.Type == dictinfo.TypeBit && cond > program.NE && c.info.SizeBytes() > wordBytes:
		return fmt.Errorf("ndb: column %s: BIT columns of more than 32 bits have no order in a filter", c.Name)
	case cond != program.EQ && cond != program.NE && isNumbered(c):
		return fmt.Errorf("ndb: column %s: numbers of ENUM and SET have no order in a filter", c.Name)
	}
	return nil
}

// isNumbered tells the columns of ENUM and SET.
func isNumbered(c *Column) bool {
	return c.info.Type == dictinfo.TypeChar && c.info.Charset == row.CollationBinary
}

type nullFilter struct {
	column *Column
	test   func(*dictinfo.Column) program.Filter
}

func (f nullFilter) bind(d *definition) (program.Filter, error) {
	c, err := d.current(f.column)
	if err != nil {
		return nil, err
	}
	if err := row.Supported(c.info); err != nil {
		return nil, fmt.Errorf("ndb: %w", err)
	}
	return f.test(c.info), nil
}

// bindFilter is bind for a filter that may be missing.
func bindFilter(f Filter, d *definition) (program.Filter, error) {
	if f == nil {
		return nil, fmt.Errorf("ndb: a filter is nil")
	}
	return f.bind(d)
}

// current returns the column of d that c is, which may be of an older
// definition.
func (d *definition) current(c *Column) (*Column, error) {
	if c == nil {
		return nil, fmt.Errorf("ndb: a column is nil")
	}
	if c.place < len(d.columns) && d.columns[c.place] == c {
		return c, nil
	}
	same, ok := d.byName[c.Name]
	if !ok || same.info.ID != c.info.ID || same.info.Type != c.info.Type {
		return nil, fmt.Errorf("%w: %s", errOtherTable, c.Name)
	}
	return same, nil
}
