package dictinfo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// readHex reads a description as a data node of 9.7.2 sent it.
func readHex(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func varchar(name string, id uint16) Column {
	return Column{
		Name: name, ID: id, Type: TypeVarchar, ElementBitsLog2: 3, Elements: 193, ArrayType: ArrayShortVar, Length: 192,
		Nullable: true, Charset: 33,
	}
}

func date(name string, id uint16) Column {
	return Column{Name: name, ID: id, Type: TypeDate, ElementBitsLog2: 3, Elements: 3, Length: 1, Nullable: true}
}

// employee is testdata/table-employee.hex.
func employee() *Table {
	return &Table{
		Name: "ndbtest/def/employee", ID: 7, Version: 1, Type: ObjectUserTable, KeyWords: 2,
		Columns: []Column{
			{Name: "id", ID: 0, Type: TypeBigint, ElementBitsLog2: 6, Elements: 1, Length: 1, Key: true, DistributionKey: true},
			varchar("first", 1), varchar("last", 2), varchar("municipality", 3),
			date("started", 4), date("ended", 5),
			{
				Name: "department", ID: 6, Type: TypeInt, ElementBitsLog2: 5, Elements: 1, Length: 1,
				Default: []byte{1, 0, 0, 0},
			},
		},
		FragmentType: FragmentHashMap, PartitionBalance: 0xfffffffe,
		Fragments: [][]signal.NodeID{{2, 3}, {3, 2}},
		HashMapID: 1, HashMapVersion: 1,
		Logged: true, RowGCI: true, RowChecksum: true,
	}
}

// municipalityIndex is testdata/index-municipality.hex.
func municipalityIndex() *Table {
	column := varchar("municipality", 0)
	return &Table{
		Name: "sys/def/7/idx_municipality", ID: 8, Version: 1, Type: ObjectOrderedIndex, KeyWords: 64,
		Columns: []Column{
			column,
			{
				Name: "NDB$TNODE", ID: 1, Type: TypeUnsigned, ElementBitsLog2: 5, Elements: 64, Length: 64,
				Key: true, DistributionKey: true,
			},
		},
		FragmentType: FragmentOrderedIndex, PartitionBalance: 0xfffffffe,
		Fragments: [][]signal.NodeID{{2, 3}, {3, 2}},
		HashMapID: NoHashMap,
		BaseName:  "ndbtest/def/employee", BaseID: 7, IndexState: IndexOnline,
		SingleUserMode: SingleUserReadWrite, RowGCI: true, RowChecksum: true,
	}
}

func TestDecode_Golden(t *testing.T) {
	for _, test := range []struct {
		file string
		want *Table
	}{
		{"table-employee.hex", employee()},
		{"index-municipality.hex", municipalityIndex()},
	} {
		got, err := Decode(readHex(t, test.file))
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", test.file, got, test.want)
		}
	}
}

// What AppendTo writes are items of the data node's stream, apart from the
// distribution key's flag, which Decode fills in.
func TestAppendTo_WritesTheItemsOfTheDataNode(t *testing.T) {
	for _, file := range []string{"table-employee.hex", "index-municipality.hex"} {
		original := readHex(t, file)
		table, err := Decode(original)
		if err != nil {
			t.Fatal(err)
		}
		for i := range table.Columns {
			table.Columns[i].DistributionKey = false
			if table.Columns[i].Default == nil && table.Type == ObjectOrderedIndex {
				original = bytes.ReplaceAll(original, // an index has defaults of no bytes, not of NULL
					[]byte{0, 0, 3, 0xfc, 0, 0, 0, 0, 0, 2, 3, 0xfd, 0, 0, 0, 0},
					[]byte{0, 0, 3, 0xfc, 0, 0, 0, 4, 0, 2, 3, 0xfd, 0, 0, 0, 4, 0, 0, 0, 0})
			}
		}
		items := func(src []byte) map[string]int {
			seen := map[string]int{}
			for len(src) > 0 {
				_, rest, err := nextProperty(src)
				if err != nil {
					t.Fatal(err)
				}
				seen[string(src[:len(src)-len(rest)])]++
				src = rest
			}
			return seen
		}
		want := items(original)
		for item, n := range items(table.AppendTo(nil)) {
			if want[item] < n {
				t.Errorf("%s: %d times %x, want %d", file, n, item, want[item])
			}
		}
	}
}

func TestAppendTo_DecodesToTheSame(t *testing.T) {
	unique := employee()
	unique.Type, unique.BaseName, unique.BaseID, unique.IndexState = ObjectUniqueIndex, "d/def/t", 4, IndexOnline
	disk := employee()
	disk.Columns[6].Disk, disk.Columns[6].Dynamic, disk.ReadBackup, disk.FullyReplicated = true, true, true, true
	disk.Columns = append(disk.Columns, Column{
		Name: "price", ID: 7, Type: TypeDecimal, ElementBitsLog2: 3, Elements: 5, Length: 1, Precision: 10, Scale: 2, AutoIncrement: true,
	})
	for _, want := range []*Table{employee(), municipalityIndex(), unique, disk} {
		src := want.AppendTo(nil)
		got, err := Decode(src)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		clear(src)
		if !reflect.DeepEqual(got, want) {
			t.Error("the table shares memory with what it was decoded from")
		}
	}
}

func TestDecode_EveryPrefixIsAnError(t *testing.T) {
	for _, file := range []string{"table-employee.hex", "index-municipality.hex"} {
		src := readHex(t, file)
		for n := range src {
			if _, err := Decode(src[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("%s: %d of %d bytes: %v", file, n, len(src), err)
			}
		}
	}
}

func TestDecode_MissingPropertiesHaveDefaults(t *testing.T) {
	src := appendString(nil, keyName, "d/def/t")
	src = appendWord(src, keyType, uint32(ObjectUserTable))
	src = appendWord(src, 77777&propertyKeyMask, 5) // unknown
	src = appendString(src, keyColumnName, "a")
	src = appendWord(src, keyColumnType, uint32(TypeInt))
	src = appendWord(src, keyEndOfColumn, 1)
	src = appendWord(src, keyEndOfTable, 1)
	got, err := Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	want := &Table{
		Name: "d/def/t", Type: ObjectUserTable, HashMapID: NoHashMap,
		Columns: []Column{{Name: "a", Type: TypeInt, ElementBitsLog2: 5, Elements: 1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestDecode_SortsColumnsByID(t *testing.T) {
	table := employee()
	table.Columns[1], table.Columns[2] = table.Columns[2], table.Columns[1]
	got, err := Decode(table.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, employee()) {
		t.Errorf("got %+v", got)
	}
}

func TestDecode_RefusesWhatNoRequestCanBeBuiltOn(t *testing.T) {
	for name, change := range map[string]func(*Table){
		"no name":              func(t *Table) { t.Name = "" },
		"no type":              func(t *Table) { t.Type = 0 },
		"gap in ids":           func(t *Table) { t.Columns[6].ID = 9 },
		"same id":              func(t *Table) { t.Columns[6].ID = 5 },
		"same name":            func(t *Table) { t.Columns[6].Name = "last" },
		"nameless column":      func(t *Table) { t.Columns[6].Name = "" },
		"column without type":  func(t *Table) { t.Columns[6].Type = 0 },
		"no elements":          func(t *Table) { t.Columns[6].Elements = 0 },
		"endless elements":     func(t *Table) { t.Columns[6].Elements = 1 << 31 },
		"wide elements":        func(t *Table) { t.Columns[6].ElementBitsLog2 = 8 },
		"odd length bytes":     func(t *Table) { t.Columns[6].ArrayType = 4 },
		"no room for length":   func(t *Table) { t.Columns[1].ArrayType, t.Columns[1].Elements = ArrayMediumVar, 1 },
		"long default":         func(t *Table) { t.Columns[6].Default = make([]byte, 5) },
		"no replica":           func(t *Table) { t.Fragments = [][]signal.NodeID{{}} },
		"too many columns":     func(t *Table) { t.Columns = make([]Column, 600) },
		"differing fragments":  func(t *Table) { t.Fragments[0] = t.Fragments[0][:1] },
		"string without a NUL": nil,
		"trailing bytes":       nil,
		"wrong column count":   nil,
	} {
		table := employee()
		var src []byte
		switch name {
		case "string without a NUL":
			src = bytes.Replace(table.AppendTo(nil), []byte("employee\x00"), []byte("employee!"), 1)
		case "trailing bytes":
			src = append(table.AppendTo(nil), 0)
		case "wrong column count":
			src = bytes.Replace(table.AppendTo(nil), appendWord(nil, keyNumColumns, 7), appendWord(nil, keyNumColumns, 8), 1)
		default:
			change(table)
			src = table.AppendTo(nil)
		}
		if _, err := Decode(src); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDecodeHashMap(t *testing.T) {
	src := readHex(t, "hashmap-3840.hex")
	m, err := DecodeHashMap(src)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "DEFAULT-HASHMAP-3840-2" || m.ID != 1 || m.Version != 1 || len(m.Buckets) != 3840 {
		t.Errorf("got %q, id %d, version %d, %d buckets", m.Name, m.ID, m.Version, len(m.Buckets))
	}
	if got := m.Fragment(3841); got != 1 {
		t.Errorf("fragment of bucket 1: got %d, want 1", got)
	}
	again, err := DecodeHashMap(m.AppendTo(nil))
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("got %+v, %v", again, err)
	}
	for n := range src {
		if _, err := DecodeHashMap(src[:n]); !errors.Is(err, ErrMalformed) && n%8 != 0 {
			t.Fatalf("%d of %d bytes: %v", n, len(src), err)
		}
	}
}

func TestNames(t *testing.T) {
	name, err := TableName("ndbtest", "employee")
	if err != nil || name != "ndbtest/def/employee" {
		t.Errorf("got %q, %v", name, err)
	}
	database, table, err := SplitTableName(name)
	if err != nil || database != "ndbtest" || table != "employee" {
		t.Errorf("got %q, %q, %v", database, table, err)
	}
	name, err = UniqueIndexName(7, "ux_email")
	if err != nil || name != "sys/def/7/ux_email$unique" {
		t.Errorf("got %q, %v", name, err)
	}
	id, index, err := SplitIndexName(name)
	if err != nil || id != 7 || TrimUnique(index) != "ux_email" {
		t.Errorf("got %d, %q, %v", id, index, err)
	}
	for _, bad := range []string{"", "a/b", "a\x00b", strings.Repeat("x", 128)} {
		if _, err := TableName("d", bad); err == nil {
			t.Errorf("table %q is taken", bad)
		}
		if _, err := IndexName(7, bad); err == nil {
			t.Errorf("index %q is taken", bad)
		}
	}
	for _, bad := range []string{"", "a/b/c", "sys/def/7/x", "d/def/", "/def/t", "d/def/t/u"} {
		if _, _, err := SplitTableName(bad); err == nil {
			t.Errorf("%q is split as a table", bad)
		}
	}
	for _, bad := range []string{"", "d/def/t", "sys/def/x/y", "sys/def/-1/y", "sys/def/1/", "d/def/1/y"} {
		if _, _, err := SplitIndexName(bad); err == nil {
			t.Errorf("%q is split as an index", bad)
		}
	}
}

func TestColumn_Sizes(t *testing.T) {
	for _, test := range []struct {
		column                 Column
		sizeBytes, lengthBytes int
		fixed                  bool
	}{
		{employee().Columns[0], 8, 0, true},
		{employee().Columns[1], 193, 1, false},
		{employee().Columns[4], 3, 0, true},
		{Column{Type: TypeBit, Elements: 9}, 4, 0, true},
		{Column{Type: TypeBit, Elements: 33}, 8, 0, true},
		{Column{Type: TypeUnsigned, ElementBitsLog2: 5, Elements: 9, ArrayType: ArrayPlainVar}, 36, 0, false},
		{Column{Type: TypeLongvarchar, ElementBitsLog2: 3, Elements: 802, ArrayType: ArrayMediumVar}, 802, 2, false},
	} {
		c := &test.column
		if c.SizeBytes() != test.sizeBytes || c.LengthBytes() != test.lengthBytes || c.Fixed() != test.fixed {
			t.Errorf("%v: got %d, %d, %v; want %d, %d, %v", c.Type,
				c.SizeBytes(), c.LengthBytes(), c.Fixed(), test.sizeBytes, test.lengthBytes, test.fixed)
		}
	}
}

func TestTable_Columns(t *testing.T) {
	if got := names(municipalityIndex().IndexColumns()); got != "municipality" {
		t.Errorf("index columns: got %s", got)
	}
	if got := names(employee().KeyColumns()); got != "id" {
		t.Errorf("key columns: got %s", got)
	}
	if got := names(employee().DistributionColumns()); got != "id" {
		t.Errorf("distribution columns: got %s", got)
	}
	if got := employee().ColumnByName("last"); got == nil || got.ID != 2 {
		t.Errorf("got %+v", got)
	}
	if got := employee().ColumnByName("Last"); got != nil {
		t.Errorf("got %+v", got)
	}
}

// The index of a mysqld's CREATE TABLE ux1 (a INT, b VARCHAR(20) NOT NULL, c INT
// NOT NULL, d INT, PRIMARY KEY (c, a), UNIQUE KEY u1 (b, d), KEY k (d, b)).
func TestDecode_TablesOfMySQL(t *testing.T) {
	for _, test := range []struct {
		file      string
		kind      ObjectType
		key       string
		index     string
		base      string
		primaryOn signal.NodeID // of fragment 1
	}{
		{"table-ux1.hex", ObjectUserTable, "a,c", "a,b,c,d", "", 3},
		{"index-unique.hex", ObjectUniqueIndex, "b,d", "b,d", "zzrow/def/ux1", 3},
		{"index-unique-reordered.hex", ObjectUniqueIndex, "b,d", "b,d", "zzrow/def/m1", 3}, // UNIQUE KEY (d, b)
		{"index-ordered2.hex", ObjectOrderedIndex, "NDB$TNODE", "d,b", "zzrow/def/ux1", 3},
	} {
		table, err := Decode(readHex(t, test.file))
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		key, index := names(table.KeyColumns()), names(table.IndexColumns())
		if table.Type != test.kind || key != test.key || index != test.index || table.BaseName != test.base ||
			len(table.Fragments) != 2 || table.Fragments[1][0] != test.primaryOn || key != names(table.DistributionColumns()) {
			t.Errorf("%s: got %+v, key %s, index %s", test.file, table, key, index)
		}
		if table.IsIndex() != (test.base != "") || table.IsIndex() && table.IndexState != IndexOnline {
			t.Errorf("%s: got index %v in state %d", test.file, table.IsIndex(), table.IndexState)
		}
		if test.kind != ObjectOrderedIndex && (!table.ReadBackup || table.HashMapID != 1) {
			t.Errorf("%s: got %+v", test.file, table)
		}
		again, err := Decode(table.AppendTo(nil))
		if err != nil || !reflect.DeepEqual(again, table) {
			t.Errorf("%s: got %+v, %v", test.file, again, err)
		}
	}
}

func names(columns []*Column) string {
	var all []string
	for _, c := range columns {
		all = append(all, c.Name)
	}
	return strings.Join(all, ",")
}

func FuzzDecode(f *testing.F) {
	f.Add(readHex(f, "table-employee.hex"))
	f.Add(readHex(f, "index-municipality.hex"))
	f.Fuzz(func(t *testing.T, src []byte) {
		first, err := Decode(src)
		if err != nil {
			return
		}
		second, err := Decode(first.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first, second) {
			t.Errorf("got %+v\nwant %+v", second, first)
		}
	})
}

func FuzzDecodeHashMap(f *testing.F) {
	f.Add(readHex(f, "hashmap-3840.hex"))
	f.Add((&HashMap{Name: "m", Buckets: []uint16{0, 1}}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		first, err := DecodeHashMap(src)
		if err != nil {
			return
		}
		second, err := DecodeHashMap(first.AppendTo(nil))
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("got %+v, %v\nwant %+v", second, err, first)
		}
	})
}

func TestStrings(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{TypeBigunsigned.String(), "Bigunsigned"},
		{Type(99).String(), "Type(99)"},
		{ObjectUniqueIndex.String(), "unique index"},
		{ObjectType(18).String(), "object type 18"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	if !TypeText.IsBlob() || TypeVarbinary.IsBlob() || !TypeChar.HasCharset() || TypeBinary.HasCharset() {
		t.Error("wrong kinds of types")
	}
	if got := MajorVersion(0x1000004); got != 4 {
		t.Errorf("got major version %d, want 4", got)
	}
}
