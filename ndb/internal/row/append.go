package row

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Form is how a value is written.
type Form uint8

// The forms.
const (
	FormAttr Form = iota // ATTRINFO and bounds: header, value, zeros up to the next word
	FormKey              // KEYINFO: value, zeros up to the next word
	FormBare             // value only, such as a constant of a program
)

// All Append functions append v to dst in the form f, and return dst unchanged
// with a ValueError where v is not a value of column c. dst must begin at a word.

// begin appends the header of a value of n bytes, if the form has one.
func begin(dst []byte, f Form, c *dictinfo.Column, n int) []byte {
	if f == FormAttr {
		dst = AppendAttrHeader(dst, c.ID, n)
	}
	return dst
}

// end appends the padding after a value of n bytes, if the form has it.
func end(dst []byte, f Form, n int) []byte {
	if f == FormBare {
		return dst
	}
	for range word.PaddingBytes(n) {
		dst = append(dst, 0)
	}
	return dst
}

// appendUint appends the low n bytes of v as a value.
func appendUint(dst []byte, f Form, c *dictinfo.Column, v uint64, n int) []byte {
	dst = begin(dst, f, c, n)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return end(append(dst, b[:n]...), f, n)
}

// AppendNull appends NULL. Only FormAttr has one.
func AppendNull(dst []byte, f Form, c *dictinfo.Column) ([]byte, error) {
	if !c.Nullable || f != FormAttr {
		return dst, valueError(c, ErrNull, "not allowed here")
	}
	return AppendAttrHeader(dst, c.ID, 0), nil
}

// integer tells the size and the sign of the types that are integers.
func integer(t dictinfo.Type) (sizeBytes int, signed, ok bool) {
	switch t {
	case dictinfo.TypeTinyint:
		return 1, true, true
	case dictinfo.TypeTinyunsigned:
		return 1, false, true
	case dictinfo.TypeSmallint:
		return 2, true, true
	case dictinfo.TypeSmallunsigned:
		return 2, false, true
	case dictinfo.TypeMediumint:
		return 3, true, true
	case dictinfo.TypeMediumunsigned:
		return 3, false, true
	case dictinfo.TypeInt:
		return 4, true, true
	case dictinfo.TypeUnsigned:
		return 4, false, true
	case dictinfo.TypeBigint:
		return 8, true, true
	case dictinfo.TypeBigunsigned:
		return 8, false, true
	}
	return 0, false, false
}

// IsNumbered tells columns of ENUM and SET: fixed binary characters that hold a
// number.
func IsNumbered(c *dictinfo.Column) bool {
	return c.Type == dictinfo.TypeChar && c.Charset == CollationBinary && c.SizeBytes() <= 8
}

// AppendInt64 appends an integer to a column of integers, and exactly or not at
// all to one of YEAR, BIT, ENUM, SET, DECIMAL, FLOAT or DOUBLE.
func AppendInt64(dst []byte, f Form, c *dictinfo.Column, v int64) ([]byte, error) {
	if size, signed, ok := integer(c.Type); ok && signed {
		shift := 64 - 8*size
		if v<<shift>>shift != v {
			return dst, valueError(c, ErrRange, "%d", v)
		}
		return appendUint(dst, f, c, uint64(v), size), nil
	}
	switch c.Type {
	case dictinfo.TypeDecimal, dictinfo.TypeDecimalunsigned:
		return AppendString(dst, f, c, strconv.FormatInt(v, 10))
	case dictinfo.TypeFloat, dictinfo.TypeDouble:
		return appendExact(dst, f, c, float64(v), int64(float64(v)) == v && v != math.MaxInt64)
	}
	if v < 0 {
		if err := acceptsUint(c); err != nil {
			return dst, err
		}
		return dst, valueError(c, ErrRange, "%d", v)
	}
	return AppendUint64(dst, f, c, uint64(v))
}

// AppendUint64 is AppendInt64 for numbers without sign.
func AppendUint64(dst []byte, f Form, c *dictinfo.Column, v uint64) ([]byte, error) {
	if size, signed, ok := integer(c.Type); ok {
		bits := 8 * size
		if signed {
			bits--
		}
		if bits < 64 && v>>bits != 0 {
			return dst, valueError(c, ErrRange, "%d", v)
		}
		return appendUint(dst, f, c, v, size), nil
	}
	switch {
	case c.Type == dictinfo.TypeDecimal || c.Type == dictinfo.TypeDecimalunsigned:
		return AppendString(dst, f, c, strconv.FormatUint(v, 10))
	case c.Type == dictinfo.TypeFloat || c.Type == dictinfo.TypeDouble:
		return appendExact(dst, f, c, float64(v), v < 1<<63 && uint64(float64(v)) == v)
	case c.Type == dictinfo.TypeYear:
		return appendYear(dst, f, c, v)
	case c.Type == dictinfo.TypeBit:
		return appendBit(dst, f, c, v)
	case IsNumbered(c):
		if n := c.SizeBytes(); n == 8 || v>>(8*n) == 0 {
			return appendUint(dst, f, c, v, n), nil
		}
		return dst, valueError(c, ErrRange, "%d", v)
	}
	return dst, typeError(c, "an integer")
}

func acceptsUint(c *dictinfo.Column) error {
	if _, _, ok := integer(c.Type); ok || c.Type == dictinfo.TypeYear || c.Type == dictinfo.TypeBit || IsNumbered(c) {
		return nil
	}
	return typeError(c, "an integer")
}

// The byte of a YEAR counts from here; 0 is the year 0000.
const yearStart = 1900

func appendYear(dst []byte, f Form, c *dictinfo.Column, year uint64) ([]byte, error) {
	switch {
	case year == 0:
		return appendUint(dst, f, c, 0, 1), nil
	case year <= yearStart || year > yearStart+math.MaxUint8:
		return dst, valueError(c, ErrRange, "year %d", year)
	}
	return appendUint(dst, f, c, year-yearStart, 1), nil
}

const maxBits = 64 // of a BIT column

func appendBit(dst []byte, f Form, c *dictinfo.Column, v uint64) ([]byte, error) {
	if c.Elements < maxBits && v>>c.Elements != 0 || c.Elements > maxBits {
		return dst, valueError(c, ErrRange, "%#x in %d bits", v, c.Elements)
	}
	return appendUint(dst, f, c, v, c.SizeBytes()), nil
}

// AppendFloat64 appends a number to a column of FLOAT, which rounds it, or
// DOUBLE. Infinities and NaN are out of range, as for the server.
func AppendFloat64(dst []byte, f Form, c *dictinfo.Column, v float64) ([]byte, error) {
	switch c.Type {
	case dictinfo.TypeDouble:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return dst, valueError(c, ErrRange, "%v", v)
		}
		return appendUint(dst, f, c, math.Float64bits(v), 8), nil
	case dictinfo.TypeFloat:
		single := float32(v)
		if math.IsInf(float64(single), 0) || math.IsNaN(v) {
			return dst, valueError(c, ErrRange, "%v", v)
		}
		return appendUint(dst, f, c, uint64(math.Float32bits(single)), 4), nil
	}
	return dst, typeError(c, "a floating point number")
}

func appendExact(dst []byte, f Form, c *dictinfo.Column, v float64, exact bool) ([]byte, error) {
	if !exact || c.Type == dictinfo.TypeFloat && float64(float32(v)) != v {
		return dst, valueError(c, ErrRange, "integer that a %v rounds", c.Type)
	}
	return AppendFloat64(dst, f, c, v)
}

// AppendString appends text to a column of characters, in the column's
// character set: s is UTF-8. Binary columns take its bytes. DECIMAL, DATE, TIME,
// DATETIME and TIMESTAMP (in UTC) take what the server would print, without
// rounding. Text that is too long is never cut.
func AppendString(dst []byte, f Form, c *dictinfo.Column, s string) ([]byte, error) {
	switch c.Type {
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar,
		dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		return appendText(dst, f, c, s)
	case dictinfo.TypeDecimal, dictinfo.TypeDecimalunsigned:
		return appendDecimal(dst, f, c, s)
	case dictinfo.TypeDate, dictinfo.TypeDatetime2, dictinfo.TypeTimestamp2, dictinfo.TypeTime2:
		return appendTemporalText(dst, f, c, s)
	}
	return dst, typeError(c, "a string")
}

// AppendBytes is AppendString for b, which columns of characters take as UTF-8.
func AppendBytes(dst []byte, f Form, c *dictinfo.Column, b []byte) ([]byte, error) {
	switch c.Type {
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar,
		dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		return appendText(dst, f, c, b)
	}
	return AppendString(dst, f, c, string(b))
}
