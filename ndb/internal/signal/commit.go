package signal

import "github.com/ndbgate/ndbgate/ndb/internal/word"

// TCCommitReq commits a transaction all of whose operations are answered. The
// answer is TCCommitConf or TCCommitRef; none comes where the record has
// another transaction.
type TCCommitReq struct {
	TC        TCRef
	TCPointer uint32
	TransID   TransID
}

// Route implements Outgoing.
func (s *TCCommitReq) Route() (GSN, Block) { return GSNTCCommitReq, s.TC.Block() }

func (s *TCCommitReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *TCCommitReq) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.TCPointer, s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m. TC keeps what it was.
func (s *TCCommitReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.TCPointer, s.TransID = r.Uint32(), readTransID(&r)
	return end(GSNTCCommitReq, m, &r, 0)
}

// TCCommitConf says that a transaction is committed.
type TCCommitConf struct {
	Pointer uint32 // of TCSeizeReq
	Marker  bool   // a TCCommitAck to the sender is due
	TransID TransID
	GCI     uint64
}

// GSN implements Incoming.
func (s *TCCommitConf) GSN() GSN { return GSNTCCommitConf }

// AppendTo implements Incoming.
func (s *TCCommitConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, withMarker(s.Pointer, s.Marker), s.TransID.Low, s.TransID.High, gciHigh(s.GCI), gciLow(s.GCI))
}

// Decode overwrites s with m.
func (s *TCCommitConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	pointer := r.Uint32()
	s.Pointer, s.Marker = pointer&^markerBit, pointer&markerBit != 0
	s.TransID = readTransID(&r)
	s.GCI = gci(r.Uint32(), r.Uint32())
	return end(GSNTCCommitConf, m, &r, 0)
}

// TCCommitRef refuses a TCCommitReq.
type TCCommitRef struct {
	Pointer uint32 // of TCSeizeReq
	TransID TransID
	Error   uint32
}

// GSN implements Incoming.
func (s *TCCommitRef) GSN() GSN { return GSNTCCommitRef }

// AppendTo implements Incoming.
func (s *TCCommitRef) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.Pointer, s.TransID.Low, s.TransID.High, s.Error)
}

// Decode overwrites s with m.
func (s *TCCommitRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer, s.TransID, s.Error = r.Uint32(), readTransID(&r), r.Uint32()
	return end(GSNTCCommitRef, m, &r, 0)
}

// TCRollbackReq aborts a transaction. The answer is TCRollbackConf or
// TCRollbackRef; none comes where the record has another transaction.
type TCRollbackReq struct {
	TC        TCRef
	TCPointer uint32
	TransID   TransID
}

// Route implements Outgoing.
func (s *TCRollbackReq) Route() (GSN, Block) { return GSNTCRollbackReq, s.TC.Block() }

func (s *TCRollbackReq) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *TCRollbackReq) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.TCPointer, s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m. TC keeps what it was.
func (s *TCRollbackReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.TCPointer, s.TransID = r.Uint32(), readTransID(&r)
	return end(GSNTCRollbackReq, m, &r, 0)
}

// TCRollbackConf says that a transaction is aborted.
type TCRollbackConf struct {
	Pointer uint32 // of TCSeizeReq
	TransID TransID
}

// GSN implements Incoming.
func (s *TCRollbackConf) GSN() GSN { return GSNTCRollbackConf }

// AppendTo implements Incoming.
func (s *TCRollbackConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.Pointer, s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m.
func (s *TCRollbackConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer, s.TransID = r.Uint32(), readTransID(&r)
	return end(GSNTCRollbackConf, m, &r, 0)
}

// TCRollbackRef refuses a TCRollbackReq: 232 while it commits or scans.
type TCRollbackRef struct {
	Pointer uint32 // of TCSeizeReq
	TransID TransID
	Error   uint32
}

// GSN implements Incoming.
func (s *TCRollbackRef) GSN() GSN { return GSNTCRollbackRef }

// AppendTo implements Incoming.
func (s *TCRollbackRef) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.Pointer, s.TransID.Low, s.TransID.High, s.Error)
}

// Decode overwrites s with m. Words may follow.
func (s *TCRollbackRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer, s.TransID, s.Error = r.Uint32(), readTransID(&r), r.Uint32()
	if r.Err() == nil {
		r.Skip()
	}
	return end(GSNTCRollbackRef, m, &r, 0)
}

// TCCommitAck lets the coordinator forget a commit. It goes to the sender of
// the TCKeyConf, TCCommitConf or TCKeyFailConf whose Marker asks for it, always:
// without it the data nodes run out of markers.
type TCCommitAck struct {
	TC      TCRef
	TransID TransID
}

// Route implements Outgoing.
func (s *TCCommitAck) Route() (GSN, Block) { return GSNTCCommitAck, s.TC.Block() }

func (s *TCCommitAck) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *TCCommitAck) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m. TC keeps what it was.
func (s *TCCommitAck) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.TransID = readTransID(&r)
	return end(GSNTCCommitAck, m, &r, 0)
}

// TCHbRep keeps an open transaction from its inactivity timeout. It has no
// answer.
type TCHbRep struct {
	TC        TCRef
	TCPointer uint32
	TransID   TransID
}

// Route implements Outgoing.
func (s *TCHbRep) Route() (GSN, Block) { return GSNTCHbRep, s.TC.Block() }

func (s *TCHbRep) sectionCount() (least, most int) { return 0, 0 }

// AppendTo implements Outgoing.
func (s *TCHbRep) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.TCPointer, s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m. TC keeps what it was.
func (s *TCHbRep) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.TCPointer, s.TransID = r.Uint32(), readTransID(&r)
	return end(GSNTCHbRep, m, &r, 0)
}
