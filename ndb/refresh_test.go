package ndb_test

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
)

// A table that was dropped and made anew is another one, of which nobody tells.
func TestTable_Refresh_FindsTheTableThatWasMadeAnew(t *testing.T) {
	c := newChangingTable(t)
	if err := c.cluster.DropTable("d", "changing"); err != nil {
		t.Fatal(err)
	}
	var refused *ndb.Error
	if err := c.table.Refresh(t.Context()); !errors.As(err, &refused) || refused.Classification != ndb.ClassSchema {
		t.Errorf("got error %v with no table there, want one of ClassSchema", err)
	}
	c.cluster.MustCreateTable(`CREATE TABLE d.changing (id BIGINT NOT NULL PRIMARY KEY, other VARCHAR(3)) ENGINE=NDBCLUSTER`)
	if _, err := c.open(t).Column("other"); err == nil {
		t.Error("got the new definition without Refresh")
	}
	if err := c.table.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.table.Column("other"); err != nil {
		t.Error(err)
	}
}

func TestValues_Err_TellsColumnAndReason(t *testing.T) {
	w := newWorkbench(t)
	for name, test := range map[string]struct {
		values *ndb.Values
		reason error
		column string
	}{
		"too long":       {w.table.NewValues().String(w.first, string(make([]byte, 65))), ndb.ErrTooLong, "first"},
		"an emoji":       {w.table.NewValues().String(w.city, "😀"), ndb.ErrCharset, "municipality"},
		"no such day":    {w.table.NewValues().Date(w.start, 2021, 2, 29), ndb.ErrRange, "started"},
		"NULL for a key": {w.table.NewValues().Null(w.id), ndb.ErrNull, "id"},
	} {
		var bad *ndb.ValueError
		if err := test.values.Err(); !errors.Is(err, test.reason) || !errors.As(err, &bad) || bad.Column != test.column {
			t.Errorf("%s: got %v, want %v of column %s", name, err, test.reason, test.column)
		}
	}
}
