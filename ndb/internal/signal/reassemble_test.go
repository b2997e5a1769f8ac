package signal

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

func longSignal() *Message {
	return &Message{
		GSN: GSNListTablesConf, Sender: BlockDBDICT, Receiver: BlockAPI, Data: numbered(5),
		Sections: [MaxSections][]byte{numbered(100), numbered(7), numbered(33)}, NumSections: 3,
	}
}

// parts returns the fragments of m as Parse gives them.
func parts(t testing.TB, m *Message, id uint32, pieceWords int) []Message {
	t.Helper()
	var list []Message
	for raw := (Format{}).AppendFragments(nil, m, id, pieceWords); len(raw) > 0; {
		var part Message
		size, err := Parse(raw, &part)
		if err != nil || size == 0 {
			t.Fatalf("got %d, %v", size, err)
		}
		list, raw = append(list, part), raw[size:]
	}
	return list
}

func TestAssembler_PutsFragmentsTogether(t *testing.T) {
	want := messageText(longSignal())
	for _, pieceWords := range []int{1, 7, 33, 60, 139, 140, 1000} {
		var a Assembler
		list := parts(t, longSignal(), 5, pieceWords)
		for i := range list {
			last := i == len(list)-1
			whole, err := a.Add(&list[i])
			if err != nil || whole != last {
				t.Fatalf("pieces of %d words, %d of %d: got %t, %v", pieceWords, i, len(list), whole, err)
			}
			if got := messageText(&list[i]); last && got != want {
				t.Errorf("pieces of %d words: got\n%s, want\n%s", pieceWords, got, want)
			}
		}
		if len(a.assemblies) != 0 || a.sizeBytes != 0 {
			t.Errorf("pieces of %d words: got %d signals and %d bytes left", pieceWords, len(a.assemblies), a.sizeBytes)
		}
	}
}

func TestAssembler_KeepsSignalsApart(t *testing.T) {
	var a Assembler
	x, y := longSignal(), longSignal()
	y.Sender, y.Data, y.Sections[0] = BlockDBDICT.WithInstance(1), numbered(2), numbered(90)
	wantX, wantY := messageText(x), messageText(y)
	listX, listY := parts(t, x, 5, 60), parts(t, y, 5, 60)
	for i := range listX {
		for _, tt := range []struct {
			part *Message
			want string
		}{{&listX[i], wantX}, {&listY[i], wantY}} {
			whole, err := a.Add(tt.part)
			if err != nil {
				t.Fatal(err)
			}
			if got := messageText(tt.part); whole && got != tt.want {
				t.Errorf("got\n%s, want\n%s", got, tt.want)
			}
		}
	}
}

func TestAssembler_SectionsInAnyOrder(t *testing.T) {
	var a Assembler
	first := &Message{
		GSN: GSNListTablesConf, Fragment: FragmentFirst, Data: word.Append(nil, 77, 1, 0, 9),
		NumSections: 2, Sections: [MaxSections][]byte{numbered(1), numbered(2)},
	}
	if whole, err := a.Add(first); whole || err != nil {
		t.Fatalf("got %t, %v", whole, err)
	}
	last := &Message{
		GSN: GSNListTablesConf, Fragment: FragmentLast, Data: word.Append(nil, 78, 1, 9),
		NumSections: 1, Sections: [MaxSections][]byte{numbered(3)},
	}
	if whole, err := a.Add(last); !whole || err != nil {
		t.Fatalf("got %t, %v", whole, err)
	}
	want := &Message{
		GSN: GSNListTablesConf, Data: word.Append(nil, 78),
		NumSections: 2, Sections: [MaxSections][]byte{numbered(2), append(numbered(1), numbered(3)...)},
	}
	if got, want := messageText(last), messageText(want); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestAssembler_RefusesWhatDoesNotFit(t *testing.T) {
	piece := func(change func(m *Message)) *Message {
		m := &Message{
			GSN: GSNListTablesConf, Sender: BlockDBDICT, Receiver: BlockAPI, Fragment: FragmentMiddle, Data: word.Append(nil, 1, 0, 9),
			NumSections: 1, Sections: [MaxSections][]byte{numbered(1)},
		}
		change(m)
		return m
	}
	tests := []struct {
		name   string
		change func(m *Message)
		want   bool
	}{
		{"middle", func(*Message) {}, false},
		{"first again", func(m *Message) { m.Fragment = FragmentFirst }, true},
		{"other id", func(m *Message) { word.Put(m.Data, 2, 8) }, true},
		{"other sender", func(m *Message) { m.Sender = BlockDBTC }, true},
		{"other signal", func(m *Message) { m.GSN = GSNGetTabInfoConf }, true},
		{"other receiver", func(m *Message) { m.Receiver = BlockAPI + 1 }, true},
		{"packed", func(m *Message) { m.Receiver = BlockPacked }, true},
		{"section 3", func(m *Message) { word.Put(m.Data, 1, 3) }, true},
		{"no id", func(m *Message) { m.Data = m.Data[:4] }, true},
		{"no data", func(m *Message) { m.Data = nil }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Assembler
			if _, err := a.Add(piece(func(m *Message) { m.Fragment = FragmentFirst })); err != nil {
				t.Fatal(err)
			}
			_, err := a.Add(piece(tt.change))
			if got := errors.Is(err, ErrMessage); got != tt.want {
				t.Errorf("got %v, want an error: %t", err, tt.want)
			}
		})
	}
}

func TestAssembler_Limits(t *testing.T) {
	var a Assembler
	first := func(id uint32, words int) *Message {
		return &Message{
			Fragment: FragmentFirst, Data: word.Append(nil, 0, id),
			NumSections: 1, Sections: [MaxSections][]byte{make([]byte, words*word.SizeBytes)},
		}
	}
	for id := range uint32(MaxAssemblies) {
		if _, err := a.Add(first(id, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Add(first(MaxAssemblies, 1)); !errors.Is(err, ErrMessage) {
		t.Errorf("one signal more: got %v, want ErrMessage", err)
	}
	a = Assembler{}
	if _, err := a.Add(first(1, MaxAssemblyBytes/word.SizeBytes)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Add(first(2, 1)); !errors.Is(err, ErrMessage) {
		t.Errorf("one word more: got %v, want ErrMessage", err)
	}
}

func TestAssembler_MessageThatIsNoFragmentIsWhole(t *testing.T) {
	var a Assembler
	m := testMessage()
	want := messageText(m)
	if whole, err := a.Add(m); !whole || err != nil || messageText(m) != want {
		t.Errorf("got %t, %v, %s", whole, err, messageText(m))
	}
}

func FuzzAssembler(f *testing.F) {
	for _, pieceWords := range []int{10, 50, 1000} {
		f.Add((Format{}).AppendFragments(nil, longSignal(), 1, pieceWords))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var a Assembler
		for len(src) > 0 {
			var m Message
			size, err := Parse(src, &m)
			if err != nil || size == 0 {
				return
			}
			src = src[size:]
			whole, err := a.Add(&m)
			if err != nil {
				return
			}
			if whole && m.Fragment != FragmentNone {
				t.Errorf("got fragment %d of a whole signal", m.Fragment)
			}
		}
	})
}
