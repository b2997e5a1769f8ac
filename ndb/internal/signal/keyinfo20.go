package signal

import "github.com/ndbgate/ndbgate/ndb/internal/word"

// KeyInfo20 brings the key of a row that a scan with ScanKeyInfo locks. The one
// that comes i-th for a receiver belongs to its i-th TransIDAI.
type KeyInfo20 struct {
	Receiver uint32
	ScanInfo uint32 // 18 bits
	Fragment uint32 // 12 bits
	TransID  TransID
	Key      []byte // whole words, shared with the message: KEYINFO of the row
}

const (
	keyInfoMaxInlineBytes = 20 * word.SizeBytes
	keyInfoScanInfoMask   = 1<<18 - 1
	keyInfoFragmentShift  = 20
	keyInfoFragmentMask   = 1<<12 - 1
)

// TakeOver returns the two words with which TCKeyReq takes over the lock of the
// row: ScanInfo, for FlagScanInfo, and Distribution, for FlagDistributionKey.
func (s *KeyInfo20) TakeOver() (scanInfo, distribution uint32) {
	return 1 | s.ScanInfo<<1 | s.Fragment<<keyInfoFragmentShift, s.Fragment
}

// GSN implements Incoming.
func (s *KeyInfo20) GSN() GSN { return GSNKeyInfo20 }

// AppendTo implements Incoming.
func (s *KeyInfo20) AppendTo(dst []byte) []byte {
	info := s.ScanInfo&keyInfoScanInfoMask | s.Fragment&keyInfoFragmentMask<<keyInfoFragmentShift
	dst = word.Append(dst, s.Receiver, uint32(len(s.Key)/word.SizeBytes), info, s.TransID.Low, s.TransID.High)
	if len(s.Key) <= keyInfoMaxInlineBytes {
		dst = append(dst, s.Key...)
	}
	return dst
}

// Sections implements Sectioned.
func (s *KeyInfo20) Sections() [][]byte {
	if len(s.Key) <= keyInfoMaxInlineBytes {
		return nil
	}
	return [][]byte{s.Key}
}

// Decode overwrites s with m.
func (s *KeyInfo20) Decode(m *Message) error {
	r := word.NewReader(m.Data)
	s.Receiver = r.Uint32()
	lenWords := r.Uint32()
	info := r.Uint32()
	s.ScanInfo, s.Fragment = info&keyInfoScanInfoMask, info>>keyInfoFragmentShift
	s.TransID = readTransID(&r)
	sections := 0
	if m.NumSections == 0 {
		s.Key = r.Rest()
	} else {
		s.Key, sections = m.Sections[0], 1
	}
	if err := end(GSNKeyInfo20, m, &r, sections); err != nil {
		return err
	}
	if uint64(lenWords)*word.SizeBytes != uint64(len(s.Key)) {
		return bad(GSNKeyInfo20, "announces %d words of key in %d bytes", lenWords, len(s.Key))
	}
	return nil
}
