package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// TCRef is the address of the coordinator instance that answered TCSEIZEREQ.
// The zero value is no coordinator.
type TCRef struct{ ref BlockRef }

// NewTCRef checks that ref is a coordinator.
func NewTCRef(ref BlockRef) (TCRef, error) {
	if ref.Block().Main() != BlockDBTC {
		return TCRef{}, fmt.Errorf("%v is no transaction coordinator", ref)
	}
	return TCRef{ref}, nil
}

// Block is the coordinator's block with its instance.
func (t TCRef) Block() Block { return t.ref.Block() }

// Node is the coordinator's node.
func (t TCRef) Node() NodeID { return t.ref.Node() }

// Operation is what TCKEYREQ does to a row.
type Operation uint8

// The operations.
const (
	OpRead          Operation = 0
	OpUpdate        Operation = 1
	OpInsert        Operation = 2
	OpDelete        Operation = 3
	OpWrite         Operation = 4 // insert, or replace the given columns
	OpReadExclusive Operation = 5
)

// KeyFlags are the bits of TCKEYREQ's request info beside the operation.
type KeyFlags uint32

// The flags.
const (
	FlagDirty             KeyFlags = 1 << 0 // with OpRead and FlagSimple: committed read
	FlagNoDisk            KeyFlags = 1 << 1
	FlagDistributionKey   KeyFlags = 1 << 2
	FlagCommit            KeyFlags = 1 << 4
	FlagSimple            KeyFlags = 1 << 8
	FlagQueueOnRedo       KeyFlags = 1 << 9
	FlagExecute           KeyFlags = 1 << 10
	FlagStart             KeyFlags = 1 << 11
	FlagIgnoreError       KeyFlags = 2 << 12
	FlagScanInfo          KeyFlags = 1 << 14
	FlagInterpreted       KeyFlags = 1 << 15
	FlagReadCommittedBase KeyFlags = 1 << 20
	FlagNoWait            KeyFlags = 1 << 21 // reads only

	operationShift = 5
	operationMask  = 7 << operationShift
)

// TCKeyReq does something to one row, found by its primary key or, with
// UniqueIndex, by the key of a unique index. Section 0 holds the key (KEYINFO),
// section 1 what to read or write (ATTRINFO); it is left out where empty.
type TCKeyReq struct {
	TC          TCRef
	UniqueIndex bool // TCINDXREQ; table and version are those of the index

	TCPointer    uint32 // of the transaction record
	OpPointer    uint32 // ours; a multiple of 4
	TableID      uint32
	TableVersion uint32
	Operation    Operation
	Flags        KeyFlags
	TransID      TransID
	ScanInfo     uint32 // with FlagScanInfo
	Distribution uint32 // with FlagDistributionKey: hash or fragment
}

// Route implements Outgoing.
func (s *TCKeyReq) Route() (GSN, Block) {
	if s.UniqueIndex {
		return GSNTCIndxReq, s.TC.Block()
	}
	return GSNTCKeyReq, s.TC.Block()
}

func (s *TCKeyReq) sectionCount() (least, most int) { return 1, 2 }

// AppendTo implements Outgoing. A commit always executes: without that the
// coordinator stops. It panics where s asks for what a data node cannot do, and
// may not survive: see allowed.
func (s *TCKeyReq) AppendTo(dst []byte) []byte {
	if !s.allowed() {
		gsn, _ := s.Route()
		panic(fmt.Sprintf("signal: %v with operation %d and flags %#x", gsn, s.Operation, uint32(s.Flags)))
	}
	flags := s.Flags
	if flags&FlagCommit != 0 {
		flags |= FlagExecute
	}
	dst = word.Append(dst, s.TCPointer, s.OpPointer, 0, s.TableID,
		uint32(flags)|uint32(s.Operation)<<operationShift, s.TableVersion, s.TransID.Low, s.TransID.High)
	if flags&FlagScanInfo != 0 {
		dst = word.Append(dst, s.ScanInfo)
	}
	if flags&FlagDistributionKey != 0 {
		dst = word.Append(dst, s.Distribution)
	}
	return dst
}

// allowed tells whether operation and flags go together. A write that does not
// wait for locks stops the data node that holds the row: only reads may do so. A
// unique index cannot insert, and the row of a committed read over it would
// never come.
func (s *TCKeyReq) allowed() bool {
	reads := s.Operation == OpRead || s.Operation == OpReadExclusive
	if s.Flags&FlagNoWait != 0 && !reads {
		return false
	}
	return !s.UniqueIndex || s.Flags&FlagDirty == 0 && s.Operation != OpInsert && s.Operation != OpWrite
}

// Decode overwrites s with m; the sections stay there. TC keeps what it was: a
// message names its receiver, not the node. What AppendTo would not write is an
// error.
func (s *TCKeyReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.UniqueIndex = m.GSN == GSNTCIndxReq
	s.TCPointer, s.OpPointer = r.Uint32(), r.Uint32()
	r.Uint32()
	s.TableID = r.Uint32()
	info := r.Uint32()
	s.Operation = Operation(info & operationMask >> operationShift)
	s.Flags = KeyFlags(info &^ operationMask)
	s.TableVersion = r.Uint32()
	s.TransID = readTransID(&r)
	s.ScanInfo, s.Distribution = 0, 0
	if s.Flags&FlagScanInfo != 0 {
		s.ScanInfo = r.Uint32()
	}
	if s.Flags&FlagDistributionKey != 0 {
		s.Distribution = r.Uint32()
	}
	least, most := s.sectionCount()
	gsn, _ := s.Route()
	if err := end(gsn, m, &r, min(max(m.NumSections, least), most)); err != nil {
		return err
	}
	if s.Flags&FlagCommit != 0 && s.Flags&FlagExecute == 0 || !s.allowed() {
		return bad(gsn, "has the info %#x", info)
	}
	return nil
}
