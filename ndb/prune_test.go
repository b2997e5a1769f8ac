package ndb

import (
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// twoFragments is a table with the key (a, f), the distribution key a, and an
// index over both columns in turn.
func twoFragments(distribution dictinfo.Column) *definition {
	distribution.Name, distribution.Key, distribution.DistributionKey = "a", true, true
	hashMap := &dictinfo.HashMap{Buckets: make([]uint16, 3840)}
	for i := range hashMap.Buckets {
		hashMap.Buckets[i] = uint16(i % 2)
	}
	def := newDefinition(0, &dictinfo.Table{
		Name: "d/def/two", ID: 4, Version: 2, Type: dictinfo.ObjectUserTable, FragmentType: dictinfo.FragmentHashMap,
		Columns: []dictinfo.Column{
			distribution,
			{Name: "b", ID: 1, Type: dictinfo.TypeInt, ElementBitsLog2: 5, Elements: 1, Length: 1, Key: true},
		},
		Fragments: [][]signal.NodeID{{2, 3}, {3, 2}},
	}, hashMap)
	def.indexes["ab"] = &Index{Name: "ab", Columns: def.columns, id: 8, version: 1}
	def.indexes["ba"] = &Index{Name: "ba", Columns: []*Column{def.columns[1], def.columns[0]}, id: 9, version: 1}
	def.indexes["b"] = &Index{Name: "b", Columns: def.columns[1:], id: 10, version: 1}
	return def
}

func TestScanPlan_RangeOfOneDistributionKey_ReadsOneFragment(t *testing.T) {
	number := dictinfo.Column{Type: dictinfo.TypeInt, ElementBitsLog2: 5, Elements: 1, Length: 1}
	double := dictinfo.Column{Type: dictinfo.TypeDouble, ElementBitsLog2: 6, Elements: 1, Length: 1}
	for _, test := range []struct {
		name   string
		column dictinfo.Column
		index  string
		ranges []Range
		change func(*definition)
		pruned bool
	}{
		{"one value", number, "ab", []Range{Exactly(5)}, nil, true},
		{"one value, and more", number, "ab", []Range{{Low: []any{5, 1}, High: []any{5}}}, nil, true},
		{"behind another", number, "ba", []Range{Exactly(1, 5)}, nil, true},
		{"all of the index", number, "ab", nil, nil, false},
		{"open above", number, "ab", []Range{{Low: []any{5}}}, nil, false},
		{"several values", number, "ab", []Range{{Low: []any{5}, High: []any{6}}}, nil, false},
		{"strict", number, "ab", []Range{{Low: []any{5}, High: []any{5}, HighStrict: true}}, nil, false},
		{"behind one that is open", number, "ba", []Range{{Low: []any{1, 5}, High: []any{2, 5}}}, nil, false},
		{"of another column", number, "b", []Range{Exactly(5)}, nil, false},
		{"several ranges", number, "ab", []Range{Exactly(5), Exactly(5)}, nil, false},
		{"0 and -0 are equal", double, "ab", []Range{Exactly(0.0)}, nil, false},
		{"rows everywhere", number, "ab", []Range{Exactly(5)}, func(d *definition) { d.info.FullyReplicated = true }, false},
		{"no hash map", number, "ab", []Range{Exactly(5)}, func(d *definition) { d.hashMap = nil }, false},
	} {
		def := twoFragments(test.column)
		if test.change != nil {
			test.change(def)
		}
		scan := &Scan{Index: def.indexes[test.index], Ranges: test.ranges, Order: Ascending}
		p, err := newScanPlan(def, scan, acceptAll)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		hash, pruned := p.target.Partition()
		if pruned != test.pruned || (p.receivers == 1) != pruned || pruned && len(p.order) > 0 {
			t.Errorf("%s: got pruned %t, %d receivers, order %v, want pruned %t", test.name, pruned, p.receivers, p.order, test.pruned)
		}
		if !pruned {
			continue
		}
		want, _ := def.hasher.Hash(word.Append(nil, 5, 77))
		if hash != want || len(p.preferred) != 2 || p.preferred[0] != def.info.Fragments[want%3840%2][0] {
			t.Errorf("%s: got hash %#x at %v, want %#x", test.name, hash, p.preferred, want)
		}
	}
}
