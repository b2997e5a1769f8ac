package mgm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Blob is the configuration as it travels, version 2: sections of numbered
// settings. All its words are big endian.
type Blob struct {
	Defaults    [numDefaults]Section // in the order of SectionType
	System      Section
	Nodes       []Section
	Connections []Section
}

// SectionType says what a section describes.
type SectionType uint32

// The section types. The first five have default sections.
const (
	SectionDataNode SectionType = 1 + iota
	SectionAPI
	SectionMGM
	SectionTCP
	SectionSharedMemory
	SectionSystem

	numDefaults = int(SectionSharedMemory)
)

// Section is a list of settings. Where it has not a key, that of the default
// section of its type holds.
type Section struct {
	Type    SectionType
	Entries []Entry
}

// Key numbers a setting.
type Key uint32

// Entry is one setting. Kind says whether it is a number or a text.
type Entry struct {
	Key    Key
	Kind   Kind
	Number uint64 // KindUint32, KindUint64
	Text   string // KindText; has no NUL at its end
}

// Kind is the type of a setting.
type Kind uint8

// The kinds.
const (
	KindUint32 Kind = 1
	KindText   Kind = 2
	KindUint64 Kind = 4
)

const (
	blobMagic      = "NDBCONF2"
	blobVersion    = 2
	wordBytes      = 4
	blobFixedWords = len(blobMagic)/wordBytes + 7

	sectionHeaderWords = 3
	minEntryWords      = 2

	kindShift = 28
	keyMask   = 1<<kindShift - 1
)

// ErrConfig is wrapped by all errors about a configuration that cannot be used.
var ErrConfig = errors.New("malformed configuration")

// AppendTo appends the blob to dst. It panics where an entry has a kind that
// does not exist.
func (b *Blob) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, blobMagic...)
	dst = appendWords(dst, 0, blobVersion, uint32(numDefaults),
		b.count(SectionDataNode), b.count(SectionAPI), b.count(SectionMGM), uint32(len(b.Connections)))
	for i := range b.Defaults {
		dst = b.Defaults[i].appendTo(dst)
	}
	dst = b.System.appendTo(dst)
	for _, sections := range [][]Section{b.Nodes, b.Connections} {
		for i := range sections {
			dst = sections[i].appendTo(dst)
		}
	}
	lenWords := (len(dst)-start)/wordBytes + 1 // with the checksum
	binary.BigEndian.PutUint32(dst[start+len(blobMagic):], uint32(lenWords))
	return appendWords(dst, blobChecksum(dst[start:]))
}

func (b *Blob) count(t SectionType) (n uint32) {
	for i := range b.Nodes {
		if b.Nodes[i].Type == t {
			n++
		}
	}
	return n
}

func (s *Section) appendTo(dst []byte) []byte {
	start := len(dst)
	dst = appendWords(dst, 0, uint32(len(s.Entries)), uint32(s.Type))
	for _, e := range s.Entries {
		dst = appendWords(dst, uint32(e.Kind)<<kindShift|uint32(e.Key))
		switch e.Kind {
		case KindUint32:
			dst = appendWords(dst, uint32(e.Number))
		case KindUint64:
			dst = appendWords(dst, uint32(e.Number>>32), uint32(e.Number))
		case KindText:
			dst = appendWords(dst, uint32(len(e.Text)+1))
			dst = append(append(dst, e.Text...), 0)
			for (len(dst)-start)%wordBytes != 0 {
				dst = append(dst, 0)
			}
		default:
			panic(fmt.Sprintf("mgm: key %d of kind %d", e.Key, e.Kind))
		}
	}
	binary.BigEndian.PutUint32(dst[start:], uint32((len(dst)-start)/wordBytes))
	return dst
}

func appendWords(dst []byte, words ...uint32) []byte {
	for _, w := range words {
		dst = binary.BigEndian.AppendUint32(dst, w)
	}
	return dst
}

// blobChecksum is 0 for a whole blob.
func blobChecksum(src []byte) (sum uint32) {
	for ; len(src) >= wordBytes; src = src[wordBytes:] {
		sum ^= binary.BigEndian.Uint32(src)
	}
	return sum
}

// Decode overwrites b with src, all of it. It keeps no reference to src.
// All errors wrap ErrConfig.
func (b *Blob) Decode(src []byte) error {
	lenWords := len(src) / wordBytes
	if len(src)%wordBytes != 0 || lenWords < blobFixedWords+1 || string(src[:len(blobMagic)]) != blobMagic {
		return fmt.Errorf("%w: %d bytes without %s", ErrConfig, len(src), blobMagic)
	}
	if blobChecksum(src) != 0 {
		return fmt.Errorf("%w: wrong checksum", ErrConfig)
	}
	r := blobReader{src: src[len(blobMagic) : len(src)-wordBytes]}
	total, version, defaults := r.word(), r.word(), r.word()
	dataNodes, apis, mgms, connections := r.word(), r.word(), r.word(), r.word()
	if total != uint32(lenWords) || version != blobVersion || defaults != uint32(numDefaults) {
		return fmt.Errorf("%w: %d words, version %d, %d defaults", ErrConfig, total, version, defaults)
	}
	*b = Blob{}
	for i := range b.Defaults {
		b.Defaults[i] = r.section()
		if b.Defaults[i].Type != SectionType(i+1) {
			r.fail("default section %d has type %d", i, b.Defaults[i].Type)
		}
	}
	b.System = r.section()
	if b.System.Type != SectionSystem {
		r.fail("system section has type %d", b.System.Type)
	}
	b.Nodes = r.sections(uint64(dataNodes) + uint64(apis) + uint64(mgms))
	b.Connections = r.sections(uint64(connections))
	if len(r.src) > 0 {
		r.fail("%d bytes too many", len(r.src))
	}
	if r.err == nil && (b.count(SectionDataNode) != dataNodes || b.count(SectionAPI) != apis || b.count(SectionMGM) != mgms) {
		r.fail("other nodes than announced")
	}
	return r.err
}

// blobReader reads words and sections. After the first error it gives zeros.
type blobReader struct {
	src []byte
	err error
}

func (r *blobReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	r.src = nil
}

func (r *blobReader) word() uint32 {
	if len(r.src) < wordBytes {
		r.fail("ends early")
		return 0
	}
	w := binary.BigEndian.Uint32(r.src)
	r.src = r.src[wordBytes:]
	return w
}

// sections reads n sections.
func (r *blobReader) sections(n uint64) []Section {
	if n > uint64(len(r.src)/(sectionHeaderWords*wordBytes)) {
		r.fail("%d sections in %d bytes", n, len(r.src))
		return nil
	}
	sections := make([]Section, 0, n)
	for range n {
		sections = append(sections, r.section())
	}
	return sections
}

func (r *blobReader) section() Section {
	left := len(r.src) / wordBytes
	lenWords, count, kind := r.word(), r.word(), r.word()
	if lenWords < sectionHeaderWords || uint64(lenWords) > uint64(left) || count > (lenWords-sectionHeaderWords)/minEntryWords {
		r.fail("section of %d words with %d entries", lenWords, count)
		return Section{}
	}
	size := (int(lenWords) - sectionHeaderWords) * wordBytes
	in := blobReader{src: r.src[:size]}
	r.src = r.src[size:]
	s := Section{Type: SectionType(kind), Entries: make([]Entry, 0, count)}
	for range count {
		s.Entries = append(s.Entries, in.entry())
	}
	if len(in.src) > 0 {
		in.fail("section has %d bytes too many", len(in.src))
	}
	if in.err != nil {
		r.fail("")
		r.err = in.err
	}
	return s
}

func (r *blobReader) entry() Entry {
	head := r.word()
	e := Entry{Key: Key(head & keyMask), Kind: Kind(head >> kindShift)}
	switch e.Kind {
	case KindUint32:
		e.Number = uint64(r.word())
	case KindUint64:
		e.Number = uint64(r.word()) << 32
		e.Number |= uint64(r.word())
	case KindText:
		e.Text = r.text()
	default:
		r.fail("key %d has kind %d", e.Key, e.Kind)
	}
	return e
}

// text reads a length, so many bytes of which the last is NUL, and what fills
// the last word.
func (r *blobReader) text() string {
	n := r.word()
	if n == 0 || uint64(n) > uint64(len(r.src)) {
		r.fail("text of %d bytes", n)
		return ""
	}
	text := r.src[:n]
	r.src = r.src[min(len(r.src), (int(n)+wordBytes-1)/wordBytes*wordBytes):]
	if text[n-1] != 0 {
		r.fail("text has no end")
		return ""
	}
	return string(text[:n-1])
}
