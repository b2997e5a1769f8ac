package ndb

import (
	"bytes"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Range is a part of an ordered index, from Low to High. Each is a list of
// values, of any type that Values.Any takes, for the first columns of the index;
// entries compare with it column by column, as in (a, b) >= (1, 'x'). An empty
// list leaves that side open. Nil values are NULL, which comes before
// everything: a range without Low begins with the NULLs of its first column, and
// one with a single nil and LowStrict begins behind them.
type Range struct {
	Low, High []any
	// LowStrict and HighStrict leave out the entries that begin with Low or High.
	LowStrict, HighStrict bool
}

// Exactly is the range of the entries that begin with the values.
func Exactly(values ...any) Range { return Range{Low: values, High: values} }

// maxRanges is how many ranges have a number.
const maxRanges = 4096

// Types of bounds, with what data nodes compare: the bound on the left, the
// column on the right.
const (
	boundLow        = 0 // <=
	boundLowStrict  = 1 // <
	boundHigh       = 2 // >=
	boundHighStrict = 3 // >
	boundEqual      = 4

	boundNumberShift = 4
	boundLengthShift = 16
)

// appendRanges appends the bounds of the ranges of an index: nothing where all
// of it is wanted. Values that do not fit their columns are errors: data nodes
// trust the lengths.
func appendRanges(dst []byte, index *Index, ranges []Range) ([]byte, error) {
	if len(ranges) > maxRanges {
		return nil, fmt.Errorf("ndb: a scan has %d ranges, at most are %d", len(ranges), maxRanges)
	}
	for i := range ranges {
		start := len(dst)
		var err error
		if dst, err = ranges[i].appendBounds(dst, index); err != nil {
			return nil, err
		}
		switch {
		case len(dst) == start && len(ranges) > 1:
			return nil, fmt.Errorf("ndb: range %d has no bounds, beside others", i)
		case len(dst) == start:
			return dst, nil
		}
		first := word.At(dst[start:], 0)
		length := uint32(len(dst)-start) / word.SizeBytes
		word.Put(dst[start:], 0, first|length<<boundLengthShift|uint32(i)<<boundNumberShift)
	}
	return dst, nil
}

// appendBounds appends the bounds of one range, column by column. Only the last
// column of each side may be strict.
func (r *Range) appendBounds(dst []byte, index *Index) ([]byte, error) {
	columns := max(len(r.Low), len(r.High))
	if columns > len(index.Columns) {
		return nil, fmt.Errorf("ndb: a range has values for %d columns, index %s has %d", columns, index.Name, len(index.Columns))
	}
	equal := r.equalColumns(index)
	for i := range columns {
		var err error
		if i < equal {
			if dst, err = appendBound(dst, boundEqual, index, i, r.Low[i]); err != nil {
				return nil, err
			}
			continue
		}
		if i < len(r.Low) {
			kind := uint32(boundLow)
			if r.LowStrict && i == len(r.Low)-1 {
				kind = boundLowStrict
			}
			if dst, err = appendBound(dst, kind, index, i, r.Low[i]); err != nil {
				return nil, err
			}
		}
		if i < len(r.High) {
			kind := uint32(boundHigh)
			if r.HighStrict && i == len(r.High)-1 {
				kind = boundHighStrict
			}
			if dst, err = appendBound(dst, kind, index, i, r.High[i]); err != nil {
				return nil, err
			}
		}
	}
	return dst, nil
}

// equalColumns is how many columns, from the first on, have the same value on
// both sides, and no strict one.
func (r *Range) equalColumns(index *Index) int {
	n := min(len(r.Low), len(r.High), len(index.Columns))
	for i := range n {
		low, lowErr := appendBound(nil, boundEqual, index, i, r.Low[i])
		high, highErr := appendBound(nil, boundEqual, index, i, r.High[i])
		strict := r.LowStrict && i == len(r.Low)-1 || r.HighStrict && i == len(r.High)-1
		if lowErr != nil || highErr != nil || strict || !bytes.Equal(low, high) {
			return i
		}
	}
	return n
}

// appendBound appends the bound of column i of the index: its type, a header
// with the column's number in the index, and the value.
func appendBound(dst []byte, kind uint32, index *Index, i int, value any) ([]byte, error) {
	c := index.Columns[i]
	if c.info.Type == dictinfo.TypeBit {
		return nil, fmt.Errorf("ndb: column %s: BIT columns cannot bound a range", c.Name)
	}
	dst = word.Append(dst, kind)
	headerStart := len(dst)
	dst, err := row.AppendValue(dst, row.FormAttr, c.info, value)
	if err != nil {
		return nil, fmt.Errorf("ndb: %w", err)
	}
	length := row.AttrHeader(word.At(dst[headerStart:], 0)).LengthBytes()
	word.Put(dst[headerStart:], 0, uint32(row.NewAttrHeader(uint16(i), length)))
	return dst, nil
}
