package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// WaitGCPType says what WaitGCPReq waits for.
type WaitGCPType uint32

// WaitGCPComplete waits for the end of the global checkpoint that is open when
// the request comes: never only of one that is being written, to which commits
// from then on do not belong. It is the one type that an API node sends.
const WaitGCPComplete WaitGCPType = 1

// WaitGCPReq waits for a global checkpoint: when one is complete whose id is
// not below the high half of a commit's GCI, that commit is on disk. The answer
// is WaitGCPConf or WaitGCPRef.
type WaitGCPReq struct {
	Ref       BlockRef // ours
	RequestID uint32
	Type      WaitGCPType
}

// Route implements Outgoing.
func (s *WaitGCPReq) Route() (GSN, Block) { return GSNWaitGCPReq, BlockDBDIH }

func (s *WaitGCPReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing. It panics where Type is none.
func (s *WaitGCPReq) AppendTo(dst []byte) []byte {
	if s.Type != WaitGCPComplete {
		panic(fmt.Sprintf("signal: WAIT_GCP_REQ of type %d", s.Type))
	}
	return word.Append(dst, uint32(s.Ref), s.RequestID, uint32(s.Type))
}

// Decode overwrites s with m.
func (s *WaitGCPReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = WaitGCPReq{Ref: BlockRef(r.Uint32()), RequestID: r.Uint32(), Type: WaitGCPType(r.Uint32())}
	if err := end(GSNWaitGCPReq, m, &r, 0); err != nil {
		return err
	}
	if s.Type != WaitGCPComplete {
		return bad(GSNWaitGCPReq, "has the type %d", s.Type)
	}
	return nil
}

// WaitGCPConf says which global checkpoint is complete.
type WaitGCPConf struct {
	RequestID uint32
	GCI       uint64
}

// GSN implements Incoming.
func (s *WaitGCPConf) GSN() GSN { return GSNWaitGCPConf }

// AppendTo implements Incoming.
func (s *WaitGCPConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.RequestID, gciHigh(s.GCI), 0, gciLow(s.GCI))
}

// Decode overwrites s with m.
func (s *WaitGCPConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.RequestID = r.Uint32()
	high := r.Uint32()
	r.Uint32()
	s.GCI = gci(high, r.Uint32())
	return end(GSNWaitGCPConf, m, &r, 0)
}

// WaitGCPRef refuses a WaitGCPReq.
type WaitGCPRef struct {
	Error     uint32 // one of those below; others may exist
	RequestID uint32
}

// The errors of WaitGCPRef. Both are over soon.
const (
	WaitGCPNoMaster = 1 // the master was lost meanwhile
	WaitGCPTooMany  = 2 // as many requests wait as the data node takes: 10 where it is not the master
)

// GSN implements Incoming.
func (s *WaitGCPRef) GSN() GSN { return GSNWaitGCPRef }

// AppendTo implements Incoming.
func (s *WaitGCPRef) AppendTo(dst []byte) []byte { return word.Append(dst, s.Error, s.RequestID) }

// Decode overwrites s with m.
func (s *WaitGCPRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = WaitGCPRef{Error: r.Uint32(), RequestID: r.Uint32()}
	return end(GSNWaitGCPRef, m, &r, 0)
}
