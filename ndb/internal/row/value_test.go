package row

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// roundTrip writes v in all forms and reads it back.
func roundTrip(t *testing.T, c dictinfo.Column, v any) any {
	t.Helper()
	c.ID = 5
	attr, err := AppendValue([]byte{9, 9, 9, 9}, FormAttr, &c, v)
	if err != nil {
		t.Errorf("%s: %v: %v", c.Name, v, err)
		return nil
	}
	p, err := NewProjection([]*dictinfo.Column{&c})
	if err != nil {
		t.Fatal(err)
	}
	var spans [1]Span
	rest, err := p.Decode(attr[4:], spans[:])
	if err != nil || len(rest) != 0 {
		t.Errorf("%s: %v: %v, %d bytes left", c.Name, v, err, len(rest))
		return nil
	}
	got, err := Value(&c, attr[4:], spans[0])
	if err != nil {
		t.Errorf("%s: %v: %v", c.Name, v, err)
	}
	if got == nil {
		return nil
	}
	_, value, _, _ := NextAttr(attr[4:])
	bare, err := AppendValue(nil, FormBare, &c, v)
	if err != nil || !bytes.Equal(bare, value) {
		t.Errorf("%s: %v: bare %x, %v, want %x", c.Name, v, bare, err, value)
	}
	key, err := AppendValue(nil, FormKey, &c, v)
	inKey, rest, err2 := NextKeyValue(key, &c)
	if err != nil || err2 != nil || len(rest) != 0 || !bytes.Equal(inKey, value) || len(key)%4 != 0 {
		t.Errorf("%s: %v: key %x, %v, %v, want %x", c.Name, v, key, err, err2, value)
	}
	return got
}

func TestValues_ComeBack(t *testing.T) {
	utf8mb3 := varColumn("utf8mb3", dictinfo.TypeVarchar, 192, CollationUTF8MB3GeneralCI)
	utf8mb4 := varColumn("utf8mb4", dictinfo.TypeLongvarchar, 400, CollationUTF8MB40900AICI)
	latin1 := varColumn("latin1", dictinfo.TypeVarchar, 64, CollationLatin1SwedishCI)
	greek := varColumn("greek", dictinfo.TypeVarchar, 64, 25)
	sameInstant := time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 3600))
	for _, test := range []struct {
		column dictinfo.Column
		value  any
		want   any // nil: the same
	}{
		{integerColumn("tiny", dictinfo.TypeTinyint), int64(-128), nil},
		{integerColumn("tiny", dictinfo.TypeTinyint), int8(127), int64(127)},
		{integerColumn("tinyunsigned", dictinfo.TypeTinyunsigned), uint64(255), nil},
		{integerColumn("tinyunsigned", dictinfo.TypeTinyunsigned), true, uint64(1)},
		{integerColumn("small", dictinfo.TypeSmallint), int16(-32768), int64(-32768)},
		{integerColumn("smallunsigned", dictinfo.TypeSmallunsigned), uint16(65535), uint64(65535)},
		{integerColumn("medium", dictinfo.TypeMediumint), int64(-8388608), nil},
		{integerColumn("medium", dictinfo.TypeMediumint), int64(8388607), nil},
		{integerColumn("mediumunsigned", dictinfo.TypeMediumunsigned), uint64(16777215), nil},
		{integerColumn("int", dictinfo.TypeInt), int32(math.MinInt32), int64(math.MinInt32)},
		{integerColumn("unsigned", dictinfo.TypeUnsigned), uint32(math.MaxUint32), uint64(math.MaxUint32)},
		{integerColumn("big", dictinfo.TypeBigint), int64(math.MinInt64), nil},
		{integerColumn("big", dictinfo.TypeBigint), math.MaxInt64, int64(math.MaxInt64)},
		{integerColumn("bigunsigned", dictinfo.TypeBigunsigned), uint64(math.MaxUint64), nil},
		{integerColumn("int", dictinfo.TypeInt), nil, nil},
		{column("float", dictinfo.TypeFloat, 5, 1), float32(-1.25), -1.25},
		{column("float", dictinfo.TypeFloat, 5, 1), 16777216, 16777216.0},
		{column("double", dictinfo.TypeDouble, 6, 1), math.MaxFloat64, nil},
		{column("double", dictinfo.TypeDouble, 6, 1), uint(1 << 53), 9007199254740992.0},
		{decimalColumn("dec", 10, 2), "0", "0.00"},
		{decimalColumn("dec", 10, 2), "-0.00", "0.00"},
		{decimalColumn("dec", 10, 2), "+00012.5000", "12.50"},
		{decimalColumn("dec", 10, 2), "99999999.99", nil},
		{decimalColumn("dec", 10, 2), "-99999999.99", nil},
		{decimalColumn("dec", 10, 2), ".5", "0.50"},
		{decimalColumn("dec", 10, 2), -3, "-3.00"},
		{decimalColumn("dec", 65, 30), strings.Repeat("9", 35) + "." + strings.Repeat("9", 30), nil},
		{decimalColumn("dec", 65, 30), "-0." + strings.Repeat("0", 29) + "1", nil},
		{decimalColumn("dec", 30, 30), "0." + strings.Repeat("1", 30), nil},
		{decimalColumn("dec", 65, 0), strings.Repeat("9", 65), nil},
		{decimalColumn("dec", 20, 6), "-0.000001", nil},
		{unsignedDecimalColumn("dec", 5, 2), uint64(999), "999.00"},
		{utf8mb3, "", nil},
		{utf8mb3, strings.Repeat("€", 64), nil},
		{utf8mb3, []byte("Åse"), "Åse"},
		{utf8mb4, "a€𝄞", nil},
		{utf8mb4, strings.Repeat("𝄞", 100), nil},
		{latin1, "Åse \u0081€œ ÿ", nil},
		{latin1, strings.Repeat("€", 64), nil},
		{greek, "plain", nil},
		{fixedColumn("char", dictinfo.TypeChar, 12, CollationUTF8MB3GeneralCI), "åäö ", "åäö"},
		{fixedColumn("binary", dictinfo.TypeBinary, 4, 0), []byte{1}, []byte{1, 0, 0, 0}},
		{varColumn("varbinary", dictinfo.TypeVarbinary, 255, 0), bytes.Repeat([]byte{0xff}, 255), nil},
		{varColumn("varbinary", dictinfo.TypeVarbinary, 255, 0), "", []byte{}},
		{varColumn("longvarbinary", dictinfo.TypeLongvarbinary, 14000, 0), bytes.Repeat([]byte{0}, 14000), nil},
		{column("date", dictinfo.TypeDate, 3, 3), Date{}, nil},
		{column("date", dictinfo.TypeDate, 3, 3), Date{2020, 2, 29}, nil},
		{column("date", dictinfo.TypeDate, 3, 3), "9999-12-31", Date{9999, 12, 31}},
		{column("date", dictinfo.TypeDate, 3, 3), sameInstant, Date{2026, 11, 30}},
		{column("year", dictinfo.TypeYear, 3, 1), 0, uint64(0)},
		{column("year", dictinfo.TypeYear, 3, 1), 1901, uint64(1901)},
		{column("year", dictinfo.TypeYear, 3, 1), 2155, uint64(2155)},
		{temporalColumn("time", dictinfo.TypeTime2, 0), -time.Second, nil},
		{temporalColumn("time", dictinfo.TypeTime2, 0), time.Duration(0), nil},
		{temporalColumn("time", dictinfo.TypeTime2, 1), "-838:59:59", -MaxTime},
		{temporalColumn("time", dictinfo.TypeTime2, 2), -10 * time.Millisecond, nil},
		{temporalColumn("time", dictinfo.TypeTime2, 6), -time.Microsecond, nil},
		{temporalColumn("time", dictinfo.TypeTime2, 6), "00:00:59.000001", 59*time.Second + time.Microsecond},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 5), "1000-01-01 00:00:00.00001", DateTime{Date: Date{1000, 1, 1}, Microsecond: 10}},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 0), DateTime{}, nil},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 0), sameInstant, DateTime{Date: Date{2026, 11, 30}, Hour: 12}},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 3), time.Unix(math.MaxInt32, 999_000_000).UTC(), nil},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 0), "0000-00-00 00:00:00", time.Time{}},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 0), sameInstant, sameInstant.UTC()},
		{bitColumn("bit", 1), 1, uint64(1)},
		{bitColumn("bit", 33), uint64(1<<33 - 1), nil},
		{bitColumn("bit", 64), uint64(math.MaxUint64), nil},
		{fixedColumn("enum", dictinfo.TypeChar, 1, CollationBinary), 3, uint64(3)},
		{fixedColumn("set", dictinfo.TypeChar, 8, CollationBinary), uint64(1 << 63), nil},
	} {
		want := test.want
		if want == nil {
			want = test.value
		}
		if got := roundTrip(t, test.column, test.value); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", test.column.Name, got, want)
		}
	}
}

func TestValues_Pointers(t *testing.T) {
	number, small, text, day := int64(-7), int32(7), "x", Date{2000, 1, 2}
	big := integerColumn("big", dictinfo.TypeBigint)
	words := varColumn("text", dictinfo.TypeVarchar, 10, CollationUTF8MB4Bin)
	date := column("date", dictinfo.TypeDate, 3, 3)
	for _, test := range []struct {
		column dictinfo.Column
		value  any
		want   any
	}{
		{big, &number, number},
		{big, &small, int64(7)},
		{words, &text, text},
		{date, &day, day},
		{big, (*int64)(nil), nil},
		{big, (*int32)(nil), nil},
		{words, (*string)(nil), nil},
		{words, []byte(nil), nil},
		{date, (*Date)(nil), nil},
	} {
		if got := roundTrip(t, test.column, test.value); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%T: got %#v, want %#v", test.value, got, test.want)
		}
	}
}

func TestAppend_RefusesWhatTheColumnCannotHold(t *testing.T) {
	utf8mb3 := varColumn("utf8mb3", dictinfo.TypeVarchar, 192, CollationUTF8MB3GeneralCI)
	notNull := integerColumn("key", dictinfo.TypeInt)
	notNull.Nullable = false
	for _, test := range []struct {
		column dictinfo.Column
		value  any
		want   error
	}{
		{notNull, nil, ErrNull},
		{integerColumn("tiny", dictinfo.TypeTinyint), 128, ErrRange},
		{integerColumn("tiny", dictinfo.TypeTinyint), -129, ErrRange},
		{integerColumn("tiny", dictinfo.TypeTinyint), uint8(128), ErrRange},
		{integerColumn("tinyunsigned", dictinfo.TypeTinyunsigned), -1, ErrRange},
		{integerColumn("tinyunsigned", dictinfo.TypeTinyunsigned), 256, ErrRange},
		{integerColumn("medium", dictinfo.TypeMediumint), 8388608, ErrRange},
		{integerColumn("int", dictinfo.TypeInt), int64(math.MaxInt32 + 1), ErrRange},
		{integerColumn("big", dictinfo.TypeBigint), uint64(math.MaxInt64 + 1), ErrRange},
		{integerColumn("int", dictinfo.TypeInt), "1", ErrType},
		{integerColumn("int", dictinfo.TypeInt), 1.0, ErrType},
		{integerColumn("int", dictinfo.TypeInt), struct{}{}, ErrType},
		{column("float", dictinfo.TypeFloat, 5, 1), 1e300, ErrRange},
		{column("float", dictinfo.TypeFloat, 5, 1), 16777217, ErrRange},
		{column("double", dictinfo.TypeDouble, 6, 1), math.NaN(), ErrRange},
		{column("double", dictinfo.TypeDouble, 6, 1), math.Inf(1), ErrRange},
		{column("double", dictinfo.TypeDouble, 6, 1), int64(math.MaxInt64), ErrRange},
		{column("double", dictinfo.TypeDouble, 6, 1), uint64(math.MaxUint64), ErrRange},
		{decimalColumn("dec", 10, 2), "100000000", ErrRange},
		{decimalColumn("dec", 10, 2), "0.001", ErrRange},
		{decimalColumn("dec", 10, 2), "1e3", ErrType},
		{decimalColumn("dec", 10, 2), "", ErrType},
		{decimalColumn("dec", 10, 2), "-", ErrType},
		{decimalColumn("dec", 10, 2), ".", ErrType},
		{decimalColumn("dec", 10, 2), "--1", ErrType},
		{decimalColumn("dec", 10, 2), "1.2.3", ErrType},
		{unsignedDecimalColumn("dec", 10, 2), "-1", ErrRange},
		{utf8mb3, strings.Repeat("a", 65), ErrTooLong},
		{utf8mb3, strings.Repeat("€", 65), ErrTooLong},
		{utf8mb3, strings.Repeat("a", 5000), ErrTooLong},
		{utf8mb3, strings.Repeat("𝄞", 5000), ErrCharset},
		{utf8mb3, "𝄞", ErrCharset},
		{utf8mb3, "\xff", ErrCharset},
		{utf8mb3, "\xed\xa0\x80", ErrCharset},
		{utf8mb3, 1, ErrType},
		{varColumn("utf8mb4", dictinfo.TypeVarchar, 40, CollationUTF8MB4Bin), "12345678901", ErrTooLong},
		{varColumn("utf8mb4", dictinfo.TypeVarchar, 40, CollationUTF8MB4Bin), []byte("\xc3"), ErrCharset},
		{varColumn("latin1", dictinfo.TypeVarchar, 4, CollationLatin1Bin), "ж", ErrCharset},
		{varColumn("latin1", dictinfo.TypeVarchar, 4, CollationLatin1Bin), "\xff", ErrCharset},
		{varColumn("latin1", dictinfo.TypeVarchar, 4, CollationLatin1Bin), "\ufffd", ErrCharset},
		{varColumn("latin1", dictinfo.TypeVarchar, 4, CollationLatin1Bin), "ååååå", ErrTooLong},
		{varColumn("ascii", dictinfo.TypeVarchar, 4, CollationASCIIBin), "å", ErrCharset},
		{varColumn("greek", dictinfo.TypeVarchar, 4, 25), "α", ErrCharset},
		{varColumn("ucs2", dictinfo.TypeVarchar, 40, 35), "a", ErrUnsupported},
		{varColumn("utf16", dictinfo.TypeVarchar, 40, 101), "a", ErrUnsupported},
		{varColumn("unknown", dictinfo.TypeVarchar, 40, 9999), "å", ErrCharset},
		{fixedColumn("binary", dictinfo.TypeBinary, 4, 0), "12345", ErrTooLong},
		{varColumn("varbinary", dictinfo.TypeVarbinary, 4, 0), []byte("12345"), ErrTooLong},
		{fixedColumn("enum", dictinfo.TypeChar, 1, CollationBinary), 256, ErrRange},
		{fixedColumn("enum", dictinfo.TypeChar, 1, CollationBinary), "red", ErrType},
		{column("date", dictinfo.TypeDate, 3, 3), Date{2021, 2, 29}, ErrRange},
		{column("date", dictinfo.TypeDate, 3, 3), Date{1900, 2, 29}, ErrRange},
		{column("date", dictinfo.TypeDate, 3, 3), Date{2021, 4, 31}, ErrRange},
		{column("date", dictinfo.TypeDate, 3, 3), Date{2021, 0, 1}, ErrRange},
		{column("date", dictinfo.TypeDate, 3, 3), Date{10000, 1, 1}, ErrRange},
		{column("date", dictinfo.TypeDate, 3, 3), "2021-2-3", ErrType},
		{column("date", dictinfo.TypeDate, 3, 3), 20210203, ErrType},
		{column("year", dictinfo.TypeYear, 3, 1), 1900, ErrRange},
		{column("year", dictinfo.TypeYear, 3, 1), 2156, ErrRange},
		{column("year", dictinfo.TypeYear, 3, 1), -1, ErrRange},
		{temporalColumn("time", dictinfo.TypeTime2, 0), MaxTime + time.Second, ErrRange},
		{temporalColumn("time", dictinfo.TypeTime2, 0), time.Millisecond, ErrRange},
		{temporalColumn("time", dictinfo.TypeTime2, 6), time.Nanosecond, ErrRange},
		{temporalColumn("time", dictinfo.TypeTime2, 6), "1:2:3", ErrType},
		{temporalColumn("time", dictinfo.TypeTime2, 6), "00:60:00", ErrType},
		{temporalColumn("time", dictinfo.TypeTime2, 6), "00:00:00.1234567", ErrType},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 0), DateTime{Hour: 24}, ErrRange},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 3), DateTime{Microsecond: 1}, ErrRange},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 3), time.Unix(0, 1), ErrRange},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 3), "2021-01-01", ErrType},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 0), time.Unix(0, 0), ErrRange},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 0), time.Unix(math.MaxInt32+1, 0), ErrRange},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 0), "2021-02-30 00:00:00", ErrRange},
		{bitColumn("bit", 9), 512, ErrRange},
		{bitColumn("bit", 9), -1, ErrRange},
		{column("blob", dictinfo.TypeBlob, 3, 272), []byte("x"), ErrBlob},
		{column("text", dictinfo.TypeText, 3, 272), "x", ErrBlob},
		{column("old", dictinfo.TypeTimestampOld, 3, 4), time.Unix(1, 0), ErrUnsupported},
		{column("new", 99, 3, 4), 1, ErrUnsupported},
	} {
		for _, form := range []Form{FormAttr, FormKey, FormBare} {
			dst := []byte("1234")
			got, err := AppendValue(dst, form, &test.column, test.value)
			var valueErr *ValueError
			if !errors.Is(err, test.want) || !errors.As(err, &valueErr) || valueErr.Column != test.column.Name {
				t.Errorf("%s: %v: got %v, want %v", test.column.Name, test.value, err, test.want)
			}
			if !bytes.Equal(got, dst) {
				t.Errorf("%s: %v: %q was appended", test.column.Name, test.value, got[len(dst):])
			}
		}
	}
}

func TestAppendNull_OnlyInAttrInfo(t *testing.T) {
	c := integerColumn("n", dictinfo.TypeInt)
	for _, form := range []Form{FormKey, FormBare} {
		if _, err := AppendNull(nil, form, &c); !errors.Is(err, ErrNull) {
			t.Errorf("form %d: got %v", form, err)
		}
	}
}

func TestAppendPattern(t *testing.T) {
	latin1 := varColumn("latin1", dictinfo.TypeVarchar, 4, CollationLatin1SwedishCI)
	got, err := AppendPattern([]byte{1}, &latin1, "å%%%%%")
	if want := []byte("\x01\xe5%%%%%"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	binary := fixedColumn("binary", dictinfo.TypeBinary, 4, 0)
	if got, err := AppendPattern(nil, &binary, "\xff_"); err != nil || string(got) != "\xff_" {
		t.Errorf("got %q, %v", got, err)
	}
	number := integerColumn("n", dictinfo.TypeInt)
	for _, test := range []struct {
		column  *dictinfo.Column
		pattern string
		want    error
	}{
		{&number, "1%", ErrType},
		{&latin1, "", ErrRange},
		{&latin1, "ж%", ErrCharset},
		{&binary, strings.Repeat("x", 0xfffd), ErrTooLong},
	} {
		if got, err := AppendPattern(nil, test.column, test.pattern); !errors.Is(err, test.want) || len(got) > 0 {
			t.Errorf("%.10q: got %q, %v, want %v", test.pattern, got, err, test.want)
		}
	}
}

func TestString_PrintsAsTheServer(t *testing.T) {
	for _, test := range []struct {
		column dictinfo.Column
		value  any
		want   string
	}{
		{integerColumn("int", dictinfo.TypeInt), -5, "-5"},
		{integerColumn("unsigned", dictinfo.TypeUnsigned), 5, "5"},
		{column("double", dictinfo.TypeDouble, 6, 1), 0.1, "0.1"},
		{column("float", dictinfo.TypeFloat, 5, 1), 0.1, "0.1"},
		{column("date", dictinfo.TypeDate, 3, 3), Date{}, "0000-00-00"},
		{column("date", dictinfo.TypeDate, 3, 3), Date{812, 3, 4}, "0812-03-04"},
		{column("year", dictinfo.TypeYear, 3, 1), 0, "0000"},
		{temporalColumn("time", dictinfo.TypeTime2, 3), "-01:02:03.456", "-01:02:03.456"},
		{temporalColumn("time", dictinfo.TypeTime2, 0), "838:59:59", "838:59:59"},
		{temporalColumn("datetime", dictinfo.TypeDatetime2, 1), "2026-11-30 10:40:59.5", "2026-11-30 10:40:59.5"},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 2), "2026-11-30 10:40:59.05", "2026-11-30 10:40:59.05"},
		{temporalColumn("timestamp", dictinfo.TypeTimestamp2, 2), "0000-00-00 00:00:00", "0000-00-00 00:00:00.00"},
		{decimalColumn("dec", 10, 2), "-.5", "-0.50"},
		{bitColumn("bit", 9), 511, "511"},
		{fixedColumn("enum", dictinfo.TypeChar, 2, CollationBinary), 300, "300"},
		{varColumn("latin1", dictinfo.TypeVarchar, 9, CollationLatin1Bin), "blå", "blå"},
		{varColumn("varbinary", dictinfo.TypeVarbinary, 9, 0), "\xff\x00", "\xff\x00"},
	} {
		b, err := AppendValue(nil, FormBare, &test.column, test.value)
		if err != nil {
			t.Errorf("%s: %v", test.column.Name, err)
			continue
		}
		n := test.column.LengthBytes()
		got, err := String(&test.column, b, Span{Off: uint32(n), Len: uint32(len(b) - n)})
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.column.Name, got, err, test.want)
		}
	}
}

// A value of the wrong size, or NULL, is an error for all that read.
func TestRead_RefusesWrongSizes(t *testing.T) {
	for _, c := range typesColumns() {
		if c.Type.HasCharset() || c.Type == dictinfo.TypeBinary || c.Type == dictinfo.TypeVarbinary {
			continue
		}
		src := make([]byte, 64)
		if _, err := Value(&c, src, Span{Len: 2*uint32(c.SizeBytes()) + 1}); !errors.Is(err, ErrCorrupt) && c.Type != dictinfo.TypeBit {
			t.Errorf("%s: got %v", c.Name, err)
		}
		if _, err := Value(&c, src, Span{}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", c.Name, err)
		}
		if _, err := String(&c, src, Span{Null: true}); !errors.Is(err, ErrNull) {
			t.Errorf("%s: got %v", c.Name, err)
		}
	}
}

func TestRead_RefusesOtherTypes(t *testing.T) {
	text := varColumn("text", dictinfo.TypeVarchar, 9, CollationLatin1Bin)
	number := integerColumn("n", dictinfo.TypeBigunsigned)
	src := bytes.Repeat([]byte{0xff}, 8)
	s := Span{Len: 8}
	_, err1 := Int64(&text, src, s)
	_, err2 := Float64(&text, src, s)
	_, err3 := GetDate(&text, src, s)
	_, err4 := GetDateTime(&text, src, s)
	_, err5 := Duration(&text, src, s)
	_, err6 := Time(&text, src, s)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		if !errors.Is(err, ErrType) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	if _, err := Int64(&number, src, s); !errors.Is(err, ErrRange) {
		t.Errorf("got %v", err)
	}
	signed := integerColumn("n", dictinfo.TypeBigint)
	if _, err := Uint64(&signed, src, s); !errors.Is(err, ErrRange) {
		t.Errorf("got %v", err)
	}
}

func TestNewProjection_Refuses(t *testing.T) {
	blob := column("b", dictinfo.TypeBlob, 3, 272)
	number := integerColumn("n", dictinfo.TypeInt)
	far := number
	far.ID = MaxPackedColumns
	for name, columns := range map[string][]*dictinfo.Column{
		"blob": {&blob}, "twice": {&number, &number}, "far": {&far},
	} {
		if _, err := NewProjection(columns); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCollationByID_AgreesWithRanges(t *testing.T) {
	for _, test := range []struct {
		id   uint16
		want string
	}{
		{8, "{latin1_swedish_ci 3 1 true}"},
		{33, "{utf8mb3_general_ci 4 3 true}"},
		{63, "{binary 1 1 false}"},
		{101, "{utf16 7 4 true}"},
		{192, "{utf8mb3_unicode_ci 4 3 true}"},
		{193, "{utf8mb3 4 3 true}"},
		{255, "{utf8mb4_0900_ai_ci 5 4 false}"},
		{309, "{utf8mb4_0900_bin 5 4 false}"},
		{323, "{utf8mb4 5 4 false}"},
	} {
		if got, ok := CollationByID(test.id); !ok || fmt.Sprint(got) != test.want {
			t.Errorf("%d: got %v, %v, want %s", test.id, got, ok, test.want)
		}
	}
	if _, ok := CollationByID(5000); ok {
		t.Error("5000 is known")
	}
}
