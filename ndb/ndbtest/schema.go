package ndbtest

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// TableDef describes a table as CREATE TABLE does.
type TableDef struct {
	Database string
	Name     string
	Columns  []ColumnDef
	// PrimaryKey names the columns of the primary key, at least one.
	PrimaryKey []string
	// HashOnly makes the primary key a hash index alone (USING HASH). Else an
	// ordered index PRIMARY lies beside it.
	HashOnly bool
	Indexes  []IndexDef
}

// ColumnDef describes a column.
type ColumnDef struct {
	Name string
	// Type is the SQL type, such as "VARCHAR(64)" or "INT UNSIGNED".
	Type    string
	NotNull bool
	// Collation is that of characters, by its name or, as not all names are known,
	// its number; a character set means its default one. Empty means
	// utf8mb4_0900_ai_ci.
	Collation string
	// Default is the default as INSERT would take it; nil means that there is
	// none, or NULL.
	Default any
	// AutoIncrement only marks the column.
	AutoIncrement bool
}

// IndexDef describes an index: an ordered one, or with Unique an ordered and a
// unique one of that name.
type IndexDef struct {
	Name     string
	Columns  []string
	Unique   bool
	HashOnly bool // of a unique index: no ordered index beside it
}

// CreateTable makes the table that a CREATE TABLE statement describes: columns
// of the types that the dictionary has, NOT NULL, DEFAULT, PRIMARY KEY, KEY,
// UNIQUE KEY, character sets and collations. The name is qualified with the
// database, which needs not exist. With IF NOT EXISTS, a table that is there
// stays as it is.
func (c *Cluster) CreateTable(sql string) error {
	def, ifNotExists, err := parseCreateTable(sql)
	if err != nil {
		return fmt.Errorf("ndbtest: %w", err)
	}
	return c.define(def, ifNotExists)
}

// MustCreateTable is CreateTable for statements that cannot fail.
func (c *Cluster) MustCreateTable(sql string) {
	if err := c.CreateTable(sql); err != nil {
		panic(err)
	}
}

// DefineTable makes a table.
func (c *Cluster) DefineTable(def TableDef) error { return c.define(&def, false) }

func (c *Cluster) define(def *TableDef, ifNotExists bool) (err error) {
	c.do(func() { err = c.dictionary.define(c, def, ifNotExists) })
	if err != nil {
		return fmt.Errorf("ndbtest: table %s.%s: %w", def.Database, def.Name, err)
	}
	return nil
}

func (d *dictionary) define(c *Cluster, def *TableDef, ifNotExists bool) error {
	name, err := dictinfo.TableName(def.Database, def.Name)
	if err != nil {
		return err
	}
	if d.byName(name) != nil {
		if ifNotExists {
			return nil
		}
		return fmt.Errorf("exists already")
	}
	columns, err := def.columns()
	if err != nil {
		return err
	}
	if err := def.checkIndexes(); err != nil {
		return err
	}
	desc := d.newDescription(name, dictinfo.ObjectUserTable, columns)
	desc.ReadBackup, desc.Logged = c.opt.readBackup, true
	desc.HashMapID, desc.HashMapVersion = d.hashMap.ID, d.hashMap.Version
	t := newTable(desc, d.hashMap, c.opt.weigher())
	d.tables[desc.ID] = t
	if !def.HashOnly {
		d.addOrdered(t, IndexDef{Name: "PRIMARY", Columns: def.PrimaryKey})
	}
	for _, index := range def.Indexes {
		if !index.HashOnly {
			d.addOrdered(t, index)
		}
		if index.Unique {
			d.addUnique(t, index)
		}
	}
	return nil
}

// newDescription takes an id for an object with columns, numbers these and
// spreads it over the nodes.
func (d *dictionary) newDescription(name string, kind dictinfo.ObjectType, columns []dictinfo.Column) *dictinfo.Table {
	desc := &dictinfo.Table{
		Name: name, Type: kind, Columns: columns, Fragments: d.replicas, FragmentType: dictinfo.FragmentHashMap,
		HashMapID: dictinfo.NoHashMap, PartitionBalance: balanceForAll, SingleUserMode: dictinfo.SingleUserReadWrite,
		RowGCI: true, RowChecksum: true,
	}
	desc.ID, desc.Version = d.freeID()
	for i := range columns {
		columns[i].ID = uint16(i)
		if columns[i].Key {
			desc.KeyWords += uint32(columns[i].SizeBytes()+3) / 4
			columns[i].DistributionKey = false // all of the key is, where no column is marked
		}
	}
	return desc
}

// balanceForAll is the partition balance that tables of SQL nodes have.
const balanceForAll = 0xfffffffe

func (d *dictionary) addOrdered(t *table, def IndexDef) {
	name, _ := dictinfo.IndexName(t.desc.ID, def.Name)
	index := &orderedIndex{base: t}
	columns := index.take(t, def)
	columns = append(columns, dictinfo.Column{
		Name: "NDB$TNODE", Type: dictinfo.TypeUnsigned, ElementBitsLog2: 5, Elements: treeNodeWords, Length: treeNodeWords,
		Key: true,
	})
	index.desc = d.newDescription(name, dictinfo.ObjectOrderedIndex, columns)
	index.desc.FragmentType = dictinfo.FragmentOrderedIndex
	index.desc.BaseName, index.desc.BaseID, index.desc.IndexState = t.desc.Name, t.desc.ID, dictinfo.IndexOnline
	index.entries = make([][]indexEntry, len(t.fragments))
	t.ordered = append(t.ordered, index)
	d.ordered[index.desc.ID] = index
}

const treeNodeWords = 64

func (index *orderedIndex) take(t *table, def IndexDef) []dictinfo.Column {
	var columns []dictinfo.Column
	for _, name := range def.Columns {
		c := *t.desc.ColumnByName(name)
		index.columns = append(index.columns, c.ID)
		c.Key, c.Default, c.AutoIncrement = false, nil, false
		columns = append(columns, c)
	}
	return columns
}

// addUnique makes the table that is a unique index: the columns of the index
// are its key, and the last column has the key of the base table.
func (d *dictionary) addUnique(t *table, def IndexDef) {
	name, _ := dictinfo.UniqueIndexName(t.desc.ID, def.Name)
	var columns []dictinfo.Column
	var ids []uint16
	for _, columnName := range def.Columns {
		c := *t.desc.ColumnByName(columnName)
		ids = append(ids, c.ID)
		c.Key, c.Nullable, c.Default, c.AutoIncrement = true, false, nil, false
		columns = append(columns, c)
	}
	columns = append(columns, dictinfo.Column{
		Name: "NDB$PK", Type: dictinfo.TypeUnsigned, ElementBitsLog2: 5, Elements: t.desc.KeyWords, Length: t.desc.KeyWords,
	})
	desc := d.newDescription(name, dictinfo.ObjectUniqueIndex, columns)
	desc.HashMapID, desc.HashMapVersion, desc.Logged = d.hashMap.ID, d.hashMap.Version, true
	desc.BaseName, desc.BaseID, desc.IndexState = t.desc.Name, t.desc.ID, dictinfo.IndexOnline
	index := newTable(desc, d.hashMap, t.weigh)
	index.base, index.columns = t, ids
	t.unique = append(t.unique, index)
	d.tables[desc.ID] = index
}

// DropTable drops a table and its indexes. Transactions that have touched it are
// aborted. No API node is told: that is how real data nodes do it.
func (c *Cluster) DropTable(database, name string) (err error) {
	c.do(func() {
		t, findErr := c.findTable(database, name)
		if findErr != nil {
			err = findErr
			return
		}
		c.abortUsers(t)
		for _, index := range t.unique {
			index.dropped = true
			delete(c.dictionary.tables, index.desc.ID)
		}
		for _, index := range t.ordered {
			delete(c.dictionary.ordered, index.desc.ID)
		}
		t.dropped = true
		delete(c.dictionary.tables, t.desc.ID)
	})
	return err
}

func (c *Cluster) findTable(database, name string) (*table, error) {
	internal, err := dictinfo.TableName(database, name)
	if err != nil {
		return nil, fmt.Errorf("ndbtest: %w", err)
	}
	if t := c.dictionary.userTable(internal); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("ndbtest: no table %s.%s", database, name)
}

// AlterAddColumn adds a column while the table is in use, as ALTER TABLE … ADD
// COLUMN does: the column must allow NULL and have no default. The minor version
// grows, and each data node tells all API nodes.
func (c *Cluster) AlterAddColumn(database, name string, def ColumnDef) (err error) {
	column, err := def.column()
	if err != nil {
		return fmt.Errorf("ndbtest: %w", err)
	}
	if def.NotNull || def.Default != nil {
		return fmt.Errorf("ndbtest: column %s: a column is added online with NULL and without a default only", def.Name)
	}
	c.do(func() {
		t, findErr := c.findTable(database, name)
		if findErr != nil {
			err = findErr
			return
		}
		column.ID, column.Dynamic = uint16(len(t.desc.Columns)), true
		desc := *t.desc
		desc.Columns = append(slices.Clone(desc.Columns), column)
		desc.Version += minorVersion
		old := t.desc.Version
		t.setDescription(&desc)
		c.announce(&desc, old)
	})
	return err
}

const minorVersion = 1 << 24 // of a schema version

// checkIndexes finds columns that are not there.
func (def *TableDef) checkIndexes() error {
	names := map[string]bool{}
	for _, c := range def.Columns {
		names[c.Name] = true
	}
	if len(def.PrimaryKey) == 0 {
		return fmt.Errorf("no primary key")
	}
	all := append([]IndexDef{{Name: "PRIMARY", Columns: def.PrimaryKey}}, def.Indexes...)
	for _, index := range all {
		if len(index.Columns) == 0 {
			return fmt.Errorf("index %s has no columns", index.Name)
		}
		for _, column := range index.Columns {
			if !names[column] {
				return fmt.Errorf("index %s: no column %q", index.Name, column)
			}
		}
	}
	return nil
}

// columns returns the columns, with those of the primary key marked.
func (def *TableDef) columns() ([]dictinfo.Column, error) {
	var columns []dictinfo.Column
	seen := map[string]bool{}
	for _, d := range def.Columns {
		if seen[d.Name] {
			return nil, fmt.Errorf("column %q is there twice", d.Name)
		}
		seen[d.Name] = true
		key := slices.Contains(def.PrimaryKey, d.Name)
		d.NotNull = d.NotNull || key
		c, err := d.column()
		if err != nil {
			return nil, err
		}
		if key && c.Type.IsBlob() {
			return nil, fmt.Errorf("column %q cannot be part of a key", d.Name)
		}
		c.Key = key
		columns = append(columns, c)
	}
	return columns, nil
}

// abortUsers aborts the transactions that have locked rows of a table or wait
// for them.
func (c *Cluster) abortUsers(t *table) {
	tables := append([]*table{t}, t.unique...)
	users := map[*txn]bool{}
	for _, t := range tables {
		for _, r := range t.rows {
			for _, user := range append([]*txn{r.lock.exclusive}, r.lock.shared...) {
				if user != nil {
					users[user] = true
				}
			}
			for _, w := range r.lock.queue {
				users[w.txn] = true
			}
		}
	}
	for user := range users {
		user.kill(codeBeingDropped)
	}
}

const codeBeingDropped = 1226

// primary returns the live node that serves a fragment first, or nil.
func (c *Cluster) primary(replicas []signal.NodeID) *dataNode {
	for _, id := range replicas {
		if n := c.node(int(id)); n.started() {
			return n
		}
	}
	return nil
}
