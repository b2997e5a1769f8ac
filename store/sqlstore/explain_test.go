package sqlstore

import (
	"reflect"
	"testing"

	"github.com/ndbgate/ndbgate/store"
)

// The lines are what a mysqld 9.7 answers for a table of NDB.
func TestPathOf(t *testing.T) {
	two := int64(2)
	for name, c := range map[string]struct {
		lines []line
		want  store.AccessPath
	}{
		"by primary key": {
			[]line{{"select_type": "SIMPLE", "table": "employee", "type": "eq_ref", "key": "PRIMARY", "ref": "const", "rows": "2", "filtered": "100"}},
			store.AccessPath{Access: store.AccessKey, Index: "PRIMARY", Order: store.OrderNone, Rows: &two, Notes: []string{"type eq_ref", "ref const", "filtered 100"}},
		},
		"by a value of an index": {
			[]line{{"select_type": "SIMPLE", "type": "ref", "key": "idx_municipality", "rows": "2", "Extra": "Using filesort"}},
			store.AccessPath{Access: store.AccessIndexRange, Index: "idx_municipality", Order: store.OrderSort, Rows: &two, Notes: []string{"type ref"}},
		},
		"a range from its end": {
			[]line{{
				"select_type": "SIMPLE", "type": "range", "key": "PRIMARY", "rows": "2",
				"Extra": "Using pushed condition (`ndbtest`.`employee`.`id` < 100); Backward index scan; Using MRR",
			}},
			store.AccessPath{
				Access: store.AccessIndexRange, Index: "PRIMARY", Descending: true, Filter: "(`ndbtest`.`employee`.`id` < 100)",
				Order: store.OrderIndex, Rows: &two, Notes: []string{"Using MRR", "type range"},
			},
		},
		"a condition with any text": {
			[]line{{"select_type": "SIMPLE", "type": "ALL", "Extra": "Using where; Using pushed condition (`e`.`first` = '; Using filesort)'); Using filesort"}},
			store.AccessPath{
				Access: store.AccessTableScan, Filter: "(`e`.`first` = '; Using filesort)')", Order: store.OrderSort, Notes: []string{"Using where", "type ALL"},
			},
		},
		"all of an index": {
			[]line{{"select_type": "SIMPLE", "type": "index", "key": "PRIMARY"}},
			store.AccessPath{Access: store.AccessIndexScan, Index: "PRIMARY", Order: store.OrderIndex, Notes: []string{"type index"}},
		},
		"the table": {
			[]line{{"select_type": "SIMPLE", "type": "ALL", "Extra": "Using where; Using filesort"}},
			store.AccessPath{Access: store.AccessTableScan, Order: store.OrderSort, Notes: []string{"Using where", "type ALL"}},
		},
		"nothing": {
			[]line{{"select_type": "SIMPLE", "Extra": "Impossible WHERE"}},
			store.AccessPath{Access: store.AccessNone, Order: store.OrderNone, Notes: []string{"Impossible WHERE"}},
		},
		"a type that is not known": {
			[]line{{"select_type": "SIMPLE", "type": "fulltext", "key": "x"}},
			store.AccessPath{Access: store.AccessOther, Index: "x", Order: store.OrderIndex, Notes: []string{"type fulltext"}},
		},
		"another form": {
			[]line{{"plan": "Limit(11)"}, {"plan": " └─ Table"}},
			store.AccessPath{Access: store.AccessOther, Order: store.OrderSort, Notes: []string{"Limit(11)", " └─ Table"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pathOf(c.lines); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}
