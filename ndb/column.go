package ndb

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/keyhash"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// Column describes a column of a table. It does not change.
type Column struct {
	Name            string
	Type            string // NDB's own name of the type, such as "Varchar"
	Nullable        bool
	PrimaryKey      bool
	DistributionKey bool
	// Charset is the number of the collation by which text compares, as in
	// information_schema.collations; 0 for types without one.
	Charset int
	// SizeBytes is the most bytes a value takes, without those that hold its
	// length.
	SizeBytes int
	Precision int    // digits of a decimal, or of the fraction of a time
	Scale     int    // digits of a decimal after the point
	Default   []byte // in the form in which it is stored; nil is NULL or none

	info  *dictinfo.Column
	place int // in its definition
}

func newColumn(info *dictinfo.Column, place int) *Column {
	return &Column{
		Name:            info.Name,
		Type:            info.Type.String(),
		Nullable:        info.Nullable,
		PrimaryKey:      info.Key,
		DistributionKey: info.DistributionKey,
		Charset:         int(info.Charset),
		SizeBytes:       info.SizeBytes() - info.LengthBytes(),
		Precision:       int(info.Precision),
		Scale:           int(info.Scale),
		Default:         slices.Clone(info.Default),
		info:            info,
		place:           place,
	}
}

// EncodesText tells whether this package can read and write all text that the
// column can hold: so it is in ascii, latin1, utf8mb3 and utf8mb4. Columns in
// most other character sets take ASCII text only.
func (c *Column) EncodesText() bool {
	collation, _ := row.CollationByID(c.info.Charset)
	switch collation.Charset {
	case row.CharsetASCII, row.CharsetLatin1, row.CharsetUTF8MB3, row.CharsetUTF8MB4:
		return true
	default:
		return false
	}
}

// definition is a table as the dictionary has it at one time.
type definition struct {
	epoch       uint64 // of the cluster; see clusterLinks
	id, version uint32
	info        *dictinfo.Table
	hashMap     *dictinfo.HashMap // nil where keys do not tell the node
	hasher      *keyhash.Hasher
	columns     []*Column
	byName      map[string]*Column
	key         []*Column // in the order of KEYINFO
	indexes     map[string]*Index
	onDisk      bool // a column is
	requests    int  // that reading it took
}

func newDefinition(epoch uint64, info *dictinfo.Table, hashMap *dictinfo.HashMap) *definition {
	d := &definition{
		epoch: epoch, id: info.ID, version: info.Version, info: info, hashMap: hashMap, hasher: keyhash.New(info),
		byName: map[string]*Column{}, indexes: map[string]*Index{},
	}
	for i := range info.Columns {
		c := newColumn(&info.Columns[i], i)
		d.columns = append(d.columns, c)
		d.byName[c.Name] = c
		d.onDisk = d.onDisk || info.Columns[i].Disk
		if c.PrimaryKey {
			d.key = append(d.key, c)
		}
	}
	return d
}

func (d *definition) column(name string) (*Column, error) {
	if c, ok := d.byName[name]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("ndb: table %s has no column %s", d.info.Name, name)
}

// sameShape tells whether values built for one of two definitions mean the same
// in the other.
func (d *definition) sameShape(other *definition) bool {
	if len(d.columns) > len(other.columns) {
		return false
	}
	for i, c := range d.columns {
		o := other.columns[i]
		if c.Name != o.Name || c.info.ID != o.info.ID || c.info.Type != o.info.Type || c.SizeBytes != o.SizeBytes ||
			c.Nullable != o.Nullable || c.PrimaryKey != o.PrimaryKey || c.Charset != o.Charset ||
			c.Precision != o.Precision || c.Scale != o.Scale || c.info.Elements != o.info.Elements || c.info.ArrayType != o.info.ArrayType {
			return false
		}
	}
	return true
}

// takes tells whether values and projections built for other can be sent with the
// ID and the version of d: they are of the same definition, of one before, or of
// what an online ALTER has made of d since, which keeps the ID and the low part of
// the version.
func (d *definition) takes(other *definition) bool {
	return other == d || other.sameShape(d) ||
		other.id == d.id && dictinfo.MajorVersion(other.version) == dictinfo.MajorVersion(d.version) && d.sameShape(other)
}

// addIndex adds an index whose description the dictionary has given.
func (d *definition) addIndex(info *dictinfo.Table) error {
	_, name, err := dictinfo.SplitIndexName(info.Name)
	if err != nil {
		return fmt.Errorf("ndb: %w", err)
	}
	x := &Index{Name: name, Unique: info.Type == dictinfo.ObjectUniqueIndex, id: info.ID, version: info.Version, info: info}
	if x.Unique {
		x.Name = dictinfo.TrimUnique(name)
	}
	for _, c := range info.IndexColumns() {
		column, err := d.column(c.Name)
		if err != nil {
			return err
		}
		x.Columns = append(x.Columns, column)
	}
	d.indexes[x.Name] = x
	return nil
}

// Index is an ordered or a unique index of a table.
type Index struct {
	Name    string
	Unique  bool
	Columns []*Column // of the table, in the order of the index

	id, version uint32
	info        *dictinfo.Table
}
