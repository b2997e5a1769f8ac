package row

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

func TestValueError_NamesColumnAndReason(t *testing.T) {
	c := integerColumn("age", dictinfo.TypeTinyint)
	_, err := AppendInt64(nil, FormAttr, &c, 300)
	if got, want := err.Error(), "column age (Tinyint): value out of range: 300"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	blob := column("photo", dictinfo.TypeBlob, 3, 272)
	if got, want := Supported(&blob).Error(), "column photo (Blob): BLOB, TEXT and JSON columns are not supported"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckValue(t *testing.T) {
	notNull := integerColumn("n", dictinfo.TypeInt)
	notNull.Nullable = false
	plain := column("NDB$PK", dictinfo.TypeUnsigned, 5, 9)
	plain.ArrayType = dictinfo.ArrayPlainVar
	text := varColumn("text", dictinfo.TypeLongvarchar, 300, CollationUTF8MB4Bin)
	for _, test := range []struct {
		column *dictinfo.Column
		value  []byte
		ok     bool
	}{
		{&notNull, []byte{1, 2, 3, 4}, true},
		{&notNull, []byte{1, 2, 3}, false},
		{&notNull, nil, false},
		{&plain, make([]byte, 20), true},
		{&plain, make([]byte, 37), false},
		{&text, nil, true},
		{&text, []byte{0, 0}, true},
		{&text, []byte{0}, false},
		{&text, []byte{2, 0, 'a', 'b'}, true},
		{&text, []byte{2, 0, 'a'}, false},
		{&text, []byte{1, 0, 'a', 'b'}, false},
		{&text, append([]byte{0x2d, 1}, make([]byte, 301)...), false},
	} {
		err := CheckValue(test.column, test.value)
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %x: got %v", test.column.Name, test.value, err)
		}
	}
	if err := Supported(&plain); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestNextKeyValue_RefusesShortKeys(t *testing.T) {
	text := varColumn("text", dictinfo.TypeVarchar, 30, CollationLatin1Bin)
	for _, src := range []string{"", "\x05abc", "\x1f", "\x03ab"} {
		if value, _, err := NextKeyValue([]byte(src), &text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %q, %v", src, value, err)
		}
	}
}

func TestProjection_RefusesForeignRows(t *testing.T) {
	columns := employeeColumns()
	p, err := NewProjection([]*dictinfo.Column{&columns[0], &columns[6]})
	if err != nil {
		t.Fatal(err)
	}
	number := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	for name, src := range map[string][]byte{
		"another column":      AppendAttr(AppendAttr(nil, 0, number), 3, []byte("\x01a")),
		"the same twice":      AppendAttr(AppendAttr(nil, 0, number), 0, number),
		"one missing":         AppendAttr(nil, 0, number),
		"wrong size":          AppendAttr(AppendAttr(nil, 0, number), 6, number),
		"NULL":                AppendAttr(AppendAttr(nil, 0, number), 6, nil),
		"packed, one missing": AppendPacked(nil, columns[:1], [][]byte{number}, FirstColumns(1)),
		"packed, one more": AppendPacked(nil, columns[:2], [][]byte{number, []byte("\x01a")},
			FirstColumns(2)),
		"packed, no bitmap": AppendAttrHeader(nil, AttrReadPacked, 0),
		"odd bitmap":        AppendAttr(nil, AttrReadPacked, []byte{1, 2}),
	} {
		if _, err := p.Decode(src, make([]Span, p.Len())); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestProjection_OfNothingReadsNothing(t *testing.T) {
	p, err := NewProjection(nil)
	if err != nil {
		t.Fatal(err)
	}
	src := AppendAttr(nil, AttrFragment, []byte{1, 0, 0, 0})
	rest, err := p.Decode(src, nil)
	if err != nil || len(rest) != len(src) || len(p.AppendReadList(nil)) != 0 {
		t.Errorf("got %x, %v, %x", rest, err, p.AppendReadList(nil))
	}
}

func TestAppendText_SaysWhatItCannotRead(t *testing.T) {
	greek := varColumn("greek", dictinfo.TypeVarchar, 20, 25)
	if _, err := String(&greek, []byte{0xe1}, Span{Len: 1}); !errors.Is(err, ErrCharset) {
		t.Errorf("got %v", err)
	}
	wide := varColumn("wide", dictinfo.TypeVarchar, 20, 160)
	if _, err := String(&wide, []byte("abcd"), Span{Len: 4}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
