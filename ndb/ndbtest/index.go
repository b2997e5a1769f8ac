package ndbtest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// orderedIndex is an ordered index. Each fragment has its own order of all
// versions of its rows, the uncommitted ones among them. Guarded by Cluster.mu.
type orderedIndex struct {
	desc    *dictinfo.Table
	base    *table
	columns []uint16 // of the base table, in the order of the index
	entries [][]indexEntry
}

type indexEntry struct {
	row     *rowEntry
	version *version
}

// compare orders entries by the columns, and among equal ones by the rows' age.
func (index *orderedIndex) compare(a, b indexEntry) int {
	for _, id := range index.columns {
		if order := compareValues(&index.base.desc.Columns[id], a.version.value(id), b.version.value(id)); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.row.seq, b.row.seq)
}

// compareValues orders values with their length bytes; NULL comes first.
func compareValues(c *dictinfo.Column, a, b []byte) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	a, b = row.Content(c, a), row.Content(c, b)
	if c.Type.HasCharset() && c.Charset != row.CollationBinary {
		return compareText(c.Charset, a, b)
	}
	if order, ok := row.Compare(c, a, b); ok {
		return order
	}
	return bytes.Compare(a, b)
}

// compareText compares by the weights of characters. Where a weight is not
// known, the bytes have to do, behind all characters with a weight.
func compareText(collation uint16, a, b []byte) int {
	info, _ := row.CollationByID(collation)
	for len(a) > 0 || len(b) > 0 {
		if !info.PadSpace && (len(a) == 0 || len(b) == 0) {
			return cmp.Compare(len(a), len(b))
		}
		weightA, restA := nextWeight(collation, a)
		weightB, restB := nextWeight(collation, b)
		if weightA != weightB {
			return cmp.Compare(weightA, weightB)
		}
		a, b = restA, restB
	}
	return 0
}

// nextWeight gives the end of a text the weight of the spaces that follow it.
func nextWeight(collation uint16, text []byte) (weight uint32, rest []byte) {
	if len(text) == 0 {
		text = space
	}
	if weight, n, ok := row.NextWeight(collation, text); ok {
		return weight, text[n:]
	}
	return unknownWeight + uint32(text[0]), text[1:]
}

var space = []byte{' '}

// unknownWeight is above the weights of all characters.
const unknownWeight = 1 << 24

func (index *orderedIndex) add(r *rowEntry, v *version) {
	entries := &index.entries[r.fragment.number]
	e := indexEntry{r, v}
	i, _ := slices.BinarySearchFunc(*entries, e, index.compare)
	*entries = slices.Insert(*entries, i, e)
}

func (index *orderedIndex) remove(r *rowEntry, v *version) {
	entries := &index.entries[r.fragment.number]
	i, _ := slices.BinarySearchFunc(*entries, indexEntry{r, v}, index.compare)
	for ; i < len(*entries) && (*entries)[i].row == r; i++ { // versions of equal values lie side by side
		if (*entries)[i].version == v {
			*entries = slices.Delete(*entries, i, i+1)
			return
		}
	}
}
