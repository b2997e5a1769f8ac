package ndbtest

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// Rows gives access to the rows of a table without any signal: to put some there
// before a test, and to look at them afterwards. For several steps in one
// transaction see LocalTx. Safe for concurrent use.
//
// A row is the values of all columns in the order of the table: int64, uint64,
// float64, string, []byte (binary types) or nil. Decimals and points in time are
// strings, as SQL prints them. Integers of any size are taken, and text for
// numbers.
type Rows struct {
	cluster *Cluster
	table   *table
}

// ColumnInfo describes a column.
type ColumnInfo struct {
	Name          string
	Type          string // the name of the type in NDB, such as "Varchar"
	Length        int    // of CHAR and VARCHAR, BINARY and VARBINARY: how many characters or bytes fit
	Collation     uint16 // of characters: its number in MySQL
	Nullable      bool
	PrimaryKey    bool
	HasDefault    bool
	Default       any // as in a row
	AutoIncrement bool
}

// IndexInfo describes an index.
type IndexInfo struct {
	Name    string
	Unique  bool // a unique one; else an ordered one
	Columns []int
}

// TableName names a table.
type TableName struct{ Database, Name string }

// Tables names all tables.
func (c *Cluster) Tables() []TableName {
	var names []TableName
	c.do(func() {
		for _, desc := range c.dictionary.all() {
			if desc.Type != dictinfo.ObjectUserTable {
				continue
			}
			if database, name, err := dictinfo.SplitTableName(desc.Name); err == nil {
				names = append(names, TableName{database, name})
			}
		}
	})
	return names
}

// Rows returns the rows of a table.
func (c *Cluster) Rows(database, name string) (*Rows, error) {
	r := &Rows{cluster: c}
	var err error
	c.do(func() { r.table, err = c.findTable(database, name) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Columns describes the columns.
func (r *Rows) Columns() []ColumnInfo {
	var columns []ColumnInfo
	r.cluster.do(func() {
		for i := range r.table.desc.Columns {
			columns = append(columns, describe(&r.table.desc.Columns[i]))
		}
	})
	return columns
}

func describe(c *dictinfo.Column) ColumnInfo {
	info := ColumnInfo{
		Name: c.Name, Type: c.Type.String(), Nullable: c.Nullable, PrimaryKey: c.Key, AutoIncrement: c.AutoIncrement,
		HasDefault: c.Default != nil, Default: decodeValue(c, c.Default),
	}
	switch c.Type {
	case dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
		info.Length = int(c.Length)
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar:
		if c.Charset != row.CollationBinary { // or it is an ENUM or a SET
			collation, _ := row.CollationByID(c.Charset)
			info.Length, info.Collation = int(c.Length)/collation.MaxBytes, c.Charset
		}
	}
	return info
}

// Version tells this table from those that had its name before, and grows when
// it is altered.
func (r *Rows) Version() (id, version uint32) {
	r.cluster.do(func() { id, version = r.table.desc.ID, r.table.desc.Version })
	return id, version
}

// Accepts tells why a column cannot hold a value, or nil.
func (r *Rows) Accepts(column int, value any) error {
	var columns []dictinfo.Column
	r.cluster.do(func() { columns = r.table.desc.Columns })
	c := &columns[column]
	if _, err := row.AppendValue(nil, row.FormAttr, c, numberFor(c, value)); err != nil {
		return fmt.Errorf("ndbtest: %w", err)
	}
	return nil
}

// Indexes describes the indexes. The ordered index of the primary key is
// called PRIMARY; a unique index and the ordered one beside it have the same
// name.
func (r *Rows) Indexes() []IndexInfo {
	var indexes []IndexInfo
	r.cluster.do(func() {
		for _, index := range r.table.ordered {
			indexes = append(indexes, IndexInfo{Name: indexName(index.desc), Columns: positions(index.columns)})
		}
		for _, index := range r.table.unique {
			indexes = append(indexes, IndexInfo{Name: indexName(index.desc), Unique: true, Columns: positions(index.columns)})
		}
	})
	return indexes
}

func positions(ids []uint16) []int {
	var all []int
	for _, id := range ids {
		all = append(all, int(id))
	}
	return all
}

// indexName is the name of an index as SQL knows it.
func indexName(desc *dictinfo.Table) string {
	_, name, err := dictinfo.SplitIndexName(desc.Name)
	if err != nil {
		return desc.Name
	}
	if desc.Type == dictinfo.ObjectUniqueIndex {
		return dictinfo.TrimUnique(name)
	}
	return name
}

// Len is how many rows are committed.
func (r *Rows) Len() int {
	n := 0
	r.cluster.do(func() {
		for _, f := range r.table.fragments {
			n += f.live
		}
	})
	return n
}

// All returns the committed rows, in the order of the primary key.
func (r *Rows) All() [][]any {
	var all [][]any
	r.cluster.do(func() {
		var versions []*version
		for _, e := range r.table.rows {
			if e.committed != nil {
				versions = append(versions, e.committed)
			}
		}
		slices.SortFunc(versions, r.table.compareKeys)
		for _, v := range versions {
			all = append(all, decode(r.table.desc.Columns, v))
		}
	})
	return all
}

func (t *table) compareKeys(a, b *version) int {
	for _, c := range t.key {
		if order := t.weigh.compareValues(c, a.value(c.ID), b.value(c.ID)); order != 0 {
			return order
		}
	}
	return 0
}

// Get returns the committed row with that primary key, nil where there is none.
func (r *Rows) Get(key ...any) ([]any, error) {
	keyInfo, err := r.encodeKey(key)
	if err != nil {
		return nil, err
	}
	var values []any
	r.cluster.do(func() {
		normal, _ := r.table.normalise(keyInfo)
		if e := r.table.rows[normal]; e != nil && e.committed != nil {
			values = decode(r.table.desc.Columns, e.committed)
		}
	})
	return values, nil
}

// Insert adds rows in one transaction. Values that are missing at the end of a
// row, and nil for a column that must not be NULL, mean the default.
func (r *Rows) Insert(rows ...[]any) error {
	tx := r.cluster.Begin()
	defer tx.Rollback()
	for _, values := range rows {
		if err := tx.Insert(r.cluster.life, r, values); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// decode returns the values of a row.
func decode(columns []dictinfo.Column, v *version) []any {
	values := make([]any, len(columns))
	for i := range columns {
		values[i] = decodeValue(&columns[i], v.value(uint16(i)))
	}
	return values
}

// decodeValue returns a value with its length bytes; what cannot be read comes
// as it is stored.
func decodeValue(c *dictinfo.Column, value []byte) any {
	if value == nil {
		return nil
	}
	span := row.Span{Off: uint32(c.LengthBytes()), Len: uint32(len(value) - c.LengthBytes())}
	switch c.Type {
	case dictinfo.TypeDate, dictinfo.TypeTime2, dictinfo.TypeDatetime2, dictinfo.TypeTimestamp2:
		if s, err := row.String(c, value, span); err == nil {
			return s
		}
	default:
		if v, err := row.Value(c, value, span); err == nil {
			return v
		}
	}
	return string(span.Bytes(value))
}

// encodeKey returns KEYINFO for the values of the primary key's columns.
func (r *Rows) encodeKey(key []any) ([]byte, error) {
	var columns []*dictinfo.Column
	r.cluster.do(func() { columns = r.table.key })
	if len(key) != len(columns) {
		return nil, fmt.Errorf("ndbtest: %d values for a primary key of %d columns", len(key), len(columns))
	}
	var keyInfo []byte
	var err error
	for i, c := range columns {
		if keyInfo, err = row.AppendValue(keyInfo, row.FormKey, c, numberFor(c, key[i])); err != nil {
			return nil, fmt.Errorf("ndbtest: %w", err)
		}
	}
	return keyInfo, nil
}

// encodeRow returns KEYINFO and ATTRINFO for a row; withKey says whether the
// latter has the columns of the key.
func (r *Rows) encodeRow(values []any, withKey bool) (keyInfo, attrInfo []byte, err error) {
	var columns []dictinfo.Column
	r.cluster.do(func() { columns = r.table.desc.Columns })
	if len(values) > len(columns) {
		return nil, nil, fmt.Errorf("ndbtest: %d values for %d columns", len(values), len(columns))
	}
	for i := range values {
		c := &columns[i]
		v := numberFor(c, values[i])
		if v == nil && !c.Nullable && !c.Key {
			continue
		}
		if c.Key {
			if keyInfo, err = row.AppendValue(keyInfo, row.FormKey, c, v); err != nil {
				return nil, nil, fmt.Errorf("ndbtest: %w", err)
			}
		}
		if c.Key && !withKey {
			continue
		}
		if attrInfo, err = row.AppendValue(attrInfo, row.FormAttr, c, v); err != nil {
			return nil, nil, fmt.Errorf("ndbtest: %w", err)
		}
	}
	return keyInfo, attrInfo, nil
}
