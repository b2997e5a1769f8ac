package row

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Whatever decodes can be read without panics, and packs again to words that
// decode to the same.
func FuzzProjectionDecode(f *testing.F) {
	for _, section := range golden(f) {
		f.Add(section)
	}
	columns := typesColumns()
	p, err := NewProjection(pointers(columns))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		spans := make([]Span, p.Len())
		if _, err := p.Decode(src, spans); err != nil {
			return
		}
		values := make([][]byte, len(columns))
		for i := range columns {
			c := &columns[i]
			_, _ = String(c, src, spans[i])
			_, _ = Value(c, src, spans[i])
			if spans[i].Null {
				continue
			}
			if c.Type == dictinfo.TypeBit {
				v, err := Uint64(c, src, spans[i])
				if err != nil {
					t.Fatal(err)
				}
				if values[i], err = AppendUint64(nil, FormBare, c, v); err != nil {
					t.Fatal(err)
				}
				continue
			}
			start := int(spans[i].Off) - c.LengthBytes()
			values[i] = src[start : int(spans[i].Off)+int(spans[i].Len)]
			if err := CheckValue(c, values[i]); err != nil {
				t.Fatal(err)
			}
		}
		again := AppendPacked(nil, columns, values, FirstColumns(len(columns)))
		spans2 := make([]Span, p.Len())
		if rest, err := p.Decode(again, spans2); err != nil || len(rest) != 0 {
			t.Fatalf("%v, %d bytes left", err, len(rest))
		}
		for i := range columns {
			if columns[i].Type != dictinfo.TypeBit && !bytes.Equal(spans[i].Bytes(src), spans2[i].Bytes(again)) {
				t.Errorf("%s: got %x, want %x", columns[i].Name, spans2[i].Bytes(again), spans[i].Bytes(src))
			}
		}
	})
}

// Text that a column takes comes back unchanged, and never longer than the
// column.
func FuzzAppendString(f *testing.F) {
	f.Add("Åse € 𝄞", uint8(0))
	f.Add("-12.50", uint8(1))
	f.Add("2026-11-30 10:40:59.123", uint8(2))
	columns := []dictinfo.Column{
		varColumn("latin1", dictinfo.TypeVarchar, 20, CollationLatin1SwedishCI),
		varColumn("utf8mb3", dictinfo.TypeVarchar, 60, CollationUTF8MB3GeneralCI),
		varColumn("utf8mb4", dictinfo.TypeLongvarchar, 400, CollationUTF8MB40900AICI),
		varColumn("varbinary", dictinfo.TypeVarbinary, 20, 0),
		decimalColumn("dec", 38, 10),
		temporalColumn("time", dictinfo.TypeTime2, 4),
		temporalColumn("datetime", dictinfo.TypeDatetime2, 6),
		temporalColumn("timestamp", dictinfo.TypeTimestamp2, 3),
		column("date", dictinfo.TypeDate, 3, 3),
	}
	f.Fuzz(func(t *testing.T, s string, which uint8) {
		c := &columns[int(which)%len(columns)]
		b, err := AppendString(nil, FormBare, c, s)
		if err != nil {
			return
		}
		if err := CheckValue(c, b); err != nil {
			t.Fatal(err)
		}
		text, err := String(c, b, Span{Off: uint32(c.LengthBytes()), Len: uint32(len(b) - c.LengthBytes())})
		if err != nil {
			t.Fatal(err)
		}
		if (c.Type.HasCharset() || c.Type == dictinfo.TypeVarbinary) && text != s {
			t.Errorf("got %q, want %q", text, s)
		}
		again, err := AppendString(nil, FormBare, c, text)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%q: got %x, %v, want %x", text, again, err, b)
		}
	})
}

func FuzzNextReadItem(f *testing.F) {
	f.Add(golden(f)["read_list"])
	f.Add(golden(f)["readall_list"])
	f.Add([]byte{4, 0, 0xf3, 0xff, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, src []byte) {
		item, rest, err := NextReadItem(src)
		if err != nil {
			return
		}
		again, _, err := NextReadItem(src[:len(src)-len(rest)])
		if err != nil || !reflect.DeepEqual(again, item) {
			t.Errorf("got %+v, %v, want %+v", again, err, item)
		}
	})
}
