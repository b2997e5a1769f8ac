package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// ScanTarget is what a scan goes over. TableScan, IndexScan and
// PrunedIndexScan make one: a scan of a table cannot be pruned, that stops the
// data nodes.
type ScanTarget struct {
	id, version uint32
	index       bool
	pruned      bool
	partition   uint32
}

// TableScan is a scan of all fragments of a table.
func TableScan(id, version uint32) ScanTarget { return ScanTarget{id: id, version: version} }

// IndexScan is a scan of all fragments of an ordered index, whose id and
// version these are.
func IndexScan(id, version uint32) ScanTarget {
	return ScanTarget{id: id, version: version, index: true}
}

// PrunedIndexScan is a scan of the one fragment of an ordered index that holds
// a distribution key with this hash.
func PrunedIndexScan(id, version, hash uint32) ScanTarget {
	return ScanTarget{id: id, version: version, index: true, pruned: true, partition: hash}
}

// ID is the id of the table or the index.
func (t ScanTarget) ID() uint32 { return t.id }

// Version is its schema version.
func (t ScanTarget) Version() uint32 { return t.version }

// Index tells whether it is an ordered index.
func (t ScanTarget) Index() bool { return t.index }

// Partition is the hash of the distribution key of a pruned scan.
func (t ScanTarget) Partition() (hash uint32, pruned bool) { return t.partition, t.pruned }

// ScanLock says how a scan locks the rows that it reads. The locks last until
// the ScanNextReq of their batch.
type ScanLock uint32

// The locks.
const (
	ScanCommittedRead ScanLock = iota // none: each row as committed when it is read
	ScanShared
	ScanExclusive
)

// ScanFlags are the choices of a scan beside its target and its lock.
type ScanFlags uint32

// The flags.
const (
	ScanNoDisk      ScanFlags = 1 << 9  // no column on disk is read
	ScanKeyInfo     ScanFlags = 1 << 12 // a KeyInfo20 comes with each row
	ScanMemoryOrder ScanFlags = 1 << 13 // for tables
	ScanDescending  ScanFlags = 1 << 14 // for indexes

	scanTableFlags = ScanNoDisk | ScanKeyInfo | ScanMemoryOrder
	scanIndexFlags = ScanNoDisk | ScanKeyInfo | ScanDescending
)

// The other bits of the request info.
const (
	scanExclusiveBit     = 1 << 8
	scanHoldLockBit      = 1 << 10
	scanReadCommittedBit = 1 << 11
	scanRangeBit         = 1 << 15
	scanBatchRowsShift   = 16
	scanBatchRowsMask    = 0x3ff
	scanPrunedBit        = 1 << 26
	scanLockMask         = scanExclusiveBit | scanHoldLockBit | scanReadCommittedBit
)

// scanLockBits has the bits of each ScanLock.
var scanLockBits = [...]uint32{
	ScanCommittedRead: scanReadCommittedBit,
	ScanShared:        scanHoldLockBit,
	ScanExclusive:     scanHoldLockBit | scanExclusiveBit,
}

// Limits and fixed words of ScanTabReq.
const (
	MaxScanBatchRows = 992

	noBuddy           = 0xffffffff
	noStoredProcedure = 0xffff
	attrInfoHeadBytes = 5 * word.SizeBytes
)

// ScanTabReq starts a scan on a transaction record of its own. Rows come as
// TransIDAI, batches end with ScanTabConf, failures come as ScanTabRef.
type ScanTabReq struct {
	TC        TCRef
	TCPointer uint32 // of the scan's record
	Target    ScanTarget
	Lock      ScanLock
	Flags     ScanFlags
	TransID   TransID

	// InTransaction says that the scan belongs to the transaction of the
	// record Buddy of the same coordinator, and has its TransID.
	InTransaction bool
	Buddy         uint32

	BatchRows  int    // per fragment: 1 to MaxScanBatchRows
	BatchBytes uint32 // per fragment; the last row may go beyond

	Receivers []uint32 // section 0: one pointer of ours for each fragment that is scanned at a time
	AttrInfo  []byte   // section 1: five lengths, what to read, the program
	Bounds    []byte   // section 2, of an index only; without, all of it
}

// Route implements Outgoing.
func (s *ScanTabReq) Route() (GSN, Block) { return GSNScanTabReq, s.TC.Block() }

func (s *ScanTabReq) sectionCount() (least, most int) {
	if s.Target.index && len(s.Bounds) > 0 {
		return 3, 3
	}
	return 2, 2
}

// AppendTo implements Outgoing. It panics where the scan is one that data nodes
// may not bear.
func (s *ScanTabReq) AppendTo(dst []byte) []byte {
	if err := s.check(); err != nil {
		panic("signal: " + err.Error())
	}
	info := scanLockBits[s.Lock] | uint32(s.Flags) | uint32(s.BatchRows)<<scanBatchRowsShift
	if s.Target.index {
		info |= scanRangeBit
	}
	if s.Target.pruned {
		info |= scanPrunedBit
	}
	buddy := uint32(noBuddy)
	if s.InTransaction {
		buddy = s.Buddy
	}
	dst = word.Append(dst, s.TCPointer, 0, info, s.Target.id, s.Target.version, noStoredProcedure,
		s.TransID.Low, s.TransID.High, buddy, s.BatchBytes, uint32(s.BatchRows))
	if s.Target.pruned {
		dst = word.Append(dst, s.Target.partition)
	}
	return dst
}

// Sections implements Sectioned.
func (s *ScanTabReq) Sections() [][]byte {
	sections := [][]byte{word.Append(nil, s.Receivers...), s.AttrInfo}
	if _, most := s.sectionCount(); most == 3 {
		sections = append(sections, s.Bounds)
	}
	return sections
}

// check says which rule s breaks.
func (s *ScanTabReq) check() error {
	flags := scanTableFlags
	if s.Target.index {
		flags = scanIndexFlags
	}
	switch {
	case int(s.Lock) >= len(scanLockBits):
		return fmt.Errorf("SCAN_TABREQ with lock %d", s.Lock)
	case s.Flags&^flags != 0:
		return fmt.Errorf("SCAN_TABREQ with flags %#x for index %t", uint32(s.Flags), s.Target.index)
	case s.BatchRows < 1 || s.BatchRows > MaxScanBatchRows:
		return fmt.Errorf("SCAN_TABREQ with batches of %d rows", s.BatchRows)
	case s.InTransaction && s.Buddy == noBuddy:
		return fmt.Errorf("SCAN_TABREQ in a transaction without record")
	case len(s.Receivers) == 0:
		return fmt.Errorf("SCAN_TABREQ without receivers")
	case len(s.AttrInfo) < attrInfoHeadBytes || len(s.AttrInfo)%word.SizeBytes != 0:
		return fmt.Errorf("SCAN_TABREQ with %d bytes of ATTRINFO", len(s.AttrInfo))
	case len(s.Bounds)%word.SizeBytes != 0 || len(s.Bounds) > 0 && !s.Target.index:
		return fmt.Errorf("SCAN_TABREQ with %d bytes of bounds for index %t", len(s.Bounds), s.Target.index)
	}
	return nil
}

// Decode overwrites s with m; TC keeps what it was. Whatever AppendTo would
// not write is an error.
func (s *ScanTabReq) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	*s = ScanTabReq{TC: s.TC, TCPointer: r.Uint32()}
	r.Uint32()
	info := r.Uint32()
	s.Target = ScanTarget{id: r.Uint32(), version: r.Uint32(), index: info&scanRangeBit != 0, pruned: info&scanPrunedBit != 0}
	storedProcedure := r.Uint32()
	s.TransID = readTransID(&r)
	s.Buddy = r.Uint32()
	s.BatchBytes = r.Uint32()
	rows := r.Uint32()
	if s.Target.pruned {
		s.Target.partition = r.Uint32()
	}
	if err := end(GSNScanTabReq, m, &r, m.NumSections); err != nil {
		return err
	}
	s.BatchRows = int(info >> scanBatchRowsShift & scanBatchRowsMask)
	s.Flags = ScanFlags(info &^ (scanLockMask | scanRangeBit | scanPrunedBit | scanBatchRowsMask<<scanBatchRowsShift))
	if s.InTransaction = s.Buddy != noBuddy; !s.InTransaction {
		s.Buddy = 0
	}
	switch info & scanLockMask {
	case scanReadCommittedBit:
		s.Lock = ScanCommittedRead
	case scanHoldLockBit:
		s.Lock = ScanShared
	case scanHoldLockBit | scanExclusiveBit:
		s.Lock = ScanExclusive
	default:
		return bad(GSNScanTabReq, "has the lock bits %#x", info&scanLockMask)
	}
	if rows != uint32(s.BatchRows) || storedProcedure != noStoredProcedure || s.Target.pruned && !s.Target.index {
		return bad(GSNScanTabReq, "has %d rows, stored procedure %#x, info %#x", rows, storedProcedure, info)
	}
	return s.decodeSections(m)
}

func (s *ScanTabReq) decodeSections(m *Message) error {
	for r := word.NewReader(m.Sections[0]); r.Len() > 0; {
		s.Receivers = append(s.Receivers, r.Uint32())
	}
	s.AttrInfo = m.Sections[1]
	if len(m.Sections[2]) > 0 {
		s.Bounds = m.Sections[2]
	}
	if err := s.check(); err != nil {
		return bad(GSNScanTabReq, "%v", err)
	}
	if want, _ := s.sectionCount(); m.NumSections != want {
		return bad(GSNScanTabReq, "has %d sections, not %d", m.NumSections, want)
	}
	return nil
}
