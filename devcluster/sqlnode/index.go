package sqlnode

import (
	"slices"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// primaryName is the name of the index of the primary key.
const primaryName = "PRIMARY"

// index is an index of a table as the engine sees it.
type index struct {
	table   *table
	name    string
	columns []int // ordinals in the table
	hash    bool  // it has no order: of a primary key USING HASH
}

var _ sql.OrderedIndex = (*index)(nil)

func newIndex(t *table, info ndbtest.IndexInfo) *index {
	return &index{table: t, name: info.Name, columns: info.Columns}
}

func (x *index) isPrimary() bool { return x.name == primaryName }

func (x *index) ID() string                            { return x.name }
func (x *index) Database() string                      { return x.table.Database() }
func (x *index) Table() string                         { return x.table.Name() }
func (x *index) IsUnique() bool                        { return x.isPrimary() }
func (x *index) IsSpatial() bool                       { return false }
func (x *index) IsFullText() bool                      { return false }
func (x *index) IsVector() bool                        { return false }
func (x *index) Comment() string                       { return "" }
func (x *index) IsGenerated() bool                     { return false }
func (x *index) CanSupportOrderBy(sql.Expression) bool { return false }
func (x *index) PrefixLengths() []uint16               { return nil }
func (x *index) Reversible() bool                      { return !x.hash }

func (x *index) IndexType() string {
	if x.hash {
		return "HASH"
	}
	return "BTREE"
}

func (x *index) Order() sql.IndexOrder {
	if x.hash {
		return sql.IndexOrderNone
	}
	return sql.IndexOrderAsc
}

// CanSupport is false for what a hash does not find.
func (x *index) CanSupport(_ *sql.Context, ranges ...sql.Range) bool {
	return !x.hash || !slices.ContainsFunc(ranges, func(r sql.Range) bool {
		values, ok := r.(sql.MySQLRange)
		if ok {
			_, ok = x.single(values)
		}
		return !ok
	})
}

func (x *index) column(i int) *sql.Column { return x.table.schema.Schema[x.columns[i]] }

func (x *index) Expressions() []string {
	var all []string
	for i := range x.columns {
		all = append(all, x.table.Name()+"."+x.column(i).Name)
	}
	return all
}

func (x *index) ColumnExpressionTypes() []sql.ColumnExpressionType {
	var all []sql.ColumnExpressionType
	for i, e := range x.Expressions() {
		all = append(all, sql.ColumnExpressionType{Expression: e, Type: x.column(i).Type})
	}
	return all
}

// hasText is whether texts are part of the order.
func (x *index) hasText() bool {
	for i := range x.columns {
		if _, ok := x.column(i).Type.(sql.StringType); ok {
			return true
		}
	}
	return false
}

// single returns the primary key of the only row that there can be in a range;
// false if there can be more.
func (x *index) single(r sql.MySQLRange) (key []any, ok bool) {
	if !x.isPrimary() || len(r) != len(x.columns) {
		return nil, false
	}
	row := make(sql.Row, len(x.table.schema.Schema))
	for i := range r {
		low, high := x.low(i, r), x.high(i, r)
		if !low.equals(high) {
			return nil, false
		}
		row[x.columns[i]] = low.value
	}
	return x.table.keyOf(row), true
}

// bound bounds a scan by a range of values of the first columns: it may have
// more rows than are wanted. It is false where there can be none.
func (x *index) bound(scan *ndbtest.LocalScan, r sql.MySQLRange) bool {
	if x.hash {
		return true
	}
	scan.Index = x.name
	for i := range r {
		low, high := x.low(i, r), x.high(i, r)
		if low.none || high.none {
			return false
		}
		if low.bounds {
			scan.Low, scan.LowStrict = append(scan.Low, low.value), low.strict
		}
		if high.bounds {
			scan.High, scan.HighStrict = append(scan.High, high.value), high.strict
		}
		if !low.equals(high) {
			break // what follows is not in order
		}
	}
	return true
}

// side is where a range of values of a column begins or ends.
type side struct {
	value  any // as the cluster takes it; nil for NULL
	bounds bool
	strict bool
	none   bool // nothing is on this side
}

// equals is whether the range between the sides is one value.
func (s side) equals(other side) bool {
	return s.bounds && other.bounds && !s.strict && !other.strict && s.value == other.value && s.value != nil
}

func (x *index) low(i int, r sql.MySQLRange) side {
	switch c := r[i].LowerBound.(type) {
	case sql.AboveNull:
		return side{bounds: true, strict: true}
	case sql.AboveAll:
		return side{none: true}
	case sql.Below:
		return x.side(i, c.Key, false)
	case sql.Above:
		return x.side(i, c.Key, true)
	}
	return side{}
}

func (x *index) high(i int, r sql.MySQLRange) side {
	switch c := r[i].UpperBound.(type) {
	case sql.BelowNull:
		return side{none: true}
	case sql.AboveNull:
		return side{bounds: true}
	case sql.Below:
		return x.side(i, c.Key, true)
	case sql.Above:
		return x.side(i, c.Key, false)
	}
	return side{}
}

// side bounds nothing where the column cannot hold the value: the engine filters
// what it gets.
func (x *index) side(i int, key any, strict bool) side {
	if t, ok := key.(time.Time); ok && !t.Truncate(day).Equal(t) {
		return side{}
	}
	value := stored(key)
	if value == nil || x.table.rows.Accepts(x.columns[i], value) != nil {
		return side{}
	}
	return side{value: value, bounds: true, strict: strict}
}
