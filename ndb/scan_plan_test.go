package ndb

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// people is the table of the captures: the messages in these tests are what a
// client sent to a cluster of version 9.7.2.
func peopleTable() *Table {
	varchar := func(name string, id uint16, bytes uint32, nullable bool) dictinfo.Column {
		return dictinfo.Column{
			Name: name, ID: id, Type: dictinfo.TypeVarchar, ElementBitsLog2: 3, Elements: bytes + 1, ArrayType: dictinfo.ArrayShortVar,
			Length: bytes, Nullable: nullable, Charset: row.CollationUTF8MB40900AICI,
		}
	}
	number := func(name string, id uint16, t dictinfo.Type, log2 uint8) dictinfo.Column {
		return dictinfo.Column{Name: name, ID: id, Type: t, ElementBitsLog2: log2, Elements: 1, Length: 1, Nullable: id > 0, Key: id == 0, DistributionKey: id == 0}
	}
	def := newDefinition(0, &dictinfo.Table{
		Name: "d/def/emp", ID: 4, Version: 2, Type: dictinfo.ObjectUserTable,
		Columns: []dictinfo.Column{
			number("id", 0, dictinfo.TypeUnsigned, 5), varchar("first", 1, 200, false), varchar("last", 2, 200, true),
			number("department", 3, dictinfo.TypeInt, 5), number("salary", 4, dictinfo.TypeBigint, 6),
			{Name: "flags", ID: 5, Type: dictinfo.TypeBit, ElementBitsLog2: 0, Elements: 5, Length: 5, Nullable: true},
			{Name: "bits", ID: 7, Type: dictinfo.TypeBit, Elements: 33, Length: 33, Nullable: true},
			{Name: "notes", ID: 6, Type: dictinfo.TypeText, ElementBitsLog2: 3, Elements: 272, Nullable: true},
		},
		Fragments: make([][]signal.NodeID, 2),
	}, nil)
	for name, x := range map[string]*Index{
		"ix_last":      {Columns: def.columns[2:3], id: 8, version: 1},
		"ix_dept_last": {Columns: []*Column{def.columns[3], def.columns[2]}, id: 9, version: 1},
		"ix_flags":     {Columns: def.columns[5:6], id: 10, version: 1},
		"ux_first":     {Columns: def.columns[1:2], id: 11, version: 1, Unique: true},
	} {
		x.Name = name
		def.indexes[name] = x
	}
	t := &Table{database: "d", name: "emp", internal: "d/def/emp"}
	t.def.Store(def)
	return t
}

func TestScanPlan_GoldenMessages(t *testing.T) {
	table := peopleTable()
	def := table.def.Load()
	last, department := def.byName["last"], def.byName["department"]
	columns, err := table.Select("last")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name             string
		scan             Scan
		info, id         uint32
		attrInfo, bounds []uint32
	}{
		{
			"filter",
			Scan{Filter: And(Eq(department, 3), Like(last, "S%"))},
			0x1002a00, 4,
			[]uint32{1, 8, 0, 0, 0, 0x20000, 0x71097, 0x30004, 3, 0x47097, 0x20002, 0x2553, 0x12, 0x2720013},
			nil,
		},
		{
			"index, equal",
			Scan{Index: def.indexes["ix_last"], Ranges: []Range{Exactly("Quixote")}},
			0x1008a00, 8,
			[]uint32{1, 0, 0, 0, 0, 0x20000},
			[]uint32{0x40004, 8, 0x69755107, 0x65746f78},
		},
		{
			"index, range, descending",
			Scan{
				Index: def.indexes["ix_last"], Ranges: []Range{{Low: []any{"Q"}, High: []any{"R"}, HighStrict: true}}, Order: Descending,
			},
			0x100ca00, 8,
			[]uint32{1, 0, 0, 0, 0, 0x20000},
			[]uint32{6 << 16, 2, 0x5101, 3, 2, 0x5201},
		},
		{
			"index of two columns",
			Scan{
				Index: def.indexes["ix_dept_last"], Ranges: []Range{{Low: []any{3, "Q"}, High: []any{3, "R"}, HighStrict: true}},
			},
			0x1008a00, 9,
			[]uint32{1, 0, 0, 0, 0, 0x20000},
			[]uint32{0x90004, 4, 3, 0, 0x10002, 0x5101, 3, 0x10002, 0x5201},
		},
	} {
		test.scan.Table, test.scan.Columns, test.scan.BatchRows = table, columns, 256
		p, err := newScanPlan(def, &test.scan, acceptAll)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		req := p.request()
		for range p.receivers {
			req.Receivers = append(req.Receivers, 4)
		}
		data := req.AppendTo(nil)
		if got := word.At(data, 2); got != test.info || word.At(data, 3) != test.id {
			t.Errorf("%s: got info %#x of %d, want %#x of %d", test.name, got, word.At(data, 3), test.info, test.id)
		}
		if want := word.Append(nil, test.attrInfo...); !slices.Equal(req.AttrInfo, want) {
			t.Errorf("%s: got ATTRINFO %x, want %x", test.name, req.AttrInfo, want)
		}
		if want := word.Append(nil, test.bounds...); !slices.Equal(req.Bounds, want) {
			t.Errorf("%s: got bounds %x, want %x", test.name, req.Bounds, want)
		}
	}
}

func TestScanPlan_Ranges(t *testing.T) {
	table := peopleTable()
	def := table.def.Load()
	for _, test := range []struct {
		name   string
		ranges []Range
		want   []uint32
	}{
		{"none", nil, nil},
		{"all", []Range{{}}, nil},
		{"NULL", []Range{Exactly(nil)}, []uint32{2<<16 | boundEqual, 0}},
		{"not NULL", []Range{{Low: []any{nil}, LowStrict: true}}, []uint32{2<<16 | boundLowStrict, 0}},
		{"strict on both sides", []Range{{Low: []any{3}, LowStrict: true, High: []any{3}, HighStrict: true}}, []uint32{6<<16 | boundLowStrict, 4, 3, boundHighStrict, 4, 3}},
		{"sides of different length", []Range{{Low: []any{3, ""}, High: []any{3}}}, []uint32{6<<16 | boundEqual, 4, 3, boundLow, 0x10001, 0}},
		{"no equal column behind one that is not", []Range{{Low: []any{3, "Q"}, High: []any{4, "Q"}}}, []uint32{12 << 16, 4, 3, boundHigh, 4, 4, boundLow, 0x10002, 0x5101, boundHigh, 0x10002, 0x5101}},
		{"two", []Range{Exactly(3), {High: []any{1}}}, []uint32{3<<16 | boundEqual, 4, 3, 3<<16 | 1<<4 | boundHigh, 4, 1}},
	} {
		got, err := appendRanges(nil, def.indexes["ix_dept_last"], test.ranges)
		if want := word.Append(nil, test.want...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", test.name, got, err, want)
		}
	}
}

// Nothing that a data node would misread gets further than here.
func TestScanPlan_RefusesWhatMakesNoSense(t *testing.T) {
	table, other := peopleTable(), peopleTable()
	def := table.def.Load()
	foreign := *other.def.Load().byName["last"]
	foreign.Name = "other"
	c := func(name string) *Column { return def.byName[name] }
	long := strings.Repeat("x", 201)
	index := def.indexes["ix_dept_last"]
	stale, err := other.Select("last")
	if err != nil {
		t.Fatal(err)
	}
	stale.def.columns[2].Name = "renamed"
	for name, scan := range map[string]Scan{
		"range without index":       {Ranges: []Range{Exactly(1)}},
		"order without index":       {Order: Ascending},
		"unique index":              {Index: def.indexes["ux_first"]},
		"index of another table":    {Index: &Index{Name: "ix_else"}},
		"columns of another table":  {Columns: stale},
		"negative limit":            {Limit: -1},
		"too many rows":             {BatchRows: 993},
		"too many fragments":        {Parallel: 1024},
		"no such order":             {Index: index, Order: 3},
		"too many values":           {Index: index, Ranges: []Range{Exactly(1, "x", 2)}},
		"bound of another type":     {Index: index, Ranges: []Range{Exactly("x")}},
		"bound out of range":        {Index: index, Ranges: []Range{Exactly(1 << 40)}},
		"bound too long":            {Index: index, Ranges: []Range{Exactly(1, long)}},
		"bound not UTF-8":           {Index: index, Ranges: []Range{Exactly(1, "\xff")}},
		"bound of BIT":              {Index: def.indexes["ix_flags"], Ranges: []Range{Exactly(1)}},
		"open range among others":   {Index: index, Ranges: []Range{Exactly(1), {}}},
		"too many ranges":           {Index: index, Ranges: slices.Repeat([]Range{Exactly(1)}, maxRanges+1)},
		"more ranges than fit":      {Index: index, Ranges: slices.Repeat([]Range{Exactly(1, "x")}, maxRanges)},
		"filter is nil":             {Filter: And(nil)},
		"not nil":                   {Filter: Not(nil)},
		"column is nil":             {Filter: IsNull(nil)},
		"column of another table":   {Filter: IsNull(&foreign)},
		"constant too long":         {Filter: Eq(c("last"), long)},
		"constant not UTF-8":        {Filter: Eq(c("last"), "\xff")},
		"constant of another type":  {Filter: Or(Eq(c("department"), 1), Not(Gt(c("department"), "x")))},
		"constant out of range":     {Filter: Lt(c("department"), 1<<40)},
		"LIKE of a number":          {Filter: Like(c("department"), "1%")},
		"pattern of BIT":            {Filter: Like(c("flags"), "1")},
		"too many bits":             {Filter: Eq(c("flags"), 32)},
		"order of many BITs":        {Filter: Lt(c("bits"), 1)},
		"comparison of TEXT":        {Filter: Eq(c("notes"), "x")},
		"null test of TEXT":         {Filter: IsNull(c("notes"))},
		"filter longer than a scan": {Filter: Or(slices.Repeat([]Filter{Like(c("last"), long)}, 200)...)},
	} {
		scan.Table = table
		if _, err := newScanPlan(def, &scan, acceptAll); err == nil {
			t.Errorf("%s: no error", name)
		} else if e := (*Error)(nil); errors.As(err, &e) {
			t.Errorf("%s: got %v, want an error of the call, not of the cluster", name, err)
		}
	}
}

func TestScanPlan_OrderReadsWhatItNeeds(t *testing.T) {
	table := peopleTable()
	def := table.def.Load()
	columns, err := table.Select("salary", "department")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		ranges []Range
		want   []string
		order  []int
	}{
		{nil, []string{"salary", "department", "last"}, []int{1, 2}},
		{[]Range{Exactly(3)}, []string{"salary", "department", "last"}, []int{2}},
		{[]Range{Exactly(3, "x")}, []string{"salary", "department"}, nil},
		{[]Range{Exactly(3), Exactly(4)}, []string{"salary", "department", "last"}, []int{1, 2}},
	} {
		p, err := newScanPlan(def, &Scan{Table: table, Columns: columns, Index: def.indexes["ix_dept_last"], Ranges: test.ranges, Order: Ascending}, acceptAll)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range p.columns.columns {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, test.want) || !slices.Equal(p.order, test.order) {
			t.Errorf("got %q by %v, want %q by %v", got, p.order, test.want, test.order)
		}
	}
}

func TestFilter_EmptyPattern_MatchesEmptyText(t *testing.T) {
	table := peopleTable()
	def := table.def.Load()
	for _, test := range []struct{ empty, same Filter }{
		{Like(def.byName["last"], ""), NotLike(def.byName["last"], "_%")},
		{NotLike(def.byName["last"], ""), Like(def.byName["last"], "_%")},
	} {
		got, err := scanProgram(def, test.empty, acceptAll, true)
		want, err2 := scanProgram(def, test.same, acceptAll, true)
		if err != nil || err2 != nil || !slices.Equal(got, want) {
			t.Errorf("got %x, %v, %v, want %x", got, err, err2, want)
		}
	}
}
