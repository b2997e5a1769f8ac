// Package word appends and reads the 32-bit little endian words of which all
// signals are made. It knows no NDB noun.
package word

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// SizeBytes is the size of one word.
const SizeBytes = 4

// Append appends words to dst.
func Append(dst []byte, words ...uint32) []byte {
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint32(dst, w)
	}
	return dst
}

// AppendPadded appends bytes to dst and zeros up to the next word. It pads by
// the length of b, so b must begin at a word.
func AppendPadded(dst, b []byte) []byte {
	dst = append(dst, b...)
	for range PaddingBytes(len(b)) {
		dst = append(dst, 0)
	}
	return dst
}

// PaddingBytes is how many bytes fill the last word of n bytes.
func PaddingBytes(n int) int { return -n & (SizeBytes - 1) }

// PaddedBytes is n rounded up to whole words.
func PaddedBytes(n int) int { return n + PaddingBytes(n) }

// At returns word i of src, which must have it.
func At(src []byte, i int) uint32 { return binary.LittleEndian.Uint32(src[i*SizeBytes:]) }

// Put overwrites word i of dst, which must have it.
func Put(dst []byte, i int, w uint32) { binary.LittleEndian.PutUint32(dst[i*SizeBytes:], w) }

// Errors of a Reader.
var (
	ErrShort    = errors.New("ends early")
	ErrTrailing = errors.New("has more than it should")
)

// Reader reads words one after another. After the first one that is missing it
// gives zeros, and Done tells: one check at the end is enough.
type Reader struct {
	src   []byte
	short bool
}

// NewReader returns a reader of src, which it does not change.
func NewReader(src []byte) Reader { return Reader{src: src} }

// Uint32 reads one word.
func (r *Reader) Uint32() uint32 {
	if len(r.src) < SizeBytes {
		r.short, r.src = true, nil
		return 0
	}
	w := binary.LittleEndian.Uint32(r.src)
	r.src = r.src[SizeBytes:]
	return w
}

// Uint64 reads two words, the low one first.
func (r *Reader) Uint64() uint64 {
	low := uint64(r.Uint32())
	return low | uint64(r.Uint32())<<32
}

// Bytes reads n bytes and the zeros that fill their last word. The result
// shares memory with the source. A count that is negative or more than what is
// left makes the reader short.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.src) || PaddedBytes(n) > len(r.src) {
		r.short, r.src = true, nil
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[PaddedBytes(n):]
	return b
}

// Len is how many words are left.
func (r *Reader) Len() int { return len(r.src) / SizeBytes }

// Rest reads all that is left. The result shares memory with the source.
func (r *Reader) Rest() []byte {
	rest := r.src
	r.src = nil
	return rest
}

// Skip passes over all that is left: later versions append words.
func (r *Reader) Skip() { r.src = nil }

// Err is ErrShort after a read of what was not there.
func (r *Reader) Err() error {
	if r.short {
		return ErrShort
	}
	return nil
}

// Done is Err, or ErrTrailing where anything is left.
func (r *Reader) Done() error {
	if r.short {
		return ErrShort
	}
	if len(r.src) > 0 {
		return fmt.Errorf("%w: %d bytes", ErrTrailing, len(r.src))
	}
	return nil
}
