package dictinfo

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// ObjectType is what an object of the dictionary is.
type ObjectType uint32

// The types of objects that this package reads. Others exist.
const (
	ObjectSystemTable  ObjectType = 1
	ObjectUserTable    ObjectType = 2
	ObjectUniqueIndex  ObjectType = 3
	ObjectOrderedIndex ObjectType = 6
	ObjectHashMap      ObjectType = 24
)

// String names the type.
func (t ObjectType) String() string {
	switch t {
	case ObjectSystemTable:
		return "system table"
	case ObjectUserTable:
		return "user table"
	case ObjectUniqueIndex:
		return "unique index"
	case ObjectOrderedIndex:
		return "ordered index"
	case ObjectHashMap:
		return "hash map"
	}
	return fmt.Sprintf("object type %d", uint32(t))
}

// FragmentType is how rows are spread over fragments.
type FragmentType uint32

// The fragment types that this package knows by name.
const (
	FragmentOrderedIndex FragmentType = 8
	FragmentHashMap      FragmentType = 9
)

// IndexState tells whether an index may be used.
type IndexState uint32

// IndexOnline is the only state of an index that may be used.
const IndexOnline IndexState = 4

// SingleUserMode is what API nodes other than the chosen one may do with a
// table in single user mode.
type SingleUserMode uint32

// The single user modes.
const (
	SingleUserLocked    SingleUserMode = 0
	SingleUserReadOnly  SingleUserMode = 1
	SingleUserReadWrite SingleUserMode = 2
)

// NoHashMap is the HashMapID of tables without one: ordered indexes.
const NoHashMap = signal.RNIL

// Table describes a table, a unique index (which is a table as well) or an
// ordered index.
type Table struct {
	Name    string // internal name
	ID      uint32
	Version uint32 // schema version, as requests carry it
	Type    ObjectType
	Columns []Column // in the order of the dictionary
	// KeyWords is how many words a primary key takes at most.
	KeyWords uint32

	FragmentType     FragmentType
	PartitionBalance uint32
	// Fragments has the nodes that hold each fragment, the primary first.
	Fragments      [][]signal.NodeID
	HashMapID      uint32 // NoHashMap where there is none
	HashMapVersion uint32

	// Base table, empty and 0 but for indexes.
	BaseName   string
	BaseID     uint32
	IndexState IndexState

	SingleUserMode  SingleUserMode
	ReadBackup      bool // committed reads may go to any replica
	FullyReplicated bool
	Logged          bool // survives a restart of the cluster
	RowGCI          bool
	RowChecksum     bool
}

// versionMajorMask takes the part of a version that data nodes compare.
const versionMajorMask = 1<<24 - 1

// MajorVersion is the part of a schema version that data nodes compare; ALTER
// changes only the other part.
func MajorVersion(version uint32) uint32 { return version & versionMajorMask }

// IsIndex tells whether t is an index of either kind.
func (t *Table) IsIndex() bool { return t.Type == ObjectUniqueIndex || t.Type == ObjectOrderedIndex }

// ColumnByName returns the column of that name, or nil. It searches.
func (t *Table) ColumnByName(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// KeyColumns returns the columns of the primary key in the order of KEYINFO:
// by attribute id.
func (t *Table) KeyColumns() []*Column { return t.selectColumns(func(c *Column) bool { return c.Key }) }

// DistributionColumns returns the columns whose values choose the fragment, by
// attribute id.
func (t *Table) DistributionColumns() []*Column {
	return t.selectColumns(func(c *Column) bool { return c.DistributionKey })
}

// treeNodeColumn is the last column of an ordered index: the kernel's own.
const treeNodeColumn = "NDB$TNODE"

// IndexColumns returns the columns of an index in the order of the index:
// bounds and keys number them so.
func (t *Table) IndexColumns() []*Column {
	if t.Type == ObjectUniqueIndex {
		return t.KeyColumns()
	}
	return t.selectColumns(func(c *Column) bool { return c.Name != treeNodeColumn })
}

// selectColumns relies on Columns being in the order of their ids, which Decode
// demands.
func (t *Table) selectColumns(want func(*Column) bool) []*Column {
	var columns []*Column
	for i := range t.Columns {
		if want(&t.Columns[i]) {
			columns = append(columns, &t.Columns[i])
		}
	}
	return columns
}
