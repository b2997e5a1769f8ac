package signal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fragments returns pointers as from a data node, the first of them 0.
func fragments(n int) []FragmentPointer {
	var p []FragmentPointer
	for i := range n {
		p = append(p, newFragmentPointer(uint32(i)))
	}
	return p
}

func findSignalTest(gsn GSN) (signalTest, bool) {
	for _, st := range signalTests {
		if st.gsn == gsn {
			return st, true
		}
	}
	return signalTest{}, false
}

// message returns the message that carries x. TCKeyReq gets a key and
// attributes.
func message(x codec) *Message {
	m := &Message{Data: x.AppendTo(nil)}
	switch x := x.(type) {
	case Incoming:
		m.GSN = x.GSN()
	case Outgoing:
		m.GSN, m.Receiver = x.Route()
	}
	switch x := x.(type) {
	case Sectioned:
		m.NumSections = copy(m.Sections[:], x.Sections())
	case *TCKeyReq:
		m.Sections, m.NumSections = [MaxSections][]byte{numbered(2), numbered(3)}, 2
	}
	return m
}

// show gives all fields of x; nil and empty slices look the same.
func show(x codec) string { return fmt.Sprintf("%+v", x) }

func (st signalTest) decode(m *Message) (codec, error) {
	x := st.make(testTC)
	return x, x.Decode(m)
}

func TestSignals_KnownOnesAreAllTested(t *testing.T) {
	for gsn := range gsnNames {
		_, got := findSignalTest(gsn)
		// Nothing subscribes to epochs; coordinators confirm with TCKEYCONF.
		if want := gsn != GSNSubGCPCompleteRep && gsn != GSNTCIndxConf; got != want {
			t.Errorf("%v: tested %t, want %t", gsn, got, want)
		}
	}
}

func TestSignals(t *testing.T) {
	for _, st := range signalTests {
		for i, x := range st.examples {
			t.Run(fmt.Sprintf("%v/%d", st.gsn, i), func(t *testing.T) {
				m := message(x)
				if m.GSN != st.gsn {
					t.Errorf("GSN: got %v, want %v", m.GSN, st.gsn)
				}
				st.testRoundTrip(t, x, m)
				st.testPrefixes(t, m)
				st.testExtraWord(t, m)
				st.testSections(t, m)
			})
		}
	}
}

func (st signalTest) testRoundTrip(t *testing.T, x codec, m *Message) {
	y, err := st.decode(m)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(y), show(x); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := message(y); !bytes.Equal(got.Data, m.Data) {
		t.Errorf("encoded again: got %x, want %x", got.Data, m.Data)
	}
}

func (st signalTest) testPrefixes(t *testing.T, m *Message) {
	for words := range len(m.Data) / word.SizeBytes {
		cut := *m
		cut.Data = m.Data[:words*word.SizeBytes]
		_, err := st.decode(&cut)
		if open := st.openWords > 0 && words >= st.openWords; !open && !errors.Is(err, ErrMessage) {
			t.Errorf("%d words: got %v, want an error", words, err)
		}
	}
	for i := range m.NumSections {
		for words := range len(m.Sections[i]) / word.SizeBytes {
			cut := *m
			cut.Sections[i] = m.Sections[i][:words*word.SizeBytes]
			if _, err := st.decode(&cut); err != nil && !errors.Is(err, ErrMessage) {
				t.Errorf("section %d, %d words: got %v", i, words, err)
			}
		}
	}
}

func (st signalTest) testExtraWord(t *testing.T, m *Message) {
	longer := *m
	longer.Data = word.Append(bytes.Clone(m.Data), 12345)
	if _, err := st.decode(&longer); st.openWords == 0 && !errors.Is(err, ErrMessage) {
		t.Errorf("one word more: got %v, want an error", err)
	}
}

func (st signalTest) testSections(t *testing.T, m *Message) {
	more := *m
	more.NumSections = MaxSections
	if _, err := st.decode(&more); m.NumSections < MaxSections && !errors.Is(err, ErrMessage) {
		t.Errorf("%d sections: got %v, want an error", more.NumSections, err)
	}
	none := *m
	none.NumSections = 0
	none.Sections = [MaxSections][]byte{}
	if _, err := st.decode(&none); m.NumSections > 0 && !errors.Is(err, ErrMessage) {
		switch m.GSN {
		case GSNTransIDAI, GSNListTablesConf: // an empty answer is one
		default:
			t.Errorf("no sections: got %v, want an error", err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, st := range signalTests {
		for _, x := range st.examples {
			m := message(x)
			f.Add(uint16(m.GSN), uint8(m.NumSections), m.Data, m.Sections[0], m.Sections[1], m.Sections[2])
		}
	}
	f.Fuzz(func(t *testing.T, gsn uint16, numSections uint8, data, s0, s1, s2 []byte) {
		st, ok := findSignalTest(GSN(gsn))
		if !ok {
			t.Skip()
		}
		m := &Message{GSN: st.gsn, Data: wholeWords(data, MaxDataWords), NumSections: int(numSections % (MaxSections + 1))}
		for i, s := range [][]byte{s0, s1, s2}[:m.NumSections] {
			m.Sections[i] = wholeWords(s, 2000)
		}
		x, err := st.decode(m)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatalf("got %v, want ErrMessage", err)
			}
			return
		}
		y, err := st.decode(message(x))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(y), show(x); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func wholeWords(b []byte, maxWords int) []byte {
	return b[:min(len(b)/word.SizeBytes, maxWords)*word.SizeBytes]
}
