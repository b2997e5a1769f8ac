package signal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

func TestNodeSet(t *testing.T) {
	nodes := []NodeID{1, 2, 31, 32, 33, 63, 64, 255}
	set := NewNodeSet(append(nodes, 0)...)
	if got := slices.Collect(set.All()); !slices.Equal(got, nodes) {
		t.Errorf("got %v, want %v", got, nodes)
	}
	if got := set.Len(); got != len(nodes) {
		t.Errorf("got %d nodes, want %d", got, len(nodes))
	}
	if set.Has(0) || set.Has(3) || !set.Has(255) {
		t.Errorf("got %t, %t, %t, want false, false, true", set.Has(0), set.Has(3), set.Has(255))
	}
	for n := range set.All() {
		if n != 1 {
			t.Errorf("got %d after the loop ended", n)
		}
		break
	}
}

func TestNodeFailRep_InlineFormsOfOlderNodes(t *testing.T) {
	want := &NodeFailRep{FailureNumber: 7, Master: 2, Failed: NewNodeSet(3, 40)}
	for _, words := range []int{2, 8} {
		m := &Message{Data: want.AppendTo(nil)}
		m.Data = word.Append(m.Data, want.Failed[:words]...)
		var got NodeFailRep
		if err := got.Decode(m); err != nil || got != *want {
			t.Errorf("%d words: got %+v, %v, want %+v", words, got, err, want)
		}
	}
	for _, words := range []int{0, 1, 3, 7, 9} {
		m := &Message{Data: append(want.AppendTo(nil), make([]byte, words*word.SizeBytes)...)}
		if err := new(NodeFailRep).Decode(m); !errors.Is(err, ErrMessage) {
			t.Errorf("%d words: got %v, want ErrMessage", words, err)
		}
	}
}

func TestNodeFailRep_RefusesASetBeyondTheLastNode(t *testing.T) {
	m := message(&NodeFailRep{Failed: NewNodeSet(3)})
	m.Sections[0] = make([]byte, (nodeSetWords+1)*word.SizeBytes)
	if err := new(NodeFailRep).Decode(m); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage", err)
	}
}

func TestFailureReports_RefuseNodesThatCannotBe(t *testing.T) {
	for _, node := range []uint32{0, 256, 0xffffffff} {
		takeOver := &Message{Data: word.Append(nil, node, 0, 0)}
		if err := new(TakeOverTCConf).Decode(takeOver); !errors.Is(err, ErrMessage) {
			t.Errorf("TAKE_OVERTCCONF, node %d: got %v, want ErrMessage", node, err)
		}
		complete := &Message{Data: word.Append(nil, 0, 2, node, 0, 0)}
		if err := new(NFCompleteRep).Decode(complete); !errors.Is(err, ErrMessage) {
			t.Errorf("NF_COMPLETEREP, node %d: got %v, want ErrMessage", node, err)
		}
	}
}

func TestNewGetTabInfoByName_RefusesNames(t *testing.T) {
	for _, name := range []string{"", "a\x00b", strings.Repeat("x", MaxNameBytes)} {
		if s, err := NewGetTabInfoByName(1, testRef, name); !errors.Is(err, ErrName) {
			t.Errorf("%q: got %v, %v, want ErrName", name, s, err)
		}
	}
}

func TestGetTabInfoReq_ZeroValueIsNotSent(t *testing.T) {
	if !panics(func() { AppendOutgoing(Format{}, nil, BlockAPI, &GetTabInfoReq{}) }) {
		t.Error("got no panic")
	}
}

func TestGetTabInfoReq_SaysWhatItAsksFor(t *testing.T) {
	byName := must(NewGetTabInfoByName(1, testRef, "a/def/b"))
	if _, byID := byName.ID(); byID || byName.Name() != "a/def/b" || len(byName.Section()) != 8 {
		t.Errorf("got %t, %q, %x", byID, byName.Name(), byName.Section())
	}
	byNumber := NewGetTabInfoByID(1, testRef, 7)
	if id, byID := byNumber.ID(); id != 7 || !byID || byNumber.Name() != "" || byNumber.Section() != nil {
		t.Errorf("got %d, %t, %q, %x", id, byID, byNumber.Name(), byNumber.Section())
	}
}

func TestListTablesConf_NamesThatEndEarly(t *testing.T) {
	conf := &ListTablesConf{Objects: []ListedObject{{ID: 1, Name: "a/def/b"}, {ID: 2, Name: "c"}}}
	names := message(conf).Sections[1]
	for words := range len(names) / word.SizeBytes {
		m := message(conf)
		m.Sections[1] = names[:words*word.SizeBytes]
		if err := new(ListTablesConf).Decode(m); !errors.Is(err, ErrMessage) {
			t.Errorf("%d words: got %v, want ErrMessage", words, err)
		}
	}
}

func TestTCKeyConf_Ops(t *testing.T) {
	conf := &TCKeyConf{}
	conf.AddOp(4, 0)
	conf.AddOp(8, CommittedReadLength(3))
	var got TCKeyConf
	if err := got.Decode(message(conf)); err != nil || got.Len() != 2 {
		t.Fatalf("got %d operations, %v, want 2", got.Len(), err)
	}
	pointer, length := got.Op(0)
	if _, committedRead := ReadNode(length); pointer != 4 || length != 0 || committedRead {
		t.Errorf("got %d, %#x, %t", pointer, length, committedRead)
	}
	pointer, length = got.Op(1)
	if node, committedRead := ReadNode(length); pointer != 8 || node != 3 || !committedRead {
		t.Errorf("got %d, %d, %t", pointer, node, committedRead)
	}
}

func TestTCKeyConf_MarkerNeedsCommit(t *testing.T) {
	m := message(&TCKeyConf{})
	word.Put(m.Data, 2, keyConfMarker)
	var got TCKeyConf
	if err := got.Decode(m); err != nil || got.Marker {
		t.Errorf("got %+v, %v, want no marker", got, err)
	}
}

func TestTCKeyConf_CountBeyondTheEnd(t *testing.T) {
	m := message(&TCKeyConf{ops: numbered(2)})
	for _, count := range []uint32{0, 2, 0xffff} {
		word.Put(m.Data, 2, count)
		if err := new(TCKeyConf).Decode(m); !errors.Is(err, ErrMessage) {
			t.Errorf("%d operations: got %v, want ErrMessage", count, err)
		}
	}
}

func TestTCSeizeConf_RefusesARecordOfNoCoordinator(t *testing.T) {
	m := &Message{Data: word.Append(nil, 4, 5, uint32(NewBlockRef(BlockQMGR, 2)))}
	if err := new(TCSeizeConf).Decode(m); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage", err)
	}
}

func TestTCReleaseRef_AsADataNodeSendsIt(t *testing.T) {
	m := &Message{Data: word.Append(nil, 0x1000, 229, 0x749)}
	var got TCReleaseRef
	if err := got.Decode(m); err != nil || got != (TCReleaseRef{Pointer: 0x1000, Error: 229}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStartLevel_String(t *testing.T) {
	for level, want := range map[StartLevel]string{
		StartLevelNothing: "nothing", StartLevelStarting: "starting", StartLevelStarted: "started",
		StartLevelSingleUser: "single user", StartLevelStopping1: "stopping 1", StartLevelStopping4: "stopping 4", 9: "start level 9",
	} {
		if got := level.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestGSN_String(t *testing.T) {
	if got, want := GSNTCKeyReq.String(), "TCKEYREQ"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := GSN(465).String(), "GSN 465"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBlockRef(t *testing.T) {
	ref := NewBlockRef(BlockDBTC.WithInstance(1), 2)
	if got, want := ref.String(), "0x2f5@2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if ref.Block().Main() != BlockDBTC || ref.Block().Instance() != 1 || ref.Node() != 2 {
		t.Errorf("got %#x, %d, %d", ref.Block().Main(), ref.Block().Instance(), ref.Node())
	}
}
