package signal

import (
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// Limits of a message.
const (
	MaxMessageBytes = 32768
	MaxDataWords    = 25
	MaxSections     = 3
	headerWords     = 3
)

// Fragment says which part of a long signal a message is.
type Fragment uint8

// The values of Fragment.
const (
	FragmentNone Fragment = iota
	FragmentFirst
	FragmentMiddle
	FragmentLast
)

// Format says which optional words the messages of a link carry. Its
// configuration decides for sending; a received message says itself.
type Format struct {
	SignalID bool // a word after the header
	Checksum bool // a word at the end
}

// Message is a signal as it travels. After Parse its slices share memory with
// the source.
type Message struct {
	GSN         GSN
	Sender      Block
	Receiver    Block
	Fragment    Fragment
	Data        []byte // whole words
	Sections    [MaxSections][]byte
	NumSections int
}

// Word 1 of a message.
const (
	byteOrderBits       = 1<<0 | 1<<7 | 1<<24 | 1<<31 // all zero: little endian
	fragmentHighBit     = 1 << 1
	signalIDBit         = 1 << 2
	compressedBit       = 1 << 3
	checksumBit         = 1 << 4
	priorityShift       = 5
	priorityNormal      = 1
	messageLengthShift  = 8
	messageLengthMask   = 0xffff
	fragmentLowBit      = 1 << 25
	dataLengthShift     = 26
	dataLengthMask      = 0x1f
	gsnMask             = 1<<20 - 1
	gsnMax              = 1<<16 - 1 // of GSN; far above all that exist
	sectionCountShift   = 26
	sectionCountMask    = 3
	receiverBlockShift  = 16
	senderBlockMask     = 0xffff
	checksumLengthWords = 1
)

// ErrMessage is wrapped by all errors of Parse, Unpack, Assembler and the
// Decode methods: the link cannot go on.
var ErrMessage = errors.New("malformed message")

// Append appends m to dst. It panics where m breaks a limit: the caller has
// checked what comes from users.
func (f Format) Append(dst []byte, m *Message) []byte {
	start := len(dst)
	dst = f.appendHeader(dst, m.GSN, m.Sender, m.Receiver)
	dst = append(dst, m.Data...)
	f.fillIn(dst[start:], len(m.Data), m.NumSections, m.Fragment)
	return f.finish(dst, start, m.Sections[:m.NumSections])
}

func (f Format) appendHeader(dst []byte, gsn GSN, sender, receiver Block) []byte {
	w1 := uint32(priorityNormal << priorityShift)
	if f.SignalID {
		w1 |= signalIDBit
	}
	if f.Checksum {
		w1 |= checksumBit
	}
	dst = word.Append(dst, w1, uint32(gsn), uint32(sender)|uint32(receiver)<<receiverBlockShift)
	if f.SignalID {
		dst = word.Append(dst, 0)
	}
	return dst
}

// fillIn completes the header at the start of message.
func (f Format) fillIn(message []byte, dataBytes, numSections int, fragment Fragment) {
	dataWords := dataBytes / word.SizeBytes
	if dataBytes%word.SizeBytes != 0 || dataWords > MaxDataWords || numSections > MaxSections {
		panic(fmt.Sprintf("signal: %d bytes of data and %d sections", dataBytes, numSections))
	}
	w1 := uint32(dataWords) << dataLengthShift
	if fragment&2 != 0 {
		w1 |= fragmentHighBit
	}
	if fragment&1 != 0 {
		w1 |= fragmentLowBit
	}
	word.Put(message, 0, word.At(message, 0)|w1)
	word.Put(message, 1, word.At(message, 1)|uint32(numSections)<<sectionCountShift)
}

// finish appends the sections to the message that begins at start, fills in
// its length, and appends the checksum.
func (f Format) finish(dst []byte, start int, sections [][]byte) []byte {
	for _, s := range sections {
		dst = word.Append(dst, uint32(len(s)/word.SizeBytes))
	}
	for _, s := range sections {
		dst = append(dst, s...)
	}
	lenWords := (len(dst) - start) / word.SizeBytes
	if f.Checksum {
		lenWords += checksumLengthWords
	}
	if lenWords*word.SizeBytes > MaxMessageBytes || (len(dst)-start)%word.SizeBytes != 0 {
		panic(fmt.Sprintf("signal: a message of %d bytes", len(dst)-start))
	}
	message := dst[start:]
	word.Put(message, 0, word.At(message, 0)|uint32(lenWords)<<messageLengthShift)
	if f.Checksum {
		dst = word.Append(dst, checksum(message))
	}
	return dst
}

func checksum(message []byte) uint32 {
	var sum uint32
	for i := range len(message) / word.SizeBytes {
		sum ^= word.At(message, i)
	}
	return sum
}

// Parse reads the message at the start of src into m and returns its size. A
// size of 0 without an error says that src does not hold all of it yet.
func Parse(src []byte, m *Message) (sizeBytes int, err error) {
	if len(src) < word.SizeBytes {
		return 0, nil
	}
	w1 := word.At(src, 0)
	if w1&(byteOrderBits|compressedBit) != 0 {
		return 0, fmt.Errorf("%w: first word %#x asks for another byte order or compression", ErrMessage, w1)
	}
	size := int(w1>>messageLengthShift&messageLengthMask) * word.SizeBytes
	if size < headerWords*word.SizeBytes || size > MaxMessageBytes {
		return 0, fmt.Errorf("%w: length of %d bytes", ErrMessage, size)
	}
	if len(src) < size {
		return 0, nil
	}
	body := src[:size:size]
	if w1&checksumBit != 0 {
		if checksum(body) != 0 {
			return 0, fmt.Errorf("%w: wrong checksum", ErrMessage)
		}
		body = body[:size-checksumLengthWords*word.SizeBytes]
	}
	return size, m.parseBody(body)
}

func (m *Message) parseBody(body []byte) error {
	r := word.NewReader(body)
	w1, w2, w3 := r.Uint32(), r.Uint32(), r.Uint32()
	if w2&gsnMask > gsnMax {
		return fmt.Errorf("%w: signal number %d", ErrMessage, w2&gsnMask)
	}
	if w1&signalIDBit != 0 {
		r.Uint32()
	}
	*m = Message{
		GSN:         GSN(w2 & gsnMask),
		Sender:      Block(w3 & senderBlockMask),
		Receiver:    Block(w3 >> receiverBlockShift),
		Data:        r.Bytes(int(w1>>dataLengthShift&dataLengthMask) * word.SizeBytes),
		NumSections: int(w2 >> sectionCountShift & sectionCountMask),
	}
	if w1&fragmentHighBit != 0 {
		m.Fragment |= 2
	}
	if w1&fragmentLowBit != 0 {
		m.Fragment |= 1
	}
	var lengths [MaxSections]int
	for i := range m.NumSections {
		// 32 bits of words: compared before they are multiplied.
		lengths[i] = int(min(r.Uint32(), MaxMessageBytes))
	}
	for i := range m.NumSections {
		m.Sections[i] = r.Bytes(lengths[i] * word.SizeBytes)
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("%w: %v %w", ErrMessage, m.GSN, err)
	}
	return nil
}

// packedLengthMask takes a packed signal's length from its header word.
const packedLengthMask = 0x1f

// Unpack calls handle for m, or for each of the signals that it holds where it
// goes to BlockPacked. It reuses m for them.
func Unpack(m *Message, handle func(*Message) error) error {
	if m.Receiver != BlockPacked {
		return handle(m)
	}
	gsn, sender := m.GSN, m.Sender
	if m.NumSections > 0 || m.Fragment != FragmentNone {
		return fmt.Errorf("%w: packed %v with %d sections, fragment %d", ErrMessage, gsn, m.NumSections, m.Fragment)
	}
	for r := word.NewReader(m.Data); r.Len() > 0; {
		header := r.Uint32()
		data := r.Bytes(int(header&packedLengthMask+packedExtraWords) * word.SizeBytes)
		if err := r.Err(); err != nil {
			return fmt.Errorf("%w: packed %v %w", ErrMessage, gsn, err)
		}
		*m = Message{GSN: gsn, Sender: sender, Receiver: Block(header >> receiverBlockShift), Data: data}
		if err := handle(m); err != nil {
			return err
		}
	}
	return nil
}

// packedExtraWords are not counted in a packed signal's header word.
const packedExtraWords = 3

// AppendPacked appends one signal to the data of a packed message, or reports
// that it does not fit.
func AppendPacked(data []byte, receiver Block, signalData []byte) (_ []byte, fits bool) {
	words := len(signalData) / word.SizeBytes
	if words < packedExtraWords || len(data)/word.SizeBytes+1+words > MaxDataWords {
		return data, false
	}
	data = word.Append(data, uint32(receiver)<<receiverBlockShift|uint32(words-packedExtraWords))
	return append(data, signalData...), true
}
