package keyhash

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	wordBytes  = 4
	blockWords = 16
	blockBytes = blockWords * wordBytes

	lengthWord = 14         // of the last block
	endMark    = 0x80000000 // the word behind the last one of the input
)

// state is the chaining value of MD5.
type state [4]uint32

// initial is the state that RFC 1321 begins with.
var initial = state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}

// sines is the table T of RFC 1321: the integer part of 2^32 times the sine of
// 1, 2, ….
var sines = func() (t [64]uint32) {
	for i := range t {
		t[i] = uint32(math.Floor(math.Abs(math.Sin(float64(i+1))) * (1 << 32)))
	}
	return t
}()

// The functions of the four rounds of RFC 1321, which names them F, G, H and I.

func round1(x, y, z uint32) uint32 { return z ^ x&(y^z) }
func round2(x, y, z uint32) uint32 { return y ^ z&(x^y) }
func round3(x, y, z uint32) uint32 { return x ^ y ^ z }
func round4(x, y, z uint32) uint32 { return y ^ (x | ^z) }

// block takes 64 bytes of input into s: the four rounds of RFC 1321.
func (s *state) block(input *[blockBytes]byte) {
	var x [blockWords]uint32
	for i := range x {
		x[i] = binary.LittleEndian.Uint32(input[i*wordBytes:])
	}
	a, b, c, d := s[0], s[1], s[2], s[3]
	for i := 0; i < 16; i += 4 {
		a = b + bits.RotateLeft32(a+round1(b, c, d)+x[i]+sines[i], 7)
		d = a + bits.RotateLeft32(d+round1(a, b, c)+x[i+1]+sines[i+1], 12)
		c = d + bits.RotateLeft32(c+round1(d, a, b)+x[i+2]+sines[i+2], 17)
		b = c + bits.RotateLeft32(b+round1(c, d, a)+x[i+3]+sines[i+3], 22)
	}
	for i := 16; i < 32; i += 4 {
		a = b + bits.RotateLeft32(a+round2(b, c, d)+x[(5*i+1)%blockWords]+sines[i], 5)
		d = a + bits.RotateLeft32(d+round2(a, b, c)+x[(5*(i+1)+1)%blockWords]+sines[i+1], 9)
		c = d + bits.RotateLeft32(c+round2(d, a, b)+x[(5*(i+2)+1)%blockWords]+sines[i+2], 14)
		b = c + bits.RotateLeft32(b+round2(c, d, a)+x[(5*(i+3)+1)%blockWords]+sines[i+3], 20)
	}
	for i := 32; i < 48; i += 4 {
		a = b + bits.RotateLeft32(a+round3(b, c, d)+x[(3*i+5)%blockWords]+sines[i], 4)
		d = a + bits.RotateLeft32(d+round3(a, b, c)+x[(3*(i+1)+5)%blockWords]+sines[i+1], 11)
		c = d + bits.RotateLeft32(c+round3(d, a, b)+x[(3*(i+2)+5)%blockWords]+sines[i+2], 16)
		b = c + bits.RotateLeft32(b+round3(c, d, a)+x[(3*(i+3)+5)%blockWords]+sines[i+3], 23)
	}
	for i := 48; i < 64; i += 4 {
		a = b + bits.RotateLeft32(a+round4(b, c, d)+x[7*i%blockWords]+sines[i], 6)
		d = a + bits.RotateLeft32(d+round4(a, b, c)+x[7*(i+1)%blockWords]+sines[i+1], 10)
		c = d + bits.RotateLeft32(c+round4(d, a, b)+x[7*(i+2)%blockWords]+sines[i+2], 15)
		b = c + bits.RotateLeft32(b+round4(c, d, a)+x[7*(i+3)%blockWords]+sines[i+3], 21)
	}
	s[0], s[1], s[2], s[3] = s[0]+a, s[1]+b, s[2]+c, s[3]+d
}

// digest hashes a stream of bytes without allocating.
type digest struct {
	state   state
	pending [blockBytes]byte
	n       int // bytes of pending
	total   uint32
}

// write appends b to the input.
func (d *digest) write(b []byte) {
	d.total += uint32(len(b))
	for len(b) > 0 {
		taken := copy(d.pending[d.n:], b)
		d.n, b = d.n+taken, b[taken:]
		if d.n == blockBytes {
			d.state.block(&d.pending)
			d.n = 0
		}
	}
}

// writeBigEndian appends the low bytes of v.
func (d *digest) writeBigEndian(v uint32, sizeBytes int) {
	for i := sizeBytes - 1; i >= 0; i-- {
		d.pending[d.n] = byte(v >> (8 * i))
		if d.n++; d.n == blockBytes {
			d.state.block(&d.pending)
			d.n = 0
		}
	}
	d.total += uint32(sizeBytes)
}

// pad appends zeros up to the next word.
func (d *digest) pad() {
	var zeros [wordBytes]byte
	d.write(zeros[:-d.total&(wordBytes-1)])
}

// sum pads the input, which is whole words, in the way that is NDB's own: the
// mark is a word of the value 0x80000000, and the length counts bytes. Where
// the mark takes the length's place or the word behind it, a block with
// nothing but the length follows.
func (d *digest) sum() [4]uint32 {
	clear(d.pending[d.n:])
	binary.LittleEndian.PutUint32(d.pending[d.n:], endMark)
	if d.n/wordBytes >= lengthWord {
		d.state.block(&d.pending)
		clear(d.pending[:])
	}
	binary.LittleEndian.PutUint32(d.pending[lengthWord*wordBytes:], d.total)
	d.state.block(&d.pending)
	return d.state
}

// Sum returns the four words of the hash of src, which it takes as padded with
// zeros to whole words.
func Sum(src []byte) [4]uint32 {
	d := digest{state: initial}
	d.write(src)
	d.pad()
	return d.sum()
}
