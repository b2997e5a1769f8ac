package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Outgoing is a signal that an API node may send. No other package has one.
type Outgoing interface {
	// Route tells what the signal is and which block of the data node it goes
	// to.
	Route() (GSN, Block)
	// AppendTo appends the data words to dst.
	AppendTo(dst []byte) []byte
	// sectionCount tells how many sections go with the data words. A data node
	// stops where one is missing.
	sectionCount() (least, most int)
}

// MaxSectionBytes is how much the sections of one unfragmented request may
// hold together.
const MaxSectionBytes = 7920 * word.SizeBytes

// mayGo is the closed set of signals that an API node sends, each with the one
// block that understands it. Anything else stops a data node.
func mayGo(gsn GSN, receiver Block) bool {
	switch gsn {
	case GSNTCKeyReq, GSNTCIndxReq, GSNTCCommitAck, GSNTCCommitReq, GSNTCRollbackReq, GSNTCHbRep,
		GSNScanTabReq, GSNScanNextReq, GSNTCReleaseReq:
		return receiver.Main() == BlockDBTC // any instance: a TCRef names one that is there
	case GSNTCSeizeReq:
		return receiver == BlockDBTC
	case GSNAPIRegReq:
		return receiver == BlockQMGR
	case GSNGetTabInfoReq, GSNListTablesReq:
		return receiver == BlockDBDICT
	case GSNWaitGCPReq:
		return receiver == BlockDBDIH
	default:
		return false
	}
}

// AppendOutgoing appends the message that carries s from the block sender, with
// the sections of whole words that belong to it: those of Sections where s has
// that method, of TCKeyReq the key and, where there are any, the attributes. It
// panics where s is not in the closed set, has not the sections that it needs,
// has an empty one, or breaks a limit: only a bug gets there. It keeps no
// reference.
func AppendOutgoing[S Outgoing](f Format, dst []byte, sender Block, s S, sections ...[]byte) []byte {
	gsn, receiver := s.Route()
	if !mayGo(gsn, receiver) {
		panic(fmt.Sprintf("signal: %v to block %#x", gsn, uint16(receiver)))
	}
	if least, most := s.sectionCount(); len(sections) < least || len(sections) > most {
		panic(fmt.Sprintf("signal: %v with %d sections", gsn, len(sections)))
	}
	sectionBytes := 0
	for _, section := range sections {
		if len(section) == 0 {
			panic(fmt.Sprintf("signal: %v with an empty section", gsn))
		}
		sectionBytes += len(section)
	}
	if sectionBytes > MaxSectionBytes {
		panic(fmt.Sprintf("signal: %v with %d bytes of sections", gsn, sectionBytes))
	}
	start := len(dst)
	dst = f.appendHeader(dst, gsn, sender, receiver)
	dataStart := len(dst)
	dst = s.AppendTo(dst)
	f.fillIn(dst[start:], len(dst)-dataStart, len(sections), FragmentNone)
	return f.finish(dst, start, sections)
}
