package sqlnode

import (
	"fmt"
	"io"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// table is a table of the cluster, as it was at one version of its definition.
type table struct {
	cluster     *ndbtest.Cluster
	name        ndbtest.TableName
	rows        *ndbtest.Rows
	id, version uint32 // of the definition

	schema  sql.PrimaryKeySchema
	exact   sql.Schema      // the same with texts that compare byte for byte
	values  []func(any) any // make the engine's values of each column
	indexes []*index
}

var (
	_ sql.IndexAddressableTable = (*table)(nil)
	_ sql.PrimaryKeyTable       = (*table)(nil)
	_ sql.StatisticsTable       = (*table)(nil)
	_ sql.InsertableTable       = (*table)(nil)
	_ sql.UpdatableTable        = (*table)(nil)
	_ sql.DeletableTable        = (*table)(nil)
	_ sql.ReplaceableTable      = (*table)(nil)
	_ sql.TruncateableTable     = (*table)(nil)
	_ sql.TemporaryTable        = (*table)(nil)
	_ sql.AlterableTable        = (*table)(nil)
)

func newTable(cluster *ndbtest.Cluster, name ndbtest.TableName, rows *ndbtest.Rows) (*table, error) {
	t := &table{cluster: cluster, name: name, rows: rows}
	var err error
	if t.schema, t.values, err = newSchema(name, rows.Columns()); err != nil {
		return nil, err
	}
	t.exact = exactSchema(t.schema.Schema)
	for _, info := range rows.Indexes() {
		if !info.Unique { // one that is has an ordered one beside it, or none
			t.indexes = append(t.indexes, newIndex(t, info))
		}
	}
	return t, nil
}

func (t *table) Name() string                           { return t.name.Name }
func (t *table) String() string                         { return t.name.Name }
func (t *table) Database() string                       { return t.name.Database }
func (t *table) Schema() sql.Schema                     { return t.schema.Schema }
func (t *table) PrimaryKeySchema() sql.PrimaryKeySchema { return t.schema }

// Collation is that of the first text: the cluster does not know with which one
// the table was made.
func (t *table) Collation() sql.CollationID {
	for _, c := range t.schema.Schema {
		if text, ok := c.Type.(sql.StringType); ok {
			return text.Collation()
		}
	}
	return defaultCollation
}

// IsTemporary is asked before a write in a READ ONLY transaction is refused.
func (t *table) IsTemporary() bool { return false }

// RowCount guides the choice of an index. It is never exact: what is exact
// depends on who asks.
func (t *table) RowCount(*sql.Context) (uint64, bool, error) {
	return uint64(t.rows.Len()), false, nil
}

// DataLength is a rough guess, for the same purpose.
func (t *table) DataLength(*sql.Context) (uint64, error) {
	const rowBytes = 100
	return rowBytes * uint64(t.rows.Len()), nil
}

// engineRow is a row of the cluster as the engine wants it. The engine may write
// to it.
func (t *table) engineRow(values []any) sql.Row {
	row := make(sql.Row, len(t.values))
	for i := range row {
		// Columns that were added since are none of this definition.
		if values[i] != nil {
			row[i] = t.values[i](values[i])
		}
	}
	return row
}

// storedRow is a row of the engine as the cluster takes it.
func storedRow(row sql.Row) []any {
	values := make([]any, len(row))
	for i, v := range row {
		values[i] = stored(v)
	}
	return values
}

// keyOf returns the values of the primary key.
func (t *table) keyOf(row sql.Row) []any {
	key := make([]any, len(t.schema.PkOrdinals))
	for i, column := range t.schema.PkOrdinals {
		key[i] = stored(row[column])
	}
	return key
}

// sameKey is whether two rows have the same bytes in their primary keys.
func (t *table) sameKey(a, b sql.Row) bool { return slices.Equal(t.keyOf(a), t.keyOf(b)) }

// Partitions returns the whole table as one partition.
func (t *table) Partitions(*sql.Context) (sql.PartitionIter, error) {
	all := &partition{table: t, ranges: []sql.MySQLRange{nil}}
	if len(t.indexes) > 0 && t.indexes[0].isPrimary() {
		all.index = t.indexes[0]
	}
	return sql.PartitionsToPartitionIter(all), nil
}

// PartitionRows returns the rows of a partition, locked if the statement is to
// change them.
func (t *table) PartitionRows(ctx *sql.Context, p sql.Partition) (sql.RowIter, error) {
	part, ok := p.(*partition)
	if !ok {
		return nil, fmt.Errorf("table %s has no partition %T", t.Name(), p)
	}
	return part.read(tx(ctx), sessionOf(ctx).statement.forUpdate), nil
}

func (t *table) GetIndexes(*sql.Context) ([]sql.Index, error) {
	indexes := make([]sql.Index, len(t.indexes))
	for i, x := range t.indexes {
		indexes[i] = x
	}
	return indexes, nil
}

// PreciseMatch is false: the engine is to look again at each row it gets, which
// may have changed while its lock was waited for.
func (t *table) PreciseMatch() bool { return false }

func (t *table) IndexedAccess(*sql.Context, sql.IndexLookup) sql.IndexedTable {
	return &indexedTable{t}
}

// indexedTable is the table read through one of its indexes.
type indexedTable struct {
	*table
}

func (t *indexedTable) LookupPartitions(_ *sql.Context, lookup sql.IndexLookup) (sql.PartitionIter, error) {
	x, ok := lookup.Index.(*index)
	if !ok {
		return nil, fmt.Errorf("table %s has no index %T", t.Name(), lookup.Index)
	}
	ranges, ok := lookup.Ranges.(sql.MySQLRangeCollection)
	if !ok {
		return nil, fmt.Errorf("index %s cannot be read by %T", x.name, lookup.Ranges)
	}
	p := &partition{table: t.table, index: x, reverse: lookup.IsReverse}
	if !lookup.IsEmptyRange {
		p.ranges = ranges
	}
	return sql.PartitionsToPartitionIter(p), nil
}

// partition is ranges of an index, in the order in which to read them.
type partition struct {
	table   *table
	index   *index           // nil: rows are read in no order
	ranges  []sql.MySQLRange // nil for all rows
	reverse bool
}

func (p *partition) Key() []byte { return []byte(p.table.Name()) }

func (p *partition) read(t *transaction, forUpdate bool) *rowIter {
	i := &rowIter{partition: p, tx: t, forUpdate: forUpdate}
	if len(p.ranges) > 1 && p.index.hasText() {
		i.met = map[string]struct{}{}
	}
	return i
}

// rowIter reads the rows of a partition.
type rowIter struct {
	partition *partition
	tx        *transaction
	forUpdate bool
	next      int                // the range to read after scan
	scan      *ndbtest.LocalRows // nil before the first and after the last row of a range
	// met is the keys of the rows so far. Values that differ only in the spaces at
	// their ends are different to the engine, but not in the index, so that ranges
	// may overlap.
	met map[string]struct{}
}

func (i *rowIter) Next(ctx *sql.Context) (sql.Row, error) {
	for {
		row, err := i.read(ctx)
		switch {
		case err != nil:
			return nil, rowsError(err)
		case row != nil && !i.isMet(row):
			return row, nil
		case row == nil && i.scan == nil && i.next == len(i.partition.ranges):
			return nil, io.EOF
		}
	}
}

func (i *rowIter) isMet(row sql.Row) bool {
	if i.met == nil {
		return false
	}
	key := fmt.Sprint(i.partition.table.keyOf(row)...)
	_, met := i.met[key]
	i.met[key] = struct{}{}
	return met
}

// read returns a row, or nil when there may be one in another range.
func (i *rowIter) read(ctx *sql.Context) (sql.Row, error) {
	p := i.partition
	if i.scan == nil {
		if i.next == len(p.ranges) {
			return nil, nil
		}
		r := p.ranges[i.next]
		i.next++
		scan := ndbtest.LocalScan{Reverse: p.reverse, ForUpdate: i.forUpdate}
		if p.index != nil {
			if key, ok := p.index.single(r); ok {
				return i.tx.get(ctx, p.table, key, i.forUpdate)
			}
			if !p.index.bound(&scan, r) {
				return nil, nil
			}
		}
		var err error
		if i.scan, err = i.tx.scan(p.table, scan); err != nil {
			return nil, err
		}
	}
	values, err := i.scan.Next(ctx)
	if values == nil || err != nil {
		i.scan = nil
		return nil, i.tx.ended(err)
	}
	return p.table.engineRow(values), nil
}

func (i *rowIter) Close(*sql.Context) error { return nil }
