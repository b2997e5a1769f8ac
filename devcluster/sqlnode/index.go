package sqlnode

import (
	"encoding/binary"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/devcluster/rows"
)

// Keys of the index on municipality: NULL is before all strings, and a string
// is the weights of its characters, so that keys order and equal each other as
// the collation wants it.
const (
	keyNull   = ""
	keyString = "\x01" // begins the key of every string
	keyEnd    = "\x02" // after all keys
)

// municipalityKey returns the key of a row.
func municipalityKey(r rows.Row) string {
	s, ok := r[columnMunicipality].(string)
	if !ok {
		return keyNull
	}
	return textKey(s)
}

func textKey(s string) string {
	weight := collation.Sorter()
	key := make([]byte, 0, len(keyString)+4*(len(s)+len(padding)))
	key = append(key, keyString...)
	for _, r := range padText(s) {
		// A weight is signed; flipping its sign makes it order as bytes do.
		key = binary.BigEndian.AppendUint32(key, uint32(weight(r))^1<<31)
	}
	return string(key)
}

// index is an index of the table as the engine sees it.
type index struct {
	name   string
	rows   rows.Index
	column *sql.Column
}

var _ sql.OrderedIndex = (*index)(nil)

func (x *index) ID() string                                 { return x.name }
func (x *index) Database() string                           { return databaseName }
func (x *index) Table() string                              { return tableName }
func (x *index) Expressions() []string                      { return []string{tableName + "." + x.column.Name} }
func (x *index) IsUnique() bool                             { return x.rows == rows.Primary }
func (x *index) IsSpatial() bool                            { return false }
func (x *index) IsFullText() bool                           { return false }
func (x *index) IsVector() bool                             { return false }
func (x *index) Comment() string                            { return "" }
func (x *index) IndexType() string                          { return "BTREE" }
func (x *index) IsGenerated() bool                          { return false }
func (x *index) CanSupport(*sql.Context, ...sql.Range) bool { return true }
func (x *index) CanSupportOrderBy(sql.Expression) bool      { return false }
func (x *index) PrefixLengths() []uint16                    { return nil }
func (x *index) Order() sql.IndexOrder                      { return sql.IndexOrderAsc }
func (x *index) Reversible() bool                           { return true }
func (x *index) ColumnExpressionTypes() []sql.ColumnExpressionType {
	return []sql.ColumnExpressionType{{Expression: x.Expressions()[0], Type: x.column.Type}}
}

// rowRanges returns the positions that ranges of values cover, in ascending
// order. Values that differ only in the spaces at their ends are different to
// the engine, but not in the index, so ranges may have become one.
func (x *index) rowRanges(values sql.MySQLRangeCollection) []rows.Range {
	ranges := make([]rows.Range, len(values))
	for i, r := range values {
		ranges[i] = x.rowRange(r)
	}
	return rows.Union(ranges)
}

// rowRange returns the positions that a range of values covers. A bound that
// is not of the column's type bounds nothing: the engine filters what it gets.
func (x *index) rowRange(r sql.MySQLRange) rows.Range {
	return rows.Range{
		From: x.position(r[0].LowerBound, x.first()),
		To:   x.position(r[0].UpperBound, x.end()),
	}
}

// position is where a cut is in the order of the index; otherwise if it is in
// an unknown place.
func (x *index) position(cut sql.MySQLRangeCut, otherwise rows.Position) rows.Position {
	switch c := cut.(type) {
	case sql.BelowNull:
		return x.first()
	case sql.AboveNull:
		if x.rows == rows.Primary {
			return x.first()
		}
		return rows.FirstOf(keyString)
	case sql.AboveAll:
		return x.end()
	case sql.Below:
		return x.beside(c.Key, false, otherwise)
	case sql.Above:
		return x.beside(c.Key, true, otherwise)
	default:
		return otherwise
	}
}

// beside is the position before or after all rows with the given value.
func (x *index) beside(value any, after bool, otherwise rows.Position) rows.Position {
	if x.rows == rows.Primary {
		id, ok := value.(int64)
		switch {
		case !ok:
			return otherwise
		case after:
			return rows.After("", id)
		default:
			return rows.Position{ID: id}
		}
	}
	s, ok := value.(string)
	switch {
	case !ok:
		return otherwise
	case after:
		return rows.AfterAllOf(textKey(s))
	default:
		return rows.FirstOf(textKey(s))
	}
}

func (x *index) first() rows.Position { return rows.FirstOf("") }

func (x *index) end() rows.Position {
	if x.rows == rows.Primary {
		return rows.AfterAllOf("")
	}
	return rows.FirstOf(keyEnd)
}
