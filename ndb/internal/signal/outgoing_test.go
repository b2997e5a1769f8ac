package signal

import (
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// anySignal claims to be what it is told.
type anySignal struct {
	gsn   GSN
	block Block
	words int
	count int
}

func (s *anySignal) Route() (GSN, Block)             { return s.gsn, s.block }
func (s *anySignal) AppendTo(dst []byte) []byte      { return append(dst, numbered(s.words)...) }
func (s *anySignal) sectionCount() (least, most int) { return s.count, s.count }

// blockOf is the closed set: whatever is missing must not be sent.
var blockOf = map[GSN]Block{
	GSNAPIRegReq:     BlockQMGR,
	GSNGetTabInfoReq: BlockDBDICT,
	GSNListTablesReq: BlockDBDICT,
	GSNWaitGCPReq:    BlockDBDIH,
	GSNTCSeizeReq:    BlockDBTC,
	GSNTCReleaseReq:  BlockDBTC,
	GSNTCKeyReq:      BlockDBTC,
	GSNTCIndxReq:     BlockDBTC,
	GSNTCCommitReq:   BlockDBTC,
	GSNTCRollbackReq: BlockDBTC,
	GSNTCCommitAck:   BlockDBTC,
	GSNTCHbRep:       BlockDBTC,
	GSNScanTabReq:    BlockDBTC,
	GSNScanNextReq:   BlockDBTC,
}

// hasInstance tells which of them follow a record to its instance.
func hasInstance(gsn GSN) bool { return blockOf[gsn] == BlockDBTC && gsn != GSNTCSeizeReq }

func inClosedSet(gsn GSN, block Block) bool {
	want, ok := blockOf[gsn]
	if hasInstance(gsn) {
		block = block.Main()
	}
	return ok && block == want
}

func TestClosedSet_HoldsNoOtherPair(t *testing.T) {
	const allBlocks = 1 << 16
	for gsn := range GSN(1024) {
		for block := range allBlocks {
			if got, want := mayGo(gsn, Block(block)), inClosedSet(gsn, Block(block)); got != want {
				t.Fatalf("%v to block %#x: got %t, want %t", gsn, block, got, want)
			}
		}
	}
	for gsn := GSN(1024); gsn != 0; gsn++ { // until it wraps around
		for main := range Block(1 << blockMainBits) {
			if mayGo(gsn, main) {
				t.Fatalf("%v to block %#x: got true", gsn, uint16(main))
			}
		}
	}
}

func TestAppendOutgoing_PanicsOutsideClosedSet(t *testing.T) {
	blocks := []Block{
		0, 1, BlockDBTC, BlockDBDIH, BlockDBDICT, BlockQMGR, 0xF7, 0xF9, 0xFE, 0x101, 0x107, BlockPacked, BlockCluster, BlockAPI, 0xffff,
		BlockDBTC.WithInstance(1), BlockDBTC.WithInstance(4), BlockQMGR.WithInstance(1), BlockDBDICT.WithInstance(1), BlockDBDIH.WithInstance(2),
	}
	for gsn := range GSN(1024) {
		for _, block := range blocks {
			got := panics(func() { AppendOutgoing(Format{}, nil, BlockAPI, &anySignal{gsn: gsn, block: block}) })
			if want := !inClosedSet(gsn, block); got != want {
				t.Fatalf("%v to block %#x: panics %t, want %t", gsn, uint16(block), got, want)
			}
		}
	}
}

func TestAppendOutgoing_PanicsWithoutCoordinator(t *testing.T) {
	for _, s := range []Outgoing{&TCKeyReq{}, &TCCommitReq{}, &TCRollbackReq{}, &TCCommitAck{}, &TCHbRep{}, &TCReleaseReq{}, &ScanNextReq{Close: true}} {
		if !panics(func() { AppendOutgoing(Format{}, nil, BlockAPI, s, numbered(1)) }) {
			t.Errorf("%T: got no panic", s)
		}
	}
}

func TestAppendOutgoing_PanicsForSectionsThatDoNotFit(t *testing.T) {
	key := &TCKeyReq{TC: testTC}
	one, two := numbered(1), numbered(2)
	byName := must(NewGetTabInfoByName(1, testRef, "a/def/b"))
	tests := []struct {
		name     string
		s        Outgoing
		sections [][]byte
		want     bool
	}{
		{"a key", key, [][]byte{one}, false},
		{"key and attributes", key, [][]byte{one, two}, false},
		{"no key", key, nil, true},
		{"an empty key", key, [][]byte{nil}, true},
		{"empty attributes", key, [][]byte{one, {}}, true},
		{"three sections", key, [][]byte{one, one, one}, true},
		{"half a word", key, [][]byte{{1, 2}}, true},
		{"as much as possible", key, [][]byte{one, make([]byte, MaxSectionBytes-len(one))}, false},
		{"too much", key, [][]byte{one, make([]byte, MaxSectionBytes)}, true},
		{"a name", byName, byName.Sections(), false},
		{"no name", byName, nil, true},
		{"a name for an id", NewGetTabInfoByID(1, testRef, 7), byName.Sections(), true},
		{"section of a commit", &TCCommitReq{TC: testTC}, [][]byte{one}, true},
		{"data words", &anySignal{gsn: GSNAPIRegReq, block: BlockQMGR, words: MaxDataWords + 1}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := panics(func() { AppendOutgoing(Format{}, nil, BlockAPI, tt.s, tt.sections...) }); got != tt.want {
				t.Errorf("panics: got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestTCKeyReq_CommitAlwaysExecutes(t *testing.T) {
	s := &TCKeyReq{TC: testTC, Operation: OpUpdate, Flags: FlagStart | FlagCommit}
	if got, want := word.At(s.AppendTo(nil), 4), uint32(0xc30); got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
	m := message(s)
	word.Put(m.Data, 4, word.At(m.Data, 4)&^uint32(FlagExecute))
	if err := s.Decode(m); err == nil {
		t.Error("decoding a commit that does not execute: got no error")
	}
}

func TestTCKeyReq_UniqueIndexRefusesWhatHangs(t *testing.T) {
	for _, s := range []*TCKeyReq{
		{UniqueIndex: true, Operation: OpInsert},
		{UniqueIndex: true, Operation: OpWrite},
		{UniqueIndex: true, Operation: OpRead, Flags: FlagDirty | FlagSimple},
	} {
		if !panics(func() { s.AppendTo(nil) }) {
			t.Errorf("operation %d, flags %#x: got no panic", s.Operation, uint32(s.Flags))
		}
		m := message(&TCKeyReq{Operation: s.Operation, Flags: s.Flags})
		m.GSN = GSNTCIndxReq
		if err := s.Decode(m); err == nil {
			t.Errorf("decoding operation %d, flags %#x: got no error", s.Operation, uint32(s.Flags))
		}
	}
}

func TestNewTCRef_RefusesOtherBlocks(t *testing.T) {
	for _, block := range []Block{0, BlockDBDICT, BlockQMGR, BlockAPI, BlockCluster} {
		if tc, err := NewTCRef(NewBlockRef(block, 2)); err == nil {
			t.Errorf("block %#x: got %v, want an error", uint16(block), tc)
		}
	}
	tc, err := NewTCRef(NewBlockRef(BlockDBTC.WithInstance(3), 2))
	if err != nil || tc.Node() != 2 || tc.Block().Instance() != 3 {
		t.Errorf("got %v, %v", tc, err)
	}
}
