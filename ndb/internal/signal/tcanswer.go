package signal

import "github.com/ndbgate/ndbgate/ndb/internal/word"

// TCKeyConf confirms operations of a batch, in parts of a few each. The one
// with Committed is the last.
type TCKeyConf struct {
	// Pointer is that of TCSeizeReq, or RNIL: then the first operation leads
	// to the transaction.
	Pointer   uint32
	GCI       uint64 // of the commit; 0 where nothing was written
	Committed bool
	Marker    bool // a TCCommitAck to the sender is due
	TransID   TransID
	ops       []byte
}

// The word that counts the operations.
const (
	keyConfCountMask = 0xffff
	keyConfCommitted = 1 << 16
	keyConfMarker    = 1 << 17 // means nothing without keyConfCommitted
	keyConfOpBytes   = 2 * word.SizeBytes
)

// committedReadBit is set in the length of a committed read.
const committedReadBit = 1 << 31

// Len is how many operations are confirmed. It can be 0.
func (s *TCKeyConf) Len() int { return len(s.ops) / keyConfOpBytes }

// Op returns operation i of Len: its pointer, and how many attribute words its
// TransIDAI bring. ReadNode tells where the length is something else.
func (s *TCKeyConf) Op(i int) (pointer, length uint32) {
	return word.At(s.ops, 2*i), word.At(s.ops, 2*i+1)
}

// AddOp adds an operation for encoding.
func (s *TCKeyConf) AddOp(pointer, length uint32) { s.ops = word.Append(s.ops, pointer, length) }

// ReadNode tells whether a length of TCKeyConf is that of a committed
// read, which says instead which node answers it.
func ReadNode(length uint32) (node NodeID, ok bool) {
	if length&committedReadBit == 0 {
		return 0, false
	}
	return NodeID(length), true
}

// CommittedReadLength is the length in TCKeyConf of a committed read that node
// answers.
func CommittedReadLength(node NodeID) uint32 { return committedReadBit | uint32(node) }

// GSN implements Incoming.
func (s *TCKeyConf) GSN() GSN { return GSNTCKeyConf }

// AppendTo implements Incoming.
func (s *TCKeyConf) AppendTo(dst []byte) []byte {
	info := uint32(s.Len())
	if s.Committed {
		info |= keyConfCommitted
		if s.Marker {
			info |= keyConfMarker
		}
	}
	dst = word.Append(dst, s.Pointer, gciHigh(s.GCI), info, s.TransID.Low, s.TransID.High)
	dst = append(dst, s.ops...)
	return word.Append(dst, gciLow(s.GCI))
}

// Decode overwrites s with m. The operations share memory with m.
func (s *TCKeyConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer = r.Uint32()
	high := r.Uint32()
	info := r.Uint32()
	s.Committed = info&keyConfCommitted != 0
	s.Marker = s.Committed && info&keyConfMarker != 0
	s.TransID = readTransID(&r)
	s.ops = r.Bytes(int(info&keyConfCountMask) * keyConfOpBytes)
	s.GCI = gci(high, r.Uint32())
	return end(GSNTCKeyConf, m, &r, 0)
}

// TransIDAI brings attributes that an operation or a scan reads. It comes from
// the data node that holds the row: on another link than the coordinator's
// answer, and before or after it.
type TransIDAI struct {
	Pointer    uint32 // of the operation, or the scan's receiver
	TransID    TransID
	Attributes []byte // whole words, shared with the message
}

// Where the attributes travel: in the data words up to this many.
const maxInlineAttributeBytes = 22 * word.SizeBytes

// GSN implements Incoming.
func (s *TransIDAI) GSN() GSN { return GSNTransIDAI }

// AppendTo implements Incoming.
func (s *TransIDAI) AppendTo(dst []byte) []byte {
	dst = word.Append(dst, s.Pointer, s.TransID.Low, s.TransID.High)
	if len(s.Attributes) <= maxInlineAttributeBytes {
		dst = append(dst, s.Attributes...)
	}
	return dst
}

// Sections implements Sectioned.
func (s *TransIDAI) Sections() [][]byte {
	if len(s.Attributes) <= maxInlineAttributeBytes {
		return nil
	}
	return [][]byte{s.Attributes}
}

// Decode overwrites s with m.
func (s *TransIDAI) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer = r.Uint32()
	s.TransID = readTransID(&r)
	if m.NumSections == 0 {
		s.Attributes = r.Rest()
		return end(GSNTransIDAI, m, &r, 0)
	}
	s.Attributes = m.Sections[0]
	return end(GSNTransIDAI, m, &r, 1)
}

// TCKeyRef says that one operation failed and its transaction lives. For a
// committed read it comes from the row's node, besides TCKeyConf.
type TCKeyRef struct {
	UniqueIndex bool // TCINDXREF: refuses a TCKeyReq with UniqueIndex
	OpPointer   uint32
	TransID     TransID
	Error       uint32
	Detail      uint32
}

// GSN implements Incoming.
func (s *TCKeyRef) GSN() GSN {
	if s.UniqueIndex {
		return GSNTCIndxRef
	}
	return GSNTCKeyRef
}

// AppendTo implements Incoming.
func (s *TCKeyRef) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.OpPointer, s.TransID.Low, s.TransID.High, s.Error, s.Detail)
}

// Decode overwrites s with m.
func (s *TCKeyRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.UniqueIndex = m.GSN == GSNTCIndxRef
	s.OpPointer = r.Uint32()
	s.TransID = readTransID(&r)
	s.Error, s.Detail = r.Uint32(), r.Uint32()
	return end(s.GSN(), m, &r, 0)
}

// TCRollbackRep says that the coordinator aborted a transaction: it is over,
// and answers to its operations do not count.
type TCRollbackRep struct {
	Pointer uint32 // of TCSeizeReq
	TransID TransID
	Error   uint32
	Detail  uint32 // for 893, the id of the unique index
}

// GSN implements Incoming.
func (s *TCRollbackRep) GSN() GSN { return GSNTCRollbackRep }

// AppendTo implements Incoming.
func (s *TCRollbackRep) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.Pointer, s.TransID.Low, s.TransID.High, s.Error, s.Detail)
}

// Decode overwrites s with m.
func (s *TCRollbackRep) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Pointer = r.Uint32()
	s.TransID = readTransID(&r)
	s.Error, s.Detail = r.Uint32(), r.Uint32()
	return end(GSNTCRollbackRep, m, &r, 0)
}

// markerBit, in a pointer of ours that a coordinator sends back, says that a
// TCCommitAck to the sender is due. Our own pointers leave it 0.
const markerBit = 1

func withMarker(pointer uint32, marker bool) uint32 {
	pointer &^= markerBit
	if marker {
		pointer |= markerBit
	}
	return pointer
}

// TCKeyFailConf says that a transaction whose coordinator failed is committed.
type TCKeyFailConf struct {
	OpPointer uint32 // of one of its operations
	Marker    bool   // a TCCommitAck to the sender is due
	TransID   TransID
}

// GSN implements Incoming.
func (s *TCKeyFailConf) GSN() GSN { return GSNTCKeyFailConf }

// AppendTo implements Incoming.
func (s *TCKeyFailConf) AppendTo(dst []byte) []byte {
	return word.Append(dst, withMarker(s.OpPointer, s.Marker), s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m.
func (s *TCKeyFailConf) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	pointer := r.Uint32()
	s.OpPointer, s.Marker = pointer&^markerBit, pointer&markerBit != 0
	s.TransID = readTransID(&r)
	return end(GSNTCKeyFailConf, m, &r, 0)
}

// TCKeyFailRef says that a transaction whose coordinator failed is aborted.
type TCKeyFailRef struct {
	OpPointer uint32 // of one of its operations
	TransID   TransID
}

// GSN implements Incoming.
func (s *TCKeyFailRef) GSN() GSN { return GSNTCKeyFailRef }

// AppendTo implements Incoming.
func (s *TCKeyFailRef) AppendTo(dst []byte) []byte {
	return word.Append(dst, s.OpPointer, s.TransID.Low, s.TransID.High)
}

// Decode overwrites s with m.
func (s *TCKeyFailRef) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.OpPointer = r.Uint32()
	s.TransID = readTransID(&r)
	return end(GSNTCKeyFailRef, m, &r, 0)
}
