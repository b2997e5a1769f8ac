package row

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Each list is in the order of the data nodes, with equal values in one group.
func TestCompare_OrdersAsTheDataNodes(t *testing.T) {
	latin1 := varColumn("latin1", dictinfo.TypeVarchar, 20, CollationLatin1SwedishCI)
	bin := varColumn("bin", dictinfo.TypeVarchar, 80, CollationUTF8MB4Bin)
	general := varColumn("general", dictinfo.TypeVarchar, 80, CollationUTF8MB3GeneralCI)
	general4 := varColumn("general4", dictinfo.TypeVarchar, 80, CollationUTF8MB4GeneralCI)
	uca9 := varColumn("uca9", dictinfo.TypeVarchar, 80, CollationUTF8MB40900AICI)
	uca4 := varColumn("uca4", dictinfo.TypeLongvarchar, 400, CollationUTF8MB4UnicodeCI)
	noPadBin := varColumn("nopadbin", dictinfo.TypeVarchar, 80, CollationUTF8MB40900Bin)
	for _, test := range []struct {
		column dictinfo.Column
		groups [][]any
	}{
		{integerColumn("tiny", dictinfo.TypeTinyint), [][]any{{-128}, {-1}, {0}, {1}, {127}}},
		{integerColumn("medium", dictinfo.TypeMediumint), [][]any{{-8388608}, {-256}, {-1}, {0}, {255}, {256}}},
		{integerColumn("big", dictinfo.TypeBigint), [][]any{{math.MinInt64}, {-1}, {0}, {math.MaxInt64}}},
		{integerColumn("bigunsigned", dictinfo.TypeBigunsigned), [][]any{{0}, {1}, {uint64(math.MaxUint64)}}},
		{column("float", dictinfo.TypeFloat, 5, 1), [][]any{{-2.5}, {math.Copysign(0, -1), 0.0}, {1e10}}},
		{column("double", dictinfo.TypeDouble, 6, 1), [][]any{{-2.5}, {-2.25}, {0.1}, {1e300}}},
		{decimalColumn("dec", 20, 6), [][]any{{"-12"}, {"-1.5"}, {"-0.000001"}, {"0"}, {"0.1"}, {"12345678901234"}}},
		{column("date", dictinfo.TypeDate, 3, 3), [][]any{{Date{}}, {"1999-12-31"}, {"2000-01-01"}, {"2000-02-01"}}},
		{bitColumn("bit", 40), [][]any{{0}, {1 << 33}, {3 << 32}, {1}, {1<<33 + 1}, {255}, {256}}},
		{column("year", dictinfo.TypeYear, 3, 1), [][]any{{0}, {1901}, {2155}}},
		{temporalColumn("time", dictinfo.TypeTime2, 3), [][]any{{-MaxTime}, {-time.Second}, {-time.Millisecond}, {time.Duration(0)}, {time.Hour}}},
		{
			temporalColumn("datetime", dictinfo.TypeDatetime2, 1),
			[][]any{{"0000-00-00 00:00:00"}, {"2000-01-01 00:00:00"}, {"2000-01-01 00:00:00.1"}},
		},
		{varColumn("varbinary", dictinfo.TypeVarbinary, 9, 0), [][]any{{""}, {"\x00"}, {"A"}, {"A "}, {"a"}, {"\xff"}}},
		{latin1, [][]any{{"", "  "}, {"a\t"}, {"a", "A ", "á"}, {"Z"}, {"å", "Å"}, {"ä"}, {"ö"}}},
		{bin, [][]any{{"A\t"}, {"A", "A  "}, {"a"}, {"é"}, {"€"}, {"𝄞"}}},
		{noPadBin, [][]any{{""}, {"A"}, {"A "}, {"a"}, {"é"}}},
		{general, [][]any{{"", " "}, {"a", "A ", "á", "Å"}, {"aB"}, {"a_"}, {"b"}, {"é", "e", "Ë"}, {"s", "ß"}, {"æ"}, {"ø"}, {"σ", "ς"}, {"я", "Я"}, {"€"}, {"￿"}}},
		{general4, [][]any{{"a", "á"}, {"€"}, {"😀", "𝄞", "�"}, {"￿"}}},
		{uca9, [][]any{{""}, {" "}, {"_"}, {"-"}, {"`"}, {"$"}, {"0"}, {"a", "A"}, {"a "}, {"Ab"}, {"z"}}},
		{uca4, [][]any{{"", " "}, {"`"}, {"_"}, {"-"}, {"$"}, {"9"}, {"a", "A "}, {"ab", "aB"}, {"z"}}},
		{fixedColumn("char", dictinfo.TypeChar, 20, CollationUTF8MB3GeneralCI), [][]any{{"a"}, {"B", "b"}, {"c"}}},
	} {
		var values [][]byte
		var group []int
		for g, list := range test.groups {
			for _, v := range list {
				b, err := AppendValue(nil, FormBare, &test.column, v)
				if err != nil {
					t.Fatalf("%s: %v: %v", test.column.Name, v, err)
				}
				values, group = append(values, Content(&test.column, b)), append(group, g)
			}
		}
		flat := slices.Concat(test.groups...)
		for i := range values {
			for j := range values {
				got, ok := Compare(&test.column, values[i], values[j])
				want := group[i] - group[j]
				if !ok || got < 0 != (want < 0) || got > 0 != (want > 0) {
					t.Errorf("%s: %q and %q: got %d, %v, want %d", test.column.Name, flat[i], flat[j], got, ok, want)
				}
			}
		}
	}
}

func TestCompare_SaysWhatItDoesNotKnow(t *testing.T) {
	for _, test := range []struct {
		column dictinfo.Column
		a, b   string
	}{
		{varColumn("general", dictinfo.TypeVarchar, 80, CollationUTF8MB3GeneralCI), "😀", "e"},
		{varColumn("general", dictinfo.TypeVarchar, 80, CollationUTF8MB4GeneralCI), "e", "\xff"},
		{varColumn("uca9", dictinfo.TypeVarchar, 80, CollationUTF8MB40900AICI), "a", "bé"},
		{varColumn("uca9", dictinfo.TypeVarchar, 80, CollationUTF8MB40900AICI), "", "a\x01"},
		{varColumn("uca9", dictinfo.TypeVarchar, 80, CollationUTF8MB40900AICI), "æ", "a"},
		{varColumn("czech", dictinfo.TypeVarchar, 80, 2), "a", "b"},
		{varColumn("unknown", dictinfo.TypeVarchar, 80, 9999), "a", "b"},
		{column("old", dictinfo.TypeTimeOld, 3, 3), "123", "124"},
		{integerColumn("int", dictinfo.TypeInt), "123", "124"},
	} {
		if got, ok := Compare(&test.column, []byte(test.a), []byte(test.b)); ok {
			t.Errorf("%s: %q and %q: got %d", test.column.Name, test.a, test.b, got)
		}
	}
}

func TestCompareSpans(t *testing.T) {
	columns := typesColumns()
	p, err := NewProjection(pointers(columns))
	if err != nil {
		t.Fatal(err)
	}
	packed, plain := golden(t)["readall_answer"], golden(t)["read_answer"]
	a, b := make([]Span, p.Len()), make([]Span, p.Len())
	_, err1 := p.Decode(packed, a)
	_, err2 := p.Decode(plain, b)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for i := range columns {
		got, ok := CompareSpans(&columns[i], packed, a[i], plain, b[i])
		if columns[i].Name == "char_10" {
			if ok {
				t.Error("the order of ë is known")
			}
			continue
		}
		if !ok || got != 0 {
			t.Errorf("%s: got %d, %v, want 0", columns[i].Name, got, ok)
		}
		null := Span{Null: true}
		if got, ok := CompareSpans(&columns[i], nil, null, plain, b[i]); !ok || got >= 0 {
			t.Errorf("%s: NULL: got %d, %v", columns[i].Name, got, ok)
		}
		if got, ok := CompareSpans(&columns[i], plain, b[i], nil, null); !ok || got <= 0 {
			t.Errorf("%s: NULL: got %d, %v", columns[i].Name, got, ok)
		}
		if got, ok := CompareSpans(&columns[i], nil, null, nil, null); !ok || got != 0 {
			t.Errorf("%s: NULLs: got %d, %v", columns[i].Name, got, ok)
		}
	}
}
