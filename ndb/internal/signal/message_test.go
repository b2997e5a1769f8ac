package signal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

func messageText(m *Message) string {
	return fmt.Sprintf("%v %#x->%#x fragment %d data %x sections %d %x",
		m.GSN, uint16(m.Sender), uint16(m.Receiver), m.Fragment, m.Data, m.NumSections, m.Sections[:m.NumSections])
}

var formats = []Format{{}, {SignalID: true}, {Checksum: true}, {SignalID: true, Checksum: true}}

func testMessage() *Message {
	return &Message{
		GSN: GSNTransIDAI, Sender: BlockDBTC.WithInstance(1), Receiver: BlockAPI, Data: numbered(3),
		Sections: [MaxSections][]byte{numbered(2), nil, numbered(5)}, NumSections: 3,
	}
}

func TestMessage_ParseReadsWhatAppendWrites(t *testing.T) {
	for _, f := range formats {
		for _, fragment := range []Fragment{FragmentNone, FragmentFirst, FragmentMiddle, FragmentLast} {
			want := testMessage()
			want.Fragment = fragment
			raw := f.Append([]byte("before"), want)[len("before"):]
			var got Message
			size, err := Parse(append(raw, 1, 2, 3), &got)
			if err != nil || size != len(raw) {
				t.Fatalf("got %d, %v, want %d", size, err, len(raw))
			}
			if got, want := messageText(&got), messageText(want); got != want {
				t.Errorf("%+v: got\n%s, want\n%s", f, got, want)
			}
			for n := range raw {
				if size, err := Parse(raw[:n], &got); size != 0 || err != nil {
					t.Errorf("%d bytes of %d: got %d, %v, want 0, nil", n, len(raw), size, err)
				}
			}
		}
	}
}

func TestParse_RefusesMalformedMessages(t *testing.T) {
	raw := Format{SignalID: true}.Append(nil, testMessage())
	change := func(i int, set, clear uint32) []byte {
		b := bytes.Clone(raw)
		word.Put(b, i, word.At(b, i)&^clear|set)
		return b
	}
	summed := Format{Checksum: true}.Append(nil, testMessage())
	summed[20] ^= 1
	tests := []struct {
		name string
		raw  []byte
	}{
		{"big endian", change(0, 1<<31|1<<24|1<<7|1, 0)},
		{"one byte order bit", change(0, 1<<24, 0)},
		{"compressed", change(0, compressedBit, 0)},
		{"no length", change(0, 0, messageLengthMask<<messageLengthShift)},
		{"shorter than a header", change(0, 2<<messageLengthShift, messageLengthMask<<messageLengthShift)},
		{"longer than the limit", change(0, (MaxMessageBytes/4+1)<<messageLengthShift, messageLengthMask<<messageLengthShift)},
		{"shorter than its data", change(0, 5<<messageLengthShift, messageLengthMask<<messageLengthShift)},
		{"shorter than its sections", change(0, 16<<messageLengthShift, messageLengthMask<<messageLengthShift)},
		{"longer than its sections", change(0, 0, signalIDBit)},
		{"signal number of 17 bits", change(1, 1<<16, 0)},
		{"section beyond the end", change(7, 3, 0)},
		{"section of 16 GB", change(7, 0xffffffff, 0)},
		{"wrong checksum", summed},
		{"checksum without room", word.Append(nil, 3<<messageLengthShift|checksumBit, 3<<messageLengthShift|checksumBit, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m Message
			if size, err := Parse(tt.raw, &m); !errors.Is(err, ErrMessage) {
				t.Errorf("got %d, %v, want ErrMessage", size, err)
			}
		})
	}
}

func TestFormatAppend_PanicsBeyondLimits(t *testing.T) {
	for name, m := range map[string]*Message{
		"data words":   {Data: numbered(MaxDataWords + 1)},
		"half a word":  {Data: []byte{1, 2}},
		"message size": {NumSections: 1, Sections: [MaxSections][]byte{make([]byte, MaxMessageBytes)}},
		"half section": {NumSections: 1, Sections: [MaxSections][]byte{{1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			if !panics(func() { Format{}.Append(nil, m) }) {
				t.Error("got no panic")
			}
		})
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

func TestUnpack_GivesEachSignal(t *testing.T) {
	var data []byte
	fits := true
	var want []string
	for i := 0; ; i++ {
		receiver, signalData := BlockAPI+Block(i), numbered(3+i)
		if data, fits = AppendPacked(data, receiver, signalData); !fits {
			break
		}
		want = append(want, messageText(&Message{GSN: GSNTransIDAI, Sender: 7, Receiver: receiver, Data: signalData}))
	}
	if len(want) != 4 { // 4 + 5 + 6 + 7 words
		t.Fatalf("got %d signals that fit, want 4", len(want))
	}
	m := &Message{GSN: GSNTransIDAI, Sender: 7, Receiver: BlockPacked, Data: data}
	i := 0
	err := Unpack(m, func(m *Message) error {
		if got := messageText(m); got != want[i] {
			t.Errorf("got %s, want %s", got, want[i])
		}
		i++
		return nil
	})
	if err != nil || i != len(want) {
		t.Errorf("got %d signals, %v, want %d", i, err, len(want))
	}
}

func TestUnpack_SingleSignalStaysAsItIs(t *testing.T) {
	m := testMessage()
	var got *Message
	if err := Unpack(m, func(m *Message) error { got = m; return nil }); err != nil || got != m {
		t.Errorf("got %p, %v, want %p", got, err, m)
	}
}

func TestUnpack_Errors(t *testing.T) {
	ignore := func(*Message) error { return nil }
	data, _ := AppendPacked(nil, BlockAPI, numbered(4))
	for words := 1; words < len(data)/word.SizeBytes; words++ {
		m := &Message{Receiver: BlockPacked, Data: data[:words*word.SizeBytes]}
		if err := Unpack(m, ignore); !errors.Is(err, ErrMessage) {
			t.Errorf("%d words: got %v, want ErrMessage", words, err)
		}
	}
	if err := Unpack(&Message{Receiver: BlockPacked, Data: data, NumSections: 1}, ignore); !errors.Is(err, ErrMessage) {
		t.Errorf("with a section: got %v, want ErrMessage", err)
	}
	stop := errors.New("stop")
	if err := Unpack(&Message{Receiver: BlockPacked, Data: data}, func(*Message) error { return stop }); err != stop {
		t.Errorf("handler fails: got %v, want its error", err)
	}
}

func TestAppendPacked_RefusesWhatIsTooShort(t *testing.T) {
	if data, fits := AppendPacked(nil, BlockAPI, numbered(2)); fits || len(data) != 0 {
		t.Errorf("got %x, %t, want nothing", data, fits)
	}
}

func FuzzParse(f *testing.F) {
	captures(f, func(_ string, _ bool, raw []byte) { f.Add(raw) })
	f.Add(Format{}.AppendFragments(nil, longSignal(), 1, 10))
	f.Fuzz(func(t *testing.T, src []byte) {
		var assembler Assembler
		for len(src) > 0 {
			var m Message
			size, err := Parse(src, &m)
			if err != nil || size == 0 {
				return
			}
			if len(m.Data) <= MaxDataWords*word.SizeBytes {
				testParsesAgain(t, format(src), &m)
			}
			src = src[size:]
			if whole, err := assembler.Add(&m); err != nil || !whole {
				continue
			}
			_ = Unpack(&m, func(m *Message) error {
				if st, ok := findSignalTest(m.GSN); ok {
					_, err := st.decode(m)
					return err
				}
				return nil
			})
		}
	})
}

func testParsesAgain(t *testing.T, f Format, m *Message) {
	t.Helper()
	var again Message
	if _, err := Parse(f.Append(nil, m), &again); err != nil {
		t.Fatal(err)
	}
	if got, want := messageText(&again), messageText(m); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
