package row

import (
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// A packed row is a header with AttrReadPacked, a bitmap and the values. The
// bitmap has for each column, by attribute id, one bit that tells whether it is
// there, and for the nullable ones that are a second one, set for NULL. NULLs
// have no value. Values lie close together: fixed ones with elements of up to
// 16 bits and variable ones follow at once, wider elements begin at a word
// counted from the end of the bitmap. Consecutive BIT columns share words. What
// fills a gap is garbage.

const bitsPerWord = 32

// decodePacked is Decode for packed rows.
func (p *Projection) decodePacked(src []byte, spans []Span) (rest []byte, err error) {
	maskBytes := AttrHeader(word.At(src, 0)).LengthBytes()
	body := src[word.SizeBytes:]
	if maskBytes%word.SizeBytes != 0 || maskBytes > len(body) {
		return nil, fmt.Errorf("%w: bitmap of %d bytes", ErrMalformed, maskBytes)
	}
	mask := body[:maskBytes]
	r := packedReader{src: src, pos: word.SizeBytes + maskBytes}
	bit, found := 0, 0
	for id := 0; bit < maskBytes*8; id++ {
		there := mask[bit/8]>>(bit%8)&1 != 0
		bit++
		if !there {
			continue
		}
		if id >= len(p.steps) || p.steps[id].column == nil {
			return nil, fmt.Errorf("%w: attribute %d was not asked for", ErrMalformed, id)
		}
		s := &p.steps[id]
		found++
		if s.nullable {
			if bit == maskBytes*8 {
				return nil, fmt.Errorf("%w: bitmap %w", ErrMalformed, word.ErrShort)
			}
			null := mask[bit/8]>>(bit%8)&1 != 0
			bit++
			if null {
				spans[s.place] = Span{Null: true}
				continue
			}
		}
		if !r.next(s, &spans[s.place]) {
			return nil, fmt.Errorf("%w: packed column %s %w", ErrMalformed, s.column.Name, word.ErrShort)
		}
	}
	if found != len(p.columns) {
		return nil, fmt.Errorf("%w: %d of %d columns in a packed row", ErrMalformed, found, len(p.columns))
	}
	r.leaveBits()
	end := word.PaddedBytes(r.pos)
	if end > len(src) {
		return nil, fmt.Errorf("%w: packed row %w", ErrMalformed, word.ErrShort)
	}
	return src[end:], nil
}

// packedReader walks over the values of a packed row. Headers and bitmaps are
// whole words, so that positions in src align as those behind the bitmap do.
type packedReader struct {
	src  []byte
	pos  int
	bits int // used of the words from pos on; only after a BIT column
}

// leaveBits goes behind the words that BIT columns have used.
func (r *packedReader) leaveBits() {
	r.pos += (r.bits + bitsPerWord - 1) / bitsPerWord * word.SizeBytes
	r.bits = 0
}

func (r *packedReader) next(s *step, span *Span) bool {
	if s.kind == stepBit {
		return r.nextBits(int(s.bits), span)
	}
	if r.bits > 0 {
		r.leaveBits()
	}
	size, lengthBytes := int(s.sizeBytes), 0
	switch s.kind {
	case stepAligned:
		r.pos = word.PaddedBytes(r.pos)
	case stepShort, stepMedium:
		lengthBytes = int(s.kind-stepShort) + 1
		if r.pos+lengthBytes > len(r.src) {
			return false
		}
		n := lengthBytes + contentLength(r.src[r.pos:], lengthBytes)
		if n > size {
			return false
		}
		size = n
	}
	if r.pos+size > len(r.src) {
		return false
	}
	*span = Span{Off: uint32(r.pos + lengthBytes), Len: uint32(size - lengthBytes)}
	r.pos += size
	return true
}

func (r *packedReader) nextBits(n int, span *Span) bool {
	r.pos = word.PaddedBytes(r.pos)
	first, used := r.bits/bitsPerWord*word.SizeBytes, r.bits%bitsPerWord
	size := (used + n + bitsPerWord - 1) / bitsPerWord * word.SizeBytes
	if r.pos+first+size > len(r.src) {
		return false
	}
	*span = Span{Off: uint32(r.pos + first), Len: uint32(size), Bit: uint8(used)}
	r.bits += n
	return true
}

// Mask is a bitmap of attribute ids.
type Mask []byte

// Has tells whether id is in the set.
func (m Mask) Has(id uint16) bool { return int(id/8) < len(m) && m[id/8]>>(id%8)&1 != 0 }

// FirstColumns returns the set of ids below n: what AttrReadAll means.
func FirstColumns(n int) Mask {
	m := make(Mask, word.PaddedBytes((n+7)/8))
	for id := range n {
		m[id/8] |= 1 << (id % 8)
	}
	return m
}

// ReadItem is one item of a read list: a single attribute, or a set of columns
// to be answered by a packed row.
type ReadItem struct {
	Attr   uint16
	Packed bool
	Mask   Mask // of Packed; shares memory with the list where it can
}

// NextReadItem reads the item at the start of a read list. Errors wrap
// ErrMalformed.
func NextReadItem(src []byte) (item ReadItem, rest []byte, err error) {
	if len(src) < word.SizeBytes {
		return item, nil, fmt.Errorf("%w: read list %w", ErrMalformed, word.ErrShort)
	}
	h := AttrHeader(word.At(src, 0))
	src = src[word.SizeBytes:]
	n := h.LengthBytes()
	switch h.ID() {
	case AttrReadPacked:
		if n%word.SizeBytes != 0 || n > len(src) || n > MaxPackedColumns/8 {
			return item, nil, fmt.Errorf("%w: bitmap of %d bytes", ErrMalformed, n)
		}
		return ReadItem{Packed: true, Mask: Mask(src[:n:n])}, src[n:], nil
	case AttrReadAll:
		if n > MaxPackedColumns {
			return item, nil, fmt.Errorf("%w: the first %d columns", ErrMalformed, n)
		}
		return ReadItem{Packed: true, Mask: FirstColumns(n)}, src, nil
	}
	return ReadItem{Attr: h.ID()}, src, nil
}

// AppendPacked appends the packed row of the columns in want. columns are all
// of the table, by attribute id; values lie beside them, length bytes included,
// nil for NULL, and must pass CheckValue.
func AppendPacked(dst []byte, columns []dictinfo.Column, values [][]byte, want Mask) []byte {
	headerStart := len(dst)
	dst = AppendAttrHeader(dst, AttrReadPacked, 0)
	dst, maskBytes := appendMask(dst, columns, values, want)
	word.Put(dst[headerStart:], 0, uint32(NewAttrHeader(AttrReadPacked, maskBytes)))
	bits, bitsStart := 0, 0
	for i := range columns {
		c, value := &columns[i], values[i]
		if !want.Has(c.ID) || value == nil {
			continue
		}
		if c.Type == dictinfo.TypeBit {
			if bits == 0 {
				dst = padFrom(dst, headerStart)
				bitsStart = len(dst)
			}
			dst = appendBits(dst, bitsStart, bits, value, int(c.Elements))
			bits += int(c.Elements)
			continue
		}
		bits = 0
		if c.Fixed() && c.ElementBitsLog2 >= alignedBitsLog2 {
			dst = padFrom(dst, headerStart)
		}
		dst = append(dst, value...)
	}
	return padFrom(dst, headerStart)
}

// padFrom appends zeros up to the next word as counted from start.
func padFrom(dst []byte, start int) []byte {
	for range word.PaddingBytes(len(dst) - start) {
		dst = append(dst, 0)
	}
	return dst
}

func appendMask(dst []byte, columns []dictinfo.Column, values [][]byte, want Mask) (_ []byte, maskBytes int) {
	start := len(dst)
	bit := 0
	set := func(v bool) {
		if bit%bitsPerWord == 0 {
			dst = word.Append(dst, 0)
		}
		if v {
			dst[start+bit/8] |= 1 << (bit % 8)
		}
		bit++
	}
	last := -1
	for i := range columns {
		if want.Has(columns[i].ID) {
			last = i
		}
	}
	for i := range columns[:last+1] {
		there := want.Has(columns[i].ID)
		set(there)
		if there && columns[i].Nullable {
			set(values[i] == nil)
		}
	}
	return dst, len(dst) - start
}

// appendBits puts the first n bits of value, which is whole words, behind the
// used bits of the words from start on.
func appendBits(dst []byte, start, used int, value []byte, n int) []byte {
	total := (used + n + bitsPerWord - 1) / bitsPerWord * word.SizeBytes
	dst = slices.Grow(dst, start+total-len(dst))
	for len(dst) < start+total {
		dst = append(dst, 0)
	}
	for i := range n {
		if value[i/8]>>(i%8)&1 != 0 {
			at := used + i
			dst[start+at/8] |= 1 << (at % 8)
		}
	}
	return dst
}
