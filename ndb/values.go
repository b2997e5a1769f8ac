package ndb

import (
	"errors"
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Values is a set of values for columns of one table: what to write, or, by the
// key columns in it, which row. It is used again after Reset, without
// allocating. The first value that does not fit its column makes the set bad:
// Err tells, and every operation that takes the set fails with it before
// anything is sent. Not safe for concurrent use.
type Values struct {
	table *Table
	def   *definition
	attrs []byte // headers and values, each from a word on
	spans []valueSpan
	err   error
}

// valueSpan is where in attrs a column's header begins, and the value's length.
type valueSpan struct {
	offset, lenBytes int
	set              bool
}

// Errors of values; those of single values name the column.
var (
	errOtherTable = errors.New("ndb: a column of another table")
	errSetTwice   = errors.New("ndb: a column has two values")
)

// NewValues returns an empty set for the table as it is known now.
func (t *Table) NewValues() *Values {
	v := &Values{table: t}
	v.Reset()
	return v
}

// Reset empties the set and takes the table's definition anew.
func (v *Values) Reset() {
	v.def = v.table.def.Load()
	v.attrs, v.err = v.attrs[:0], nil
	if cap(v.spans) < len(v.def.columns) {
		v.spans = make([]valueSpan, len(v.def.columns))
		return
	}
	v.spans = v.spans[:len(v.def.columns)]
	clear(v.spans)
}

// Err is what was wrong with the first bad value, or nil.
func (v *Values) Err() error { return v.err }

// Int64 sets a column of any integer type, YEAR or BIT.
func (v *Values) Int64(c *Column, x int64) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendInt64(v.attrs, row.FormAttr, c.info, x)
		v.end(c, attrs, err)
	}
	return v
}

// Uint64 sets a column of any integer type, YEAR, BIT, or an ENUM or SET by its
// number.
func (v *Values) Uint64(c *Column, x uint64) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendUint64(v.attrs, row.FormAttr, c.info, x)
		v.end(c, attrs, err)
	}
	return v
}

// Float64 sets a FLOAT or DOUBLE column.
func (v *Values) Float64(c *Column, x float64) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendFloat64(v.attrs, row.FormAttr, c.info, x)
		v.end(c, attrs, err)
	}
	return v
}

// String sets a column from text: characters, which must fit the column's
// length and character set, or the text form of a decimal, a date or a time.
func (v *Values) String(c *Column, x string) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendString(v.attrs, row.FormAttr, c.info, x)
		v.end(c, attrs, err)
	}
	return v
}

// Bytes sets a BINARY or VARBINARY column.
func (v *Values) Bytes(c *Column, x []byte) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendBytes(v.attrs, row.FormAttr, c.info, x)
		v.end(c, attrs, err)
	}
	return v
}

// Date sets a DATE column.
func (v *Values) Date(c *Column, year, month, day int) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendDate(v.attrs, row.FormAttr, c.info, year, month, day)
		v.end(c, attrs, err)
	}
	return v
}

// Time sets a DATETIME column to the date and clock that t shows in its own
// location, or a TIMESTAMP column to the instant.
func (v *Values) Time(c *Column, t time.Time) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendTime(v.attrs, row.FormAttr, c.info, t)
		v.end(c, attrs, err)
	}
	return v
}

// Null sets a column to NULL.
func (v *Values) Null(c *Column) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendNull(v.attrs, row.FormAttr, c.info)
		v.end(c, attrs, err)
	}
	return v
}

// Any sets a column from a value of a type that fits it; nil is NULL.
func (v *Values) Any(c *Column, x any) *Values {
	if c := v.begin(c); c != nil {
		attrs, err := row.AppendValue(v.attrs, row.FormAttr, c.info, x)
		v.end(c, attrs, err)
	}
	return v
}

// begin returns the column to set as the set's definition has it, or nil where
// the set is bad.
func (v *Values) begin(c *Column) *Column {
	if v.err != nil {
		return nil
	}
	if c.place >= len(v.def.columns) || v.def.columns[c.place] != c {
		// A column of an older definition, perhaps.
		current, ok := v.def.byName[c.Name]
		if !ok || current.info.ID != c.info.ID || current.info.Type != c.info.Type {
			v.err = fmt.Errorf("%w: %s", errOtherTable, c.Name)
			return nil
		}
		c = current
	}
	if v.spans[c.place].set {
		v.err = fmt.Errorf("%w: %s", errSetTwice, c.Name)
		return nil
	}
	return c
}

func (v *Values) end(c *Column, attrs []byte, err error) {
	if err != nil {
		v.err = fmt.Errorf("ndb: %w", err)
		return
	}
	header := row.AttrHeader(word.At(attrs[len(v.attrs):], 0))
	v.spans[c.place] = valueSpan{offset: len(v.attrs), lenBytes: header.LengthBytes(), set: true}
	v.attrs = attrs
}

// attr is the header and the padded value of a column that is set.
func (v *Values) attr(s valueSpan) []byte {
	return v.attrs[s.offset : s.offset+word.SizeBytes+word.PaddedBytes(s.lenBytes)]
}

// appendKey appends KEYINFO: the values of the columns, which must all be set.
func (v *Values) appendKey(dst []byte, columns []*Column) ([]byte, error) {
	for _, c := range columns {
		s := v.spans[c.place]
		if !s.set || s.lenBytes == 0 {
			return dst, fmt.Errorf("ndb: the key has no value for column %s", c.Name)
		}
		dst = append(dst, v.attr(s)[word.SizeBytes:]...)
	}
	return dst, nil
}

// appendWithoutKey appends ATTRINFO of all values but those of the primary key.
func (v *Values) appendWithoutKey(dst []byte) []byte {
	for i, s := range v.spans {
		if s.set && !v.def.columns[i].PrimaryKey {
			dst = append(dst, v.attr(s)...)
		}
	}
	return dst
}
