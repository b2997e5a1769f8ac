package ndbtest

import (
	"cmp"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
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
		if order := index.base.weigh.compareValues(&index.base.desc.Columns[id], a.version.value(id), b.version.value(id)); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.row.seq, b.row.seq)
}

// isAt tells whether the row of an entry has the version in the entry's place:
// one that is changed elsewhere keeps it.
func (index *orderedIndex) isAt(e indexEntry, v *version) bool {
	return v == e.version || index.compare(indexEntry{e.row, v}, e) == 0
}

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
