package ndbapi

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
)

// plan is a way to the rows of a query, for one mapping of the table.
type plan struct {
	mapping *mapping // of the columns that are read
	none    bool     // no row can match
	key     any      // the only primary key that rows can have, where nothing else is asked

	scan   ndb.Scan
	texts  []string      // of the scan's ranges
	filter models.Filter // of the scan
	place  []sortColumn  // the order that was asked for: what a cursor has values of
	order  []sortColumn  // of these, the ones that do not have the same value in all rows
	sorted int           // how many columns of order the scan itself keeps
	limit  int           // 0: none

	// then is the plan to go over to where this one has led to maxRows rows: nil
	// where there is none.
	then    *plan
	maxRows int
}

// sortColumn is a column by which rows are ordered.
type sortColumn struct {
	at         int // in the rows that are read
	place      int // in plan.place
	column     *ndb.Column
	descending bool
}

const (
	// An index of a column gives rows that have to be sorted, where the order is
	// that of the primary key: all that match must be read. Of a few that is much
	// less than what a walk in the order of the primary key would pass over, of
	// many it is much more, and nobody knows how many there are. So it is tried
	// with the index first, up to so many rows, or pages.
	maxSortedRows  = 2048
	maxSortedPages = 4

	// maxBatchRows is the most that data nodes send of a fragment at a time.
	maxBatchRows = 992
)

// choice is what is to be considered when a plan is made.
type choice struct {
	*mapping
	conjuncts []models.Filter
	place     []sortColumn
	order     []sortColumn
	limit     int
	read      *mapping
}

// plan chooses the way to the rows of a query.
func (m *mapping) plan(q *Query) (*plan, error) {
	key, err := m.soleKey()
	if err != nil {
		return nil, err
	}
	order, err := m.orderOf(q.Order, key)
	if err != nil {
		return nil, err
	}
	wanted := q.Filter
	if q.After != nil {
		if len(q.After) != len(order) {
			return nil, fmt.Errorf("a query of %v: a place of %d values in an order of %d", m.typ, len(q.After), len(order))
		}
		wanted = models.And(wanted, models.After(order, q.After))
	}
	read, err := m.reading(q.Fields, order)
	if err != nil {
		return nil, err
	}
	return m.planFor(wanted, order, q.Limit, read)
}

// planCount chooses the way to count: any order will do.
func (m *mapping) planCount(f models.Filter) (*plan, error) {
	if _, err := m.soleKey(); err != nil {
		return nil, err
	}
	return m.planFor(f, nil, 0, m)
}

// soleKey is the property of the primary key.
func (m *mapping) soleKey() (models.Property, error) {
	if len(m.key) != 1 {
		return models.Property{}, fmt.Errorf("a query of %v: its primary key is not one column", m.typ)
	}
	f := &m.fields[m.key[0]]
	return models.Property{Name: f.property, Field: f.name}, nil
}

// orderOf completes an order.
func (m *mapping) orderOf(order []models.Order, key models.Property) ([]models.Order, error) {
	order = models.TotalOrder(order, key)
	for n := range order {
		p := &order[n].Property
		i, ok := m.byName[p.Field]
		if !ok {
			return nil, fmt.Errorf("a query of %v: it has no field %s", m.typ, p.Field)
		}
		p.Nullable = m.columns[i].Nullable
	}
	return order, nil
}

func (m *mapping) planFor(wanted models.Filter, order []models.Order, limit int, read *mapping) (*plan, error) {
	f, err := m.fitted(wanted)
	if err != nil {
		return nil, err
	}
	if f.SelectsNone() {
		return &plan{mapping: read, none: true}, nil
	}
	c := &choice{mapping: m, limit: limit, read: read, conjuncts: f.Conjuncts()}
	for n, o := range order {
		column := m.columns[m.byName[o.Property.Field]]
		s := sortColumn{at: slices.Index(read.columns, column), place: n, column: column, descending: o.Descending}
		c.place = append(c.place, s)
		if !c.isFixed(o.Property) {
			c.order = append(c.order, s)
		}
	}
	return c.best()
}

// isFixed tells whether all rows have the same value there.
func (c *choice) isFixed(p models.Property) bool {
	return slices.ContainsFunc(c.conjuncts, func(f models.Filter) bool {
		return (f.Op == models.OpEqual || f.Op == models.OpNull) && f.Property.Field == p.Field
	})
}

// best prefers, from the first to the last: single keys; a value of an index, or
// from here to there; an index that is in the wanted order; the rest of a range
// of keys; all of the table.
func (c *choice) best() (*plan, error) {
	key := c.columns[c.key[0]]
	keys, err := c.reachOf(key, c.conjuncts)
	if err != nil {
		return nil, err
	}
	if len(keys.ranges) == 1 && keys.kind == reachPoints && len(c.conjuncts) == 1 {
		return &plan{mapping: c.read, key: keys.ranges[0].Low[0], texts: keys.texts}, nil
	}
	if keys.kind == reachPoints && c.primary != nil {
		return c.byIndex(c.primary, keys)
	}
	index, reach, err := c.bestIndex()
	switch {
	case err != nil:
		return nil, err
	case index != nil:
		return c.byIndexFirst(index, reach, keys)
	case c.primary != nil && c.leads(key):
		return c.byIndex(c.primary, keys)
	}
	for _, index := range c.ordered {
		if c.leads(index.Columns[0]) {
			reach, err := c.reachOf(index.Columns[0], c.conjuncts)
			if err != nil {
				return nil, err
			}
			return c.byIndex(index, reach)
		}
	}
	if c.primary != nil && keys.kind > reachAll {
		return c.byIndex(c.primary, keys)
	}
	return c.byIndex(nil, keys)
}

// bestIndex finds the index of which the filter needs the smallest part; none is
// nil.
func (c *choice) bestIndex() (best *ndb.Index, reach reach, err error) {
	for _, index := range c.ordered {
		r, err := c.reachOf(index.Columns[0], c.conjuncts)
		if err != nil {
			return nil, r, err
		}
		if r.kind >= reachSpan && r.kind > reach.kind {
			best, reach = index, r
		}
	}
	return best, reach, nil
}

// byIndexFirst goes over an index, and to the primary key where that has the
// wanted order and the index turns out to give too many rows.
func (c *choice) byIndexFirst(index *ndb.Index, reach, keys reach) (*plan, error) {
	p, err := c.byIndex(index, reach)
	if err != nil || c.primary == nil || c.limit == 0 || !c.leads(c.columns[c.key[0]]) {
		return p, err
	}
	p.maxRows = max(maxSortedRows, maxSortedPages*c.limit)
	p.then, err = c.byIndex(c.primary, keys)
	return p, err
}

// leads tells whether the order begins with the column.
func (c *choice) leads(column *ndb.Column) bool {
	return len(c.order) > 0 && c.order[0].column == column
}

// byIndex makes the plan to go over a part of an index, or for nil over the
// table.
func (c *choice) byIndex(index *ndb.Index, r reach) (*plan, error) {
	p := &plan{mapping: c.read, place: c.place, order: c.order, limit: c.limit, scan: ndb.Scan{Table: c.table, Columns: c.read.read}}
	left := c.conjuncts
	if index != nil {
		p.scan.Index, p.scan.Ranges, p.texts = index, slices.Clone(r.ranges), r.texts
		p.follow(index)
		left = nil
		for n, f := range c.conjuncts {
			if !slices.Contains(r.covered, n) {
				left = append(left, f)
			}
		}
	}
	p.filter = models.And(left...).Normal()
	p.scan.Filter = c.condition(p.filter)
	if p.limit == 0 {
		return p, nil
	}
	switch {
	case p.inOrder():
		p.scan.Limit = p.limit + 1
	case p.sorted > 0:
		p.scan.BatchRows = min(p.limit+1, maxBatchRows)
	}
	return p, nil
}

// inOrder tells whether rows come in the order that is wanted.
func (p *plan) inOrder() bool { return p.sorted > 0 && p.sorted == len(p.order) }

// follow has the scan keep as much of the order as the index has.
func (p *plan) follow(index *ndb.Index) {
	for n, column := range index.Columns {
		if n == len(p.order) || p.order[n].column != column || p.order[n].descending != p.order[0].descending {
			break
		}
		p.sorted++
	}
	if p.sorted == 0 {
		return
	}
	p.scan.Order = ndb.Ascending
	if p.order[0].descending {
		p.scan.Order = ndb.Descending
		slices.Reverse(p.scan.Ranges)
	}
}

// reading returns the mapping of the columns that are to be read, by the names of
// fields, for rows in that order. No names are all.
func (m *mapping) reading(names []string, order []models.Order) (*mapping, error) {
	if names == nil {
		return m, nil
	}
	wanted, err := m.withKey(names)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		wanted = m.key
	}
	for _, o := range order {
		wanted = append(slices.Clone(wanted), m.byName[o.Property.Field])
	}
	part := &shape{typ: m.typ, table: m.shape.table, byName: map[string]int{}}
	partial := &mapping{shape: part, table: m.table, primary: m.primary, ordered: m.ordered, first: m.first}
	var columns []string
	for i := range m.fields {
		if !slices.Contains(wanted, i) {
			continue
		}
		part.byName[m.fields[i].name] = len(part.fields)
		part.fields = append(part.fields, m.fields[i])
		part.countPointers(m.typ.FieldByIndex(m.fields[i].index).Type)
		partial.columns = append(partial.columns, m.columns[i])
		columns = append(columns, m.columns[i].Name)
	}
	if partial.read, err = m.table.Select(columns...); err != nil {
		return nil, err
	}
	if !slices.Equal(partial.read.Columns(), partial.columns) {
		return nil, errChanging
	}
	return partial, nil
}
