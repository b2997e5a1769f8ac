package ndb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Table is a table of the cluster, found by Client.Table. It follows changes of
// the table's definition by itself: columns are those of the definition that
// was current when they were asked for. Safe for concurrent use.
type Table struct {
	client   *Client
	database string
	name     string
	internal string // its name in the dictionary
	def      atomic.Pointer[definition]
	outdated atomic.Bool // see IsCurrent
}

// Database is the name of the table's database.
func (t *Table) Database() string { return t.database }

// Name is the table's name in its database.
func (t *Table) Name() string { return t.name }

// String is database and name, as in "ndbtest/employee".
func (t *Table) String() string { return t.database + "/" + t.name }

// IsCurrent is false once the cluster has said that the table was altered or
// renamed, or was lost: Client.Table then reads the one of that name anew.
// Operations go on with the definition that they know, in the table that they
// know: behind a rename, or an ALTER that copies, that is another one than the
// name says, or one that is about to go. Nothing is said of a DROP.
func (t *Table) IsCurrent() bool { return !t.outdated.Load() }

// Columns returns all columns in their order. The slice must not be changed.
func (t *Table) Columns() []*Column { return t.def.Load().columns }

// Column returns the column of that name. Names are case sensitive, as they
// were stored.
func (t *Table) Column(name string) (*Column, error) { return t.def.Load().column(name) }

// PrimaryKey returns the columns of the primary key. The slice must not be
// changed.
func (t *Table) PrimaryKey() []*Column { return t.def.Load().key }

// Index returns the ordered or unique index of that name.
func (t *Table) Index(name string) (*Index, error) {
	if x, ok := t.def.Load().indexes[name]; ok {
		return x, nil
	}
	return nil, fmt.Errorf("ndb: table %s has no index %s", t, name)
}

// Indexes returns all indexes in the order of their names.
func (t *Table) Indexes() []*Index {
	indexes := slices.Collect(maps.Values(t.def.Load().indexes))
	slices.SortFunc(indexes, func(a, b *Index) int { return strings.Compare(a.Name, b.Name) })
	return indexes
}

// ReadBackup tells whether committed reads may be served by any replica.
func (t *Table) ReadBackup() bool { return t.def.Load().info.ReadBackup }

// FragmentCount is how many fragments the rows are spread over.
func (t *Table) FragmentCount() int { return len(t.def.Load().info.Fragments) }

func infosOf(columns []*Column) []*dictinfo.Column {
	infos := make([]*dictinfo.Column, len(columns))
	for i, c := range columns {
		infos[i] = c.info
	}
	return infos
}

// Refresh reads the table's definition again. That is needed only where nothing is
// done with the table meanwhile: operations and scans find out by themselves that
// a table was altered or made anew, and the cluster does not tell of the latter.
func (t *Table) Refresh(ctx context.Context) error {
	ctx, cancel := t.client.bounded(ctx)
	defer cancel()
	_, err := t.refresh(ctx, t.def.Load(), new(trip))
	return err
}

// refresh reads the table's definition again, unless somebody else has, and tells
// whether values made for old mean the same in the new one.
func (t *Table) refresh(ctx context.Context, old *definition, trip *trip) (same bool, err error) {
	if current := t.def.Load(); current != old {
		return old.sameShape(current), nil
	}
	fresh, err := t.client.dict.read(ctx, t, old, trip)
	if err != nil {
		return false, err
	}
	t.def.CompareAndSwap(old, fresh) // Another refresh may have been quicker.
	return old.sameShape(fresh), nil
}
