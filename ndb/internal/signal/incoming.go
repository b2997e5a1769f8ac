package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Incoming is a signal that a data node sends to an API node.
type Incoming interface {
	GSN() GSN
	// AppendTo appends the data words to dst.
	AppendTo(dst []byte) []byte
}

// Sectioned is a signal that may carry sections.
type Sectioned interface {
	// Sections returns the sections that belong to the signal's data, at most
	// MaxSections, none where all of it travels in the data words. They may
	// share memory with the signal.
	Sections() [][]byte
}

// AppendIncoming appends the message with which a data node's block sender
// sends s, with its sections, to the block receiver of an API node. It panics
// where s breaks a limit.
func AppendIncoming(f Format, dst []byte, sender, receiver Block, s Incoming) []byte {
	m := Message{GSN: s.GSN(), Sender: sender, Receiver: receiver, Data: s.AppendTo(nil)}
	if carrier, ok := s.(Sectioned); ok {
		m.NumSections = copy(m.Sections[:], carrier.Sections())
	}
	return f.Append(dst, &m)
}

// end is the one check at the end of each Decode: all words of m were there,
// none is left, and so many sections came with them.
func end(gsn GSN, m *Message, r *word.Reader, sections int) error {
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: %v %w", ErrMessage, gsn, err)
	}
	if m.NumSections != sections {
		return fmt.Errorf("%w: %v has %d sections, not %d", ErrMessage, gsn, m.NumSections, sections)
	}
	return nil
}

// bad is the error for words that are all there and make no sense.
func bad(gsn GSN, format string, args ...any) error {
	return fmt.Errorf("%w: %v %s", ErrMessage, gsn, fmt.Sprintf(format, args...))
}

func readTransID(r *word.Reader) TransID { return TransID{Low: r.Uint32(), High: r.Uint32()} }

// readNodeID reads a node id; 0 stands for what cannot be one.
func readNodeID(r *word.Reader) NodeID {
	w := r.Uint32()
	if w > MaxNodeID {
		return 0
	}
	return NodeID(w)
}

// gci joins the halves of a global checkpoint's id: above, the checkpoint that
// makes it durable, below, the epoch within.
func gci(high, low uint32) uint64 { return uint64(high)<<32 | uint64(low) }

func gciHigh(gci uint64) uint32 { return uint32(gci >> 32) }

func gciLow(gci uint64) uint32 { return uint32(gci) }
