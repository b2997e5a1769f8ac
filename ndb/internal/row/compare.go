package row

import (
	"bytes"
	"cmp"
	"math"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Content takes the length bytes off a value of column c that has passed
// CheckValue.
func Content(c *dictinfo.Column, value []byte) []byte { return value[c.LengthBytes():] }

// Compare orders two values of column c, without length bytes and not NULL, as
// the data nodes do: below 0, 0 or above. Text whose collation, or whose
// characters, this package does not know well enough is not ok.
func Compare(c *dictinfo.Column, a, b []byte) (order int, ok bool) {
	if size, signed, isInteger := integer(c.Type); isInteger {
		if len(a) != size || len(b) != size {
			return 0, false
		}
		return compareIntegers(a, b, signed), true
	}
	switch c.Type {
	case dictinfo.TypeFloat, dictinfo.TypeDouble:
		x, errX := Float64(c, a, Span{Len: uint32(len(a))})
		y, errY := Float64(c, b, Span{Len: uint32(len(b))})
		return cmp.Compare(x, y), errX == nil && errY == nil && !math.IsNaN(x) && !math.IsNaN(y)
	case dictinfo.TypeDate, dictinfo.TypeYear:
		return compareIntegers(a, b, false), len(a) == len(b)
	case dictinfo.TypeBit:
		x, errX := Uint64(c, a, Span{Len: uint32(len(a))})
		y, errY := Uint64(c, b, Span{Len: uint32(len(b))})
		return compareBits(x, y), errX == nil && errY == nil
	case dictinfo.TypeDecimal, dictinfo.TypeDecimalunsigned, dictinfo.TypeTime2, dictinfo.TypeDatetime2, dictinfo.TypeTimestamp2,
		dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		return bytes.Compare(a, b), true
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar:
		return compareText(c.Charset, a, b)
	}
	return 0, false
}

// CompareSpans is Compare for values within rows. NULL comes before everything
// and equals itself.
func CompareSpans(c *dictinfo.Column, srcA []byte, a Span, srcB []byte, b Span) (order int, ok bool) {
	switch {
	case a.Null && b.Null:
		return 0, true
	case a.Null:
		return -1, true
	case b.Null:
		return 1, true
	case c.Type == dictinfo.TypeBit:
		x, errX := Uint64(c, srcA, a)
		y, errY := Uint64(c, srcB, b)
		return compareBits(x, y), errX == nil && errY == nil
	}
	return Compare(c, a.Bytes(srcA), b.Bytes(srcB))
}

// compareBits compares by the low word first: data nodes look at words in the
// order of memory, so that beyond 32 bits theirs is not the order of numbers.
func compareBits(x, y uint64) int {
	if order := cmp.Compare(uint32(x), uint32(y)); order != 0 {
		return order
	}
	return cmp.Compare(x, y)
}

// compareIntegers compares little endian numbers of the same size.
func compareIntegers(a, b []byte, signed bool) int {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	last := len(a) - 1
	if signed && a[last] != b[last] {
		return cmp.Compare(int8(a[last]), int8(b[last]))
	}
	for i := last; i >= 0; i-- {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return 0
}
