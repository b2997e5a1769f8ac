package signal

import (
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

func validScan(change func(s *ScanTabReq)) *ScanTabReq {
	s := &ScanTabReq{
		TC: testTC, TCPointer: 0x79, Target: IndexScan(8, 1), TransID: testTransID,
		BatchRows: 256, BatchBytes: 16384, Receivers: []uint32{4, 8}, AttrInfo: numbered(6),
	}
	change(s)
	return s
}

func TestScanTabReq_PanicsForDangerousScans(t *testing.T) {
	tests := []struct {
		name   string
		change func(s *ScanTabReq)
		want   bool
	}{
		{"valid", func(*ScanTabReq) {}, false},
		{"descending table", func(s *ScanTabReq) { s.Target, s.Flags = TableScan(4, 1), ScanDescending }, true},
		{"memory order of an index", func(s *ScanTabReq) { s.Flags = ScanMemoryOrder }, true},
		{"unknown flag", func(s *ScanTabReq) { s.Flags = scanPrunedBit }, true},
		{"bounds of a table", func(s *ScanTabReq) { s.Target, s.Bounds = TableScan(4, 1), numbered(3) }, true},
		{"no rows", func(s *ScanTabReq) { s.BatchRows = 0 }, true},
		{"too many rows", func(s *ScanTabReq) { s.BatchRows = MaxScanBatchRows + 1 }, true},
		{"no receivers", func(s *ScanTabReq) { s.Receivers = nil }, true},
		{"short ATTRINFO", func(s *ScanTabReq) { s.AttrInfo = numbered(4) }, true},
		{"unknown lock", func(s *ScanTabReq) { s.Lock = ScanExclusive + 1 }, true},
		{"transaction without record", func(s *ScanTabReq) { s.InTransaction, s.Buddy = true, noBuddy }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := panics(func() { validScan(tt.change).AppendTo(nil) }); got != tt.want {
				t.Errorf("panics: got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestScanTabReq_PrunedTableScanIsNoScan(t *testing.T) {
	m := message(validScan(func(s *ScanTabReq) { s.Target = PrunedIndexScan(8, 1, 3) }))
	word.Put(m.Data, 2, word.At(m.Data, 2)&^scanRangeBit)
	if err := new(ScanTabReq).Decode(m); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage", err)
	}
}

func TestScanTabReq_TargetSaysWhatItIs(t *testing.T) {
	target := PrunedIndexScan(8, 1, 3)
	hash, pruned := target.Partition()
	if target.ID() != 8 || target.Version() != 1 || !target.Index() || hash != 3 || !pruned {
		t.Errorf("got %+v", target)
	}
	if _, pruned := TableScan(8, 1).Partition(); pruned || TableScan(8, 1).Index() {
		t.Errorf("got %+v", TableScan(8, 1))
	}
}

func TestScanTabConf_OpsAndPointers(t *testing.T) {
	conf := &ScanTabConf{Pointer: 0x2c, TransID: testTransID}
	conf.AddOp(0x30, 0, 5, 100)
	conf.AddOp(0x34, RNIL, 1023, 1<<22-1)
	var got ScanTabConf
	if err := got.Decode(message(conf)); err != nil || got.Len() != 2 {
		t.Fatalf("got %d batches, %v, want 2", got.Len(), err)
	}
	receiver, first, rows, words := got.Op(0)
	if receiver != 0x30 || !first.IsValid() || first.Value() != 0 || rows != 5 || words != 100 {
		t.Errorf("got %#x, %v, %d, %d", receiver, first, rows, words)
	}
	receiver, last, rows, words := got.Op(1)
	if receiver != 0x34 || last.IsValid() || last.Value() != RNIL || rows != 1023 || words != 1<<22-1 {
		t.Errorf("got %#x, %v, %d, %d", receiver, last, rows, words)
	}
	if !panics(func() { conf.AddOp(1, 2, 1024, 0) }) {
		t.Error("1024 rows: got no panic")
	}
}

func TestScanNextReq_PanicsForPointersThatStopADataNode(t *testing.T) {
	p := fragments(2)
	tests := []struct {
		name string
		s    ScanNextReq
		want bool
	}{
		{"two fragments", ScanNextReq{Fragments: p}, false},
		{"close", ScanNextReq{Close: true}, false},
		{"the same twice", ScanNextReq{Fragments: append(p, p[0])}, true},
		{"no batch to come", ScanNextReq{Fragments: []FragmentPointer{{}}}, true},
		{"nothing", ScanNextReq{}, true},
		{"close with fragments", ScanNextReq{Close: true, Fragments: p}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := panics(func() { tt.s.AppendTo(nil) }); got != tt.want {
				t.Errorf("panics: got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestScanNextReq_DecodeRefusesTheSamePointerTwice(t *testing.T) {
	m := message(&ScanNextReq{Fragments: fragments(2)})
	word.Put(m.Data, 5, 0)
	if err := new(ScanNextReq).Decode(m); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage", err)
	}
}

func TestWaitGCPReq_KnowsOneType(t *testing.T) {
	if !panics(func() { (&WaitGCPReq{}).AppendTo(nil) }) {
		t.Error("no type: got no panic")
	}
	m := &Message{Data: word.Append(nil, uint32(testRef), 1, 2)}
	if err := new(WaitGCPReq).Decode(m); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage", err)
	}
}
