package ndbtest

import (
	"cmp"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is the bounds of ordered index scans, as DBTUX takes them:
//
//   - a bound is a type, a header with the position of the column in the index,
//     and a value with its length bytes;
//   - columns come without a gap from the first one on, and only the last of each
//     side may be strict: else 4259;
//   - a value that is none of its column is 744, an unknown column 4110;
//   - the first word of a range says how many words it has, and its number; zero
//     words mean all that follow.

const (
	codeBadBounds      = 4259
	codeBadBoundValue  = 744
	codeNoIndexColumn  = 4110
	boundTypeMask      = 0xf
	rangeNumberShift   = 4
	rangeNumberMask    = 0xfff
	rangeLengthShift   = 16
	boundHeaderWords   = 2
	maxRangesInRequest = 4096
)

// Types of bounds.
const (
	boundLower       = 0 // the bound is <= the column
	boundLowerStrict = 1
	boundUpper       = 2
	boundUpperStrict = 3
	boundEqual       = 4
)

// keyRange is what lies between two bounds, either of which may be empty.
type keyRange struct {
	number       uint32
	lower, upper side
}

// side is the values of the first columns of an index.
type side struct {
	values [][]byte // nil for NULL
	strict bool
}

// parseBounds returns the ranges; no bounds are one range without any.
func (index *orderedIndex) parseBounds(src []byte) ([]keyRange, *opError) {
	if len(src) == 0 {
		return []keyRange{{}}, nil
	}
	var ranges []keyRange
	for len(src) > 0 {
		first := word.At(src, 0)
		size := int(first>>rangeLengthShift) * word.SizeBytes
		if size == 0 {
			size = len(src)
		}
		if size > len(src) || len(ranges) == maxRangesInRequest {
			return nil, failure(codeBadBounds)
		}
		r := keyRange{number: first >> rangeNumberShift & rangeNumberMask}
		if err := index.parseRange(&r, src[:size]); err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
		src = src[size:]
	}
	return ranges, nil
}

func (index *orderedIndex) parseRange(r *keyRange, src []byte) *opError {
	for len(src) > 0 {
		if len(src) < boundHeaderWords*word.SizeBytes {
			return failure(codeBadBounds)
		}
		kind := word.At(src, 0) & boundTypeMask
		h, value, rest, err := row.NextAttr(src[word.SizeBytes:])
		if err != nil {
			return failure(codeBadBounds)
		}
		src = rest
		columns := index.desc.IndexColumns()
		if int(h.ID()) >= len(columns) {
			return failure(codeNoIndexColumn)
		}
		if value != nil && row.CheckValue(columns[h.ID()], value) != nil {
			return failure(codeBadBoundValue)
		}
		if !r.add(kind, int(h.ID()), value) {
			return failure(codeBadBounds)
		}
	}
	return nil
}

func (r *keyRange) add(kind uint32, position int, value []byte) bool {
	switch kind {
	case boundLower, boundLowerStrict:
		return r.lower.add(position, value, kind == boundLowerStrict)
	case boundUpper, boundUpperStrict:
		return r.upper.add(position, value, kind == boundUpperStrict)
	case boundEqual:
		return r.lower.add(position, value, false) && r.upper.add(position, value, false)
	}
	return false
}

func (s *side) add(position int, value []byte, strict bool) bool {
	if position != len(s.values) || s.strict {
		return false
	}
	s.values, s.strict = append(s.values, value), strict
	return true
}

// compareSide orders an entry against the values of a side: 0 where the first
// columns are those.
func (index *orderedIndex) compareSide(e indexEntry, s *side) int {
	for i, value := range s.values {
		id := index.columns[i]
		if order := index.base.weigh.compareValues(&index.base.desc.Columns[id], e.version.value(id), value); order != 0 {
			return order
		}
	}
	return 0
}

// below tells entries before the range, above those behind it.
func (index *orderedIndex) below(e indexEntry, r *keyRange) bool {
	order := index.compareSide(e, &r.lower)
	return order < 0 || order == 0 && r.lower.strict
}

func (index *orderedIndex) above(e indexEntry, r *keyRange) bool {
	order := index.compareSide(e, &r.upper)
	return order > 0 || order == 0 && r.upper.strict
}

// beginOf returns the place of the first entry of a range, endOf that of the
// first behind it.
func (index *orderedIndex) beginOf(entries []indexEntry, r *keyRange) int {
	return search(entries, func(e indexEntry) bool { return !index.below(e, r) })
}

func (index *orderedIndex) endOf(entries []indexEntry, r *keyRange) int {
	return search(entries, func(e indexEntry) bool { return index.above(e, r) })
}

// search returns the first entry for which f is true; it is false before and
// true from there on.
func search(entries []indexEntry, f func(indexEntry) bool) int {
	low, high := 0, len(entries)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if f(entries[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// after returns the place behind all entries that are equal to e.
func (index *orderedIndex) after(entries []indexEntry, e indexEntry) int {
	return search(entries, func(other indexEntry) bool { return index.compare(other, e) > 0 })
}

// before returns the place of the first entry that is equal to e or behind it.
func (index *orderedIndex) before(entries []indexEntry, e indexEntry) int {
	return search(entries, func(other indexEntry) bool { return index.compare(other, e) >= 0 })
}

func (t *table) rowAfter(f *fragment, seq uint64) int {
	low, high := 0, len(f.rows)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if cmp.Compare(f.rows[middle].seq, seq) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
