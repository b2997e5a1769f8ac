package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// FragmentPointer is what a coordinator gives with the batch of a fragment, to
// ask for the next batch: once. Nobody but Decode makes one: a data node stops
// at one that it did not give, or gets twice. The zero value is none.
type FragmentPointer struct {
	pointer   uint32
	delivered bool
}

// IsValid tells whether there is a batch to ask for.
func (p FragmentPointer) IsValid() bool { return p.delivered }

// Value is the word that travels: RNIL where there is no batch to ask for.
func (p FragmentPointer) Value() uint32 {
	if !p.delivered {
		return RNIL
	}
	return p.pointer
}

func newFragmentPointer(w uint32) FragmentPointer {
	if w == RNIL {
		return FragmentPointer{}
	}
	return FragmentPointer{pointer: w, delivered: true}
}

// ScanTabConf ends batches of a scan, or confirms its close.
type ScanTabConf struct {
	Pointer   uint32 // of TCSeizeReq
	TransID   TransID
	EndOfData bool // the data nodes are done with the scan: it is not closed
	ops       []byte
}

// The words of ScanTabConf.
const (
	scanConfEndOfData      = 1 << 31
	scanConfCountMask      = scanConfEndOfData - 1
	scanConfHeadWords      = 4
	scanConfOpWords        = 3
	scanConfOpBytes        = scanConfOpWords * word.SizeBytes
	scanConfMaxInlineBytes = (MaxDataWords - scanConfHeadWords) / scanConfOpWords * scanConfOpBytes
	scanOpRowsBits         = 10
	scanOpRowsMask         = 1<<scanOpRowsBits - 1
	scanOpWordsMask        = 1<<(32-scanOpRowsBits) - 1
)

// Len is how many batches end. With EndOfData it can be 0.
func (s *ScanTabConf) Len() int { return len(s.ops) / scanConfOpBytes }

// Op returns batch i of Len: it is complete when TransIDAI and KeyInfo20 for
// receiver have brought so many rows, with so many words of attributes and keys
// together. Where words is 0, no TransIDAI comes.
func (s *ScanTabConf) Op(i int) (receiver uint32, fragment FragmentPointer, rows, words uint32) {
	w := word.At(s.ops, scanConfOpWords*i+2)
	return word.At(s.ops, scanConfOpWords*i), newFragmentPointer(word.At(s.ops, scanConfOpWords*i+1)),
		w & scanOpRowsMask, w >> scanOpRowsBits
}

// AddOp adds a batch for encoding. A fragment of RNIL has no further batch.
func (s *ScanTabConf) AddOp(receiver, fragment, rows, words uint32) {
	if rows > scanOpRowsMask || words > scanOpWordsMask {
		panic(fmt.Sprintf("signal: SCAN_TABCONF with %d rows and %d words", rows, words))
	}
	s.ops = word.Append(s.ops, receiver, fragment, words<<scanOpRowsBits|rows)
}

// GSN implements Incoming.
func (s *ScanTabConf) GSN() GSN { return GSNScanTabConf }

// AppendTo implements Incoming.
func (s *ScanTabConf) AppendTo(dst []byte) []byte {
	info := uint32(s.Len())
	if s.EndOfData {
		info |= scanConfEndOfData
	}
	dst = word.Append(dst, s.Pointer, info, s.TransID.Low, s.TransID.High)
	if len(s.ops) <= scanConfMaxInlineBytes {
		dst = append(dst, s.ops...)
	}
	return dst
}

// Sections implements Sectioned.
func (s *ScanTabConf) Sections() [][]byte {
	if len(s.ops) <= scanConfMaxInlineBytes {
		return nil
	}
	return [][]byte{s.ops}
}

// Decode overwrites s with m. The batches share memory with m.
func (s *ScanTabConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer = r.Uint32()
	info := r.Uint32()
	s.EndOfData = info&scanConfEndOfData != 0
	s.TransID = readTransID(&r)
	sections := 0
	if m.NumSections == 0 {
		s.ops = r.Rest()
	} else {
		s.ops, sections = m.Sections[0], 1
	}
	if err := end(GSNScanTabConf, m, &r, sections); err != nil {
		return err
	}
	if count := info & scanConfCountMask; uint64(count)*scanConfOpBytes != uint64(len(s.ops)) {
		return bad(GSNScanTabConf, "announces %d batches in %d bytes", count, len(s.ops))
	}
	return nil
}

// ScanTabRef says that a scan failed.
type ScanTabRef struct {
	Pointer     uint32 // of TCSeizeReq
	TransID     TransID
	Error       uint32
	CloseNeeded bool // a ScanNextReq with Close is due, and its ScanTabConf comes
}

// GSN implements Incoming.
func (s *ScanTabRef) GSN() GSN { return GSNScanTabRef }

// AppendTo implements Incoming.
func (s *ScanTabRef) AppendTo(dst []byte) []byte {
	var closeNeeded uint32
	if s.CloseNeeded {
		closeNeeded = 1
	}
	return word.Append(dst, s.Pointer, s.TransID.Low, s.TransID.High, s.Error, closeNeeded)
}

// Decode overwrites s with m.
func (s *ScanTabRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = ScanTabRef{Pointer: r.Uint32(), TransID: readTransID(&r), Error: r.Uint32(), CloseNeeded: r.Uint32() != 0}
	return end(GSNScanTabRef, m, &r, 0)
}

// ScanNextReq asks for the next batch of fragments, or closes a scan. Each
// FragmentPointer goes out once. It lets go of the locks of the batches.
type ScanNextReq struct {
	TC        TCRef
	TCPointer uint32
	TransID   TransID
	Close     bool
	Fragments []FragmentPointer // none with Close, at least one without
}

const scanNextMaxInline = 21

// Route implements Outgoing.
func (s *ScanNextReq) Route() (GSN, Block) { return GSNScanNextReq, s.TC.Block() }

func (s *ScanNextReq) sectionCount() (least, most int) {
	if len(s.Fragments) > scanNextMaxInline {
		return 1, 1
	}
	return 0, 0
}

// AppendTo implements Outgoing. It panics where Fragments has one that is not
// valid, or one twice.
func (s *ScanNextReq) AppendTo(dst []byte) []byte {
	if err := s.check(); err != nil {
		panic("signal: " + err.Error())
	}
	var stop uint32
	if s.Close {
		stop = 1
	}
	dst = word.Append(dst, s.TCPointer, stop, s.TransID.Low, s.TransID.High)
	if len(s.Fragments) <= scanNextMaxInline {
		dst = s.appendFragments(dst)
	}
	return dst
}

// Sections implements Sectioned.
func (s *ScanNextReq) Sections() [][]byte {
	if len(s.Fragments) <= scanNextMaxInline {
		return nil
	}
	return [][]byte{s.appendFragments(nil)}
}

func (s *ScanNextReq) appendFragments(dst []byte) []byte {
	for _, p := range s.Fragments {
		dst = word.Append(dst, p.pointer)
	}
	return dst
}

func (s *ScanNextReq) check() error {
	if s.Close == (len(s.Fragments) > 0) {
		return fmt.Errorf("SCAN_NEXTREQ with close %t and %d fragments", s.Close, len(s.Fragments))
	}
	for i, p := range s.Fragments {
		if !p.delivered {
			return fmt.Errorf("SCAN_NEXTREQ with a fragment that has no batch")
		}
		// Few enough that a set would cost more.
		for _, q := range s.Fragments[:i] {
			if p == q {
				return fmt.Errorf("SCAN_NEXTREQ with fragment %#x twice", p.pointer)
			}
		}
	}
	return nil
}

// Decode overwrites s with m; TC keeps what it was. Whatever AppendTo would
// not write is an error.
func (s *ScanNextReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = ScanNextReq{TC: s.TC, TCPointer: r.Uint32()}
	stop := r.Uint32()
	s.Close = stop != 0
	s.TransID = readTransID(&r)
	fragments, sections := r, 0
	if m.NumSections > 0 {
		fragments, sections = word.NewReader(m.Sections[0]), 1
	} else {
		r.Skip()
	}
	if err := end(GSNScanNextReq, m, &r, sections); err != nil {
		return err
	}
	if stop > 1 {
		return bad(GSNScanNextReq, "has the stop word %d", stop)
	}
	for fragments.Len() > 0 {
		s.Fragments = append(s.Fragments, newFragmentPointer(fragments.Uint32()))
	}
	if err := s.check(); err != nil {
		return bad(GSNScanNextReq, "%v", err)
	}
	return nil
}
