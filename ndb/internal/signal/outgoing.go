package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Outgoing is a signal that an API node may send.
type Outgoing interface {
	// Route tells what the signal is and which block of the data node it goes
	// to.
	Route() (GSN, Block)
	// AppendTo appends the data words to dst.
	AppendTo(dst []byte) []byte
}

// destinations is the closed set of signals that an API node sends, with the
// one block that understands each. Anything else stops a data node.
var destinations = map[GSN]Block{
	GSNAPIRegReq:     BlockQMGR,
	GSNGetTabInfoReq: BlockDBDICT,
	GSNListTablesReq: BlockDBDICT,
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
	GSNWaitGCPReq:    BlockDBDIH,
}

// AppendOutgoing appends the message that carries s from the block sender, with
// up to three sections of whole words. It panics where s is not in the closed
// set or a section breaks a limit: only a bug gets there.
func AppendOutgoing[S Outgoing](f Format, dst []byte, sender Block, s S, sections ...[]byte) []byte {
	gsn, receiver := s.Route()
	if main, ok := destinations[gsn]; !ok || receiver.Main() != main {
		panic(fmt.Sprintf("signal: %v to block %#x", gsn, uint16(receiver)))
	}
	start := len(dst)
	dst = f.appendHeader(dst, gsn, sender, receiver)
	dataStart := len(dst)
	dst = s.AppendTo(dst)
	f.fillIn(dst[start:], len(dst)-dataStart, len(sections), FragmentNone)
	return f.finish(dst, start, sections)
}

// MaxSectionBytes is how much the sections of one unfragmented request may
// hold together.
const MaxSectionBytes = 7920 * word.SizeBytes
