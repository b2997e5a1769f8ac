package row

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

func TestAppendValue_Golden(t *testing.T) {
	columns, values := typesColumns(), typesValues()
	want := golden(t)["write_attrinfo"]
	got := map[uint16][]byte{}
	for i := range columns {
		b, err := AppendValue(nil, FormAttr, &columns[i], values[i])
		if err != nil {
			t.Fatal(err)
		}
		got[columns[i].ID] = b
	}
	for rest := want; len(rest) > 0; {
		h, _, after, err := NextAttr(rest)
		if err != nil {
			t.Fatal(err)
		}
		if w := rest[:len(rest)-len(after)]; !bytes.Equal(got[h.ID()], w) {
			t.Errorf("%s: got %x, want %x", columns[h.ID()].Name, got[h.ID()], w)
		}
		rest = after
	}
	key, err := AppendInt64(nil, FormKey, &columns[0], 1)
	if want := golden(t)["write_keyinfo"]; err != nil || !bytes.Equal(key, want) {
		t.Errorf("key: got %x, %v, want %x", key, err, want)
	}
}

func TestProjection_DecodesBothForms(t *testing.T) {
	columns, values := typesColumns(), typesValues()
	p, err := NewProjection(pointers(columns))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"read_answer", "readall_answer"} {
		src := golden(t)[form]
		spans := make([]Span, p.Len())
		rest, err := p.Decode(src, spans)
		if err != nil || len(rest) != 0 {
			t.Fatalf("%s: %v, %d bytes left", form, err, len(rest))
		}
		for i, want := range values {
			got, err := Value(p.Column(i), src, spans[i])
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: got %#v, %v, want %#v", form, p.Column(i).Name, got, err, want)
			}
		}
	}
}

func TestProjection_EveryPrefixOfARowIsAnError(t *testing.T) {
	columns := typesColumns()
	p, err := NewProjection(pointers(columns))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"read_answer", "readall_answer"} {
		src := golden(t)[form]
		for n := range src {
			if _, err := p.Decode(src[:n], make([]Span, p.Len())); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %d of %d bytes: %v", form, n, len(src), err)
			}
		}
	}
}

func TestProjection_LeavesWhatFollowsTheRow(t *testing.T) {
	columns := typesColumns()
	p, err := NewProjection(pointers(columns))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"read_answer", "readall_answer"} {
		fragment := AppendAttr(nil, AttrFragment, []byte{1, 0, 0, 0})
		src := append(golden(t)[form], fragment...)
		rest, err := p.Decode(src, make([]Span, p.Len()))
		if err != nil || !bytes.Equal(rest, fragment) {
			t.Errorf("%s: got %x, %v, want %x", form, rest, err, fragment)
		}
	}
}

func TestAppendPacked_Golden(t *testing.T) {
	item, rest, err := NextReadItem(golden(t)["readall_list"])
	if err != nil || len(rest) != 0 || !item.Packed {
		t.Fatalf("got %+v, %v", item, err)
	}
	got := AppendPacked(nil, typesColumns(), rawValues(t), item.Mask)
	// The data node left garbage in the bits behind the 49 of two columns.
	want := bytes.Replace(golden(t)["readall_answer"], []byte{0x13, 0xcf, 0xfe, 0x7e}, []byte{0x13, 0xcf, 0, 0}, 1)
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func rawValues(t *testing.T) [][]byte {
	t.Helper()
	values := make([][]byte, len(typesColumns()))
	for rest := golden(t)["read_answer"]; len(rest) > 0; {
		h, value, after, err := NextAttr(rest)
		if err != nil {
			t.Fatal(err)
		}
		values[h.ID()], rest = value, after
	}
	return values
}

func TestAppendPacked_DecodesToTheSame(t *testing.T) {
	columns, all := typesColumns(), rawValues(t)
	for skip := range len(columns) + 1 { // the projection leaves out column skip, and the one after it is NULL
		values := append([][]byte(nil), all...)
		mask := FirstColumns(len(columns))
		var wanted []int
		for i := range columns {
			if i == skip {
				mask[i/8] &^= 1 << (i % 8)
				continue
			}
			if i == skip+1 && columns[i].Nullable {
				values[i] = nil
			}
			wanted = append(wanted, i)
		}
		before := word.Append(nil, 0xffffffff) // rows need not begin at the start of a buffer
		src := AppendPacked(before, columns, values, mask)[len(before):]
		decodeWanted(t, src, wanted, values)
	}
}

func decodeWanted(t *testing.T, src []byte, wanted []int, values [][]byte) {
	t.Helper()
	columns := typesColumns()
	var ps []*dictinfo.Column
	for _, i := range wanted {
		ps = append(ps, &columns[i])
	}
	p, err := NewProjection(ps)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]Span, p.Len())
	rest, err := p.Decode(src, spans)
	if err != nil || len(rest) != 0 {
		t.Fatalf("%v, %d bytes left", err, len(rest))
	}
	for place, i := range wanted {
		if values[i] == nil {
			if !spans[place].Null {
				t.Errorf("%s is not NULL", columns[i].Name)
			}
			continue
		}
		got, err := Value(&columns[i], src, spans[place])
		if want := typesValues()[i]; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v, want %#v", columns[i].Name, got, err, want)
		}
	}
}

func TestReadLists(t *testing.T) {
	columns := typesColumns()
	p, err := NewProjection([]*dictinfo.Column{&columns[24], &columns[3]})
	if err != nil {
		t.Fatal(err)
	}
	list := p.AppendReadList(nil)
	item, rest, err := NextReadItem(list)
	if err != nil || len(rest) != 0 || !item.Packed || !item.Mask.Has(3) || !item.Mask.Has(24) || item.Mask.Has(4) || item.Mask.Has(400) {
		t.Errorf("got %+v, %x, %v", item, rest, err)
	}
	for n := range list {
		if _, _, err := NextReadItem(list[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	single, err := NewProjection([]*dictinfo.Column{&columns[3]})
	if err != nil {
		t.Fatal(err)
	}
	item, rest, err = NextReadItem(single.AppendReadList(nil))
	if err != nil || len(rest) != 0 || item.Packed || item.Attr != 3 {
		t.Errorf("got %+v, %x, %v", item, rest, err)
	}
	items := 0
	for rest := golden(t)["read_list"]; len(rest) > 0; items++ {
		if item, rest, err = NextReadItem(rest); err != nil || int(item.Attr) != items {
			t.Errorf("item %d: got %+v, %v", items, item, err)
		}
	}
	if items != 25 {
		t.Errorf("got %d items", items)
	}
}
