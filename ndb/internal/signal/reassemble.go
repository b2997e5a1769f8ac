package signal

import (
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Limits of an Assembler. The longest known answers are lists of all
// dictionary objects: some ten thousand of a hundred bytes each.
const (
	MaxAssemblyBytes = 16 << 20 // of all signals in progress together
	MaxAssemblies    = 64       // signals in progress
)

// Assembler puts the fragments together in which data nodes send what is too
// long for one message. It belongs to one link and is not safe for concurrent
// use. The zero value is ready.
type Assembler struct {
	assemblies map[assemblyKey]*assembly
	sizeBytes  int
}

// assemblyKey tells the long signals of one node apart.
type assemblyKey struct {
	sender Block
	id     uint32
}

type assembly struct {
	gsn         GSN
	receiver    Block
	sections    [MaxSections][]byte
	numSections int
	sizeBytes   int
}

// Add takes the message that Parse gave. A message that is no fragment is whole
// as it is. With the last fragment, m becomes the whole signal, with the data
// words of that fragment and whole sections that nothing else refers to. Before
// that whole is false and m must not be used; what Add keeps is copied. An error
// wraps ErrMessage: the link cannot go on.
func (a *Assembler) Add(m *Message) (whole bool, err error) {
	if m.Fragment == FragmentNone {
		return true, nil
	}
	data, numbers, id, err := splitFragment(m)
	if err != nil {
		return false, err
	}
	key := assemblyKey{m.Sender, id}
	long, err := a.find(key, m)
	if err != nil {
		return false, err
	}
	for i := range m.NumSections {
		number := word.At(numbers, i)
		if number >= MaxSections {
			return false, fmt.Errorf("%w: %v fragment of section %d", ErrMessage, m.GSN, number)
		}
		if a.sizeBytes += len(m.Sections[i]); a.sizeBytes > MaxAssemblyBytes {
			return false, fmt.Errorf("%w: fragments of more than %d bytes", ErrMessage, MaxAssemblyBytes)
		}
		long.sizeBytes += len(m.Sections[i])
		long.numSections = max(long.numSections, int(number)+1)
		long.sections[number] = append(long.sections[number], m.Sections[i]...)
	}
	if m.Fragment != FragmentLast {
		return false, nil
	}
	delete(a.assemblies, key)
	a.sizeBytes -= long.sizeBytes
	m.Data, m.Fragment = data, FragmentNone
	m.Sections, m.NumSections = long.sections, long.numSections
	return true, nil
}

// splitFragment takes the signal's own data words from the section numbers and
// the fragment id that follow them.
func splitFragment(m *Message) (data, numbers []byte, id uint32, err error) {
	extraBytes := (m.NumSections + 1) * word.SizeBytes
	if m.Receiver == BlockPacked || len(m.Data) < extraBytes {
		return nil, nil, 0, fmt.Errorf("%w: %v fragment with %d bytes of data", ErrMessage, m.GSN, len(m.Data))
	}
	split := len(m.Data) - extraBytes
	return m.Data[:split:split], m.Data[split:], word.At(m.Data[split:], m.NumSections), nil
}

// find returns the signal that m is a fragment of: a new one for the first.
func (a *Assembler) find(key assemblyKey, m *Message) (*assembly, error) {
	long, found := a.assemblies[key]
	if found == (m.Fragment == FragmentFirst) || found && (long.gsn != m.GSN || long.receiver != m.Receiver) {
		return nil, fmt.Errorf("%w: %v fragment %d out of turn", ErrMessage, m.GSN, m.Fragment)
	}
	if found {
		return long, nil
	}
	if len(a.assemblies) == MaxAssemblies {
		return nil, fmt.Errorf("%w: fragments of more than %d signals", ErrMessage, MaxAssemblies)
	}
	if a.assemblies == nil {
		a.assemblies = make(map[assemblyKey]*assembly)
	}
	long = &assembly{gsn: m.GSN, receiver: m.Receiver}
	a.assemblies[key] = long
	return long, nil
}

// AppendFragments appends m as a data node sends it when it is long: in
// messages with up to pieceWords words of sections, each with all data words.
// The sender has no other signal in progress with the same id. It panics where
// m breaks a limit.
func (f Format) AppendFragments(dst []byte, m *Message, id uint32, pieceWords int) []byte {
	pieces := m.pieces(pieceWords * word.SizeBytes)
	for i, p := range pieces {
		part := Message{GSN: m.GSN, Sender: m.Sender, Receiver: m.Receiver, Fragment: FragmentMiddle}
		switch {
		case len(pieces) == 1:
			return f.Append(dst, m)
		case i == 0:
			part.Fragment = FragmentFirst
		case i == len(pieces)-1:
			part.Fragment = FragmentLast
		}
		part.Data = append(part.Data, m.Data...)
		for _, s := range p {
			part.Data = word.Append(part.Data, uint32(s.number))
			part.Sections[part.NumSections] = s.words
			part.NumSections++
		}
		part.Data = word.Append(part.Data, id)
		dst = f.Append(dst, &part)
	}
	return dst
}

type sectionPiece struct {
	number int
	words  []byte
}

// pieces cuts the sections of m into lists of up to maxBytes together.
func (m *Message) pieces(maxBytes int) [][]sectionPiece {
	pieces := [][]sectionPiece{nil}
	room := maxBytes
	for number, rest := range m.Sections[:m.NumSections] {
		for {
			if room == 0 {
				pieces, room = append(pieces, nil), maxBytes
			}
			n := min(room, len(rest))
			last := &pieces[len(pieces)-1]
			*last = append(*last, sectionPiece{number, rest[:n]})
			rest, room = rest[n:], room-n
			if len(rest) == 0 {
				break
			}
		}
	}
	return pieces
}
