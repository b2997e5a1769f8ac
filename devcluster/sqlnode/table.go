package sqlnode

import (
	"fmt"
	"io"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/devcluster/rows"
)

// table is the table employee over the rows of a store.
type table struct {
	store   *rows.Store
	schema  sql.PrimaryKeySchema
	exact   sql.Schema // the same with texts that compare byte for byte
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
)

func newTable(store *rows.Store) *table {
	schema := employeeSchema()
	return &table{
		store:  store,
		schema: schema,
		exact:  exactSchema(schema.Schema),
		indexes: []*index{
			{name: "PRIMARY", rows: rows.Primary, column: schema.Schema[columnID]},
			{name: "idx_municipality", rows: rows.Secondary, column: schema.Schema[columnMunicipality]},
		},
	}
}

func (t *table) Name() string                           { return tableName }
func (t *table) String() string                         { return tableName }
func (t *table) Database() string                       { return databaseName }
func (t *table) Schema() sql.Schema                     { return t.schema.Schema }
func (t *table) PrimaryKeySchema() sql.PrimaryKeySchema { return t.schema }
func (t *table) Collation() sql.CollationID             { return collation }

// IsTemporary is asked before a write in a READ ONLY transaction is refused.
func (t *table) IsTemporary() bool { return false }

// RowCount guides the choice of an index. It is never exact: what is exact
// depends on who asks.
func (t *table) RowCount(*sql.Context) (uint64, bool, error) {
	return uint64(t.store.Len()), false, nil
}

// DataLength is a rough guess, for the same purpose.
func (t *table) DataLength(*sql.Context) (uint64, error) {
	const rowBytes = 100
	return rowBytes * uint64(t.store.Len()), nil
}

// Partitions returns the whole table as one partition.
func (t *table) Partitions(*sql.Context) (sql.PartitionIter, error) {
	primary := t.indexes[0]
	all := rows.Range{From: primary.first(), To: primary.end()}
	return sql.PartitionsToPartitionIter(&partition{index: rows.Primary, ranges: []rows.Range{all}}), nil
}

// PartitionRows returns the rows of a partition, locked if the statement is to
// change them.
func (t *table) PartitionRows(ctx *sql.Context, p sql.Partition) (sql.RowIter, error) {
	part, ok := p.(*partition)
	if !ok {
		return nil, fmt.Errorf("table %s has no partition %T", tableName, p)
	}
	return &rowIter{partition: part, tx: tx(ctx), forUpdate: sessionOf(ctx).statement.forUpdate}, nil
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
		return nil, fmt.Errorf("table %s has no index %T", tableName, lookup.Index)
	}
	ranges, ok := lookup.Ranges.(sql.MySQLRangeCollection)
	if !ok {
		return nil, fmt.Errorf("index %s cannot be read by %T", x.name, lookup.Ranges)
	}
	p := &partition{index: x.rows, reverse: lookup.IsReverse}
	if !lookup.IsEmptyRange {
		p.ranges = x.rowRanges(ranges)
	}
	if p.reverse {
		slices.Reverse(p.ranges)
	}
	return sql.PartitionsToPartitionIter(p), nil
}

// partition is ranges of an index, in the order in which to read them.
type partition struct {
	index   rows.Index
	ranges  []rows.Range
	reverse bool
}

func (p *partition) Key() []byte { return []byte(tableName) }

// rowIter reads the rows of a partition.
type rowIter struct {
	partition *partition
	tx        *rows.Tx
	forUpdate bool
	next      int        // the range to read after scan
	scan      *rows.Scan // nil before the first and after the last row of a range
}

func (i *rowIter) Next(ctx *sql.Context) (sql.Row, error) {
	for {
		row, err := i.read(ctx)
		if err != nil {
			return nil, rowsError(err)
		}
		if row != nil {
			return copyRow(row), nil
		}
		if i.scan == nil && i.next == len(i.partition.ranges) {
			return nil, io.EOF
		}
	}
}

// read returns a row, or nil when there may be one in another range.
func (i *rowIter) read(ctx *sql.Context) (rows.Row, error) {
	if i.scan == nil {
		if i.next == len(i.partition.ranges) {
			return nil, nil
		}
		r := i.partition.ranges[i.next]
		i.next++
		if id, ok := r.Single(i.partition.index); ok {
			return i.tx.Get(ctx, id, i.forUpdate)
		}
		i.scan = i.tx.Scan(i.partition.index, r, i.partition.reverse, i.forUpdate)
	}
	row, err := i.scan.Next(ctx)
	if row == nil {
		i.scan = nil
	}
	return row, err
}

func (i *rowIter) Close(*sql.Context) error { return nil }

// copyRow returns a row that the engine may write to.
func copyRow(r rows.Row) sql.Row { return sql.Row(slices.Clone(r)) }
