package sqlnode

import (
	"fmt"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

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

// newTable is nil for a table with columns that are not known here.
func newTable(cluster *ndbtest.Cluster, name ndbtest.TableName, rows *ndbtest.Rows) *table {
	t := &table{cluster: cluster, name: name, rows: rows}
	var ok bool
	if t.schema, t.values, ok = newSchema(name, rows.Columns()); !ok {
		return nil
	}
	t.exact = exactSchema(t.schema.Schema)
	for _, info := range rows.Indexes() {
		if !info.Unique { // one that is has an ordered one beside it, or none
			t.indexes = append(t.indexes, newIndex(t, info))
		}
	}
	if !slices.ContainsFunc(t.indexes, (*index).isPrimary) {
		t.indexes = append(t.indexes, &index{table: t, name: primaryName, columns: t.schema.PkOrdinals, hash: true})
	}
	return t
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
		if text, ok := c.Type.(sql.StringType); ok && !types.IsBinaryType(text) {
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
	if i := slices.IndexFunc(t.indexes, (*index).isPrimary); !t.indexes[i].hash {
		all.index = t.indexes[i]
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
