package ndb_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

func TestFilter_OfBits_ComparesNumbers(t *testing.T) {
	cluster := ndbtest.Run(t)
	cluster.MustCreateTable("CREATE TABLE d.bits (id INT NOT NULL PRIMARY KEY, few BIT(9) NULL, many BIT(40) NULL)")
	client, err := ndb.Connect(t.Context(), ndb.Config{Connectstring: cluster.Connectstring()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	table, err := client.Table(t.Context(), "d", "bits")
	if err != nil {
		t.Fatal(err)
	}
	id, few, many := columnOf(t, table, "id"), columnOf(t, table, "few"), columnOf(t, table, "many")
	for n := range int64(8) {
		v := table.NewValues().Int64(id, n)
		if n > 0 {
			v.Int64(few, n*64-1).Int64(many, n<<36|1)
		}
		if _, err := client.Insert(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		filter ndb.Filter
		want   int64
	}{
		"equal":             {ndb.Eq(few, 255), 1},
		"other":             {ndb.Ne(few, 255), 6},
		"below":             {ndb.Lt(few, 256), 4},
		"at least":          {ndb.Ge(few, 255), 4},
		"not above":         {ndb.Not(ndb.Gt(few, 127)), 2},
		"equal, many bits":  {ndb.Eq(many, int64(5)<<36|1), 1},
		"other, many bits":  {ndb.Ne(many, 1), 7},
		"nothing compares":  {ndb.Eq(few, nil), 0},
		"not of what is so": {ndb.Not(ndb.Eq(many, int64(5)<<36|1)), 6},
	} {
		if got, err := client.Count(t.Context(), ndb.Scan{Table: table, Filter: test.filter}); err != nil || got != test.want {
			t.Errorf("%s: got %d rows, %v, want %d", name, got, err, test.want)
		}
	}
}
