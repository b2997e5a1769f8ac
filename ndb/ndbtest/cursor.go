package ndbtest

// cursor goes over the rows of one fragment, in the order of their creation or
// of an index. It remembers where it is by the last row, so that rows may come
// and go in between.
type cursor struct {
	table      *table
	fragment   *fragment
	index      *orderedIndex // nil: a table scan
	ranges     []keyRange    // of an index
	descending bool

	over     bool // stopped before the end
	rangePos int  // in ranges
	started  bool
	last     indexEntry // in an index; of a table scan only its row
}

// newCursor begins at the first row. The first range comes first, in either
// direction.
func newCursor(t *table, f *fragment, index *orderedIndex, ranges []keyRange, descending bool) *cursor {
	return &cursor{table: t, fragment: f, index: index, ranges: ranges, descending: descending}
}

// next returns the next row, and in an index a version that lies there; nil at
// the end. A row whose versions lie in one place comes once, with any of them.
func (c *cursor) next() (r *rowEntry, v *version, rangeNumber uint32) {
	if c.over {
		return nil, nil, 0
	}
	if c.index == nil {
		return c.nextInTable(), nil, 0
	}
	for ; c.rangePos < len(c.ranges); c.rangePos++ {
		if e, ok := c.nextInRange(&c.ranges[c.rangePos]); ok {
			c.started, c.last = true, e
			return e.row, e.version, c.ranges[c.rangePos].number
		}
		c.started = false
	}
	return nil, nil, 0
}

func (c *cursor) nextInTable() *rowEntry {
	seq := uint64(0)
	if c.started {
		seq = c.last.row.seq
	}
	i := c.table.rowAfter(c.fragment, seq)
	if i == len(c.fragment.rows) {
		return nil
	}
	c.started, c.last.row = true, c.fragment.rows[i]
	return c.last.row
}

func (c *cursor) nextInRange(r *keyRange) (indexEntry, bool) {
	entries := c.index.entries[c.fragment.number]
	begin, end := c.index.beginOf(entries, r), c.index.endOf(entries, r)
	if c.descending {
		i := end - 1
		if c.started {
			i = min(i, c.index.before(entries, c.last)-1)
		}
		if i < begin {
			return indexEntry{}, false
		}
		return entries[i], true
	}
	i := begin
	if c.started {
		i = max(i, c.index.after(entries, c.last))
	}
	if i >= end {
		return indexEntry{}, false
	}
	return entries[i], true
}
