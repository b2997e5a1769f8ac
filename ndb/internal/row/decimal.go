package row

import (
	"strings"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// A DECIMAL is stored as groups of nine decimal digits, each a big endian
// number of four bytes, counted from the point to both sides. What is left over
// at either end takes as many bytes as it needs. The first bit is turned over,
// and all bits of negative numbers, so that values compare as bytes.
const (
	decimalGroupDigits = 9
	decimalGroupBytes  = 4
	decimalSignBit     = 0x80
	maxDecimalDigits   = 65
	maxDecimalScale    = 30
)

// decimalRestBytes is how many bytes that many left-over digits take.
var decimalRestBytes = [decimalGroupDigits]int{0, 1, 1, 2, 2, 3, 3, 4, 4}

func decimalBytes(digits int) int {
	return digits/decimalGroupDigits*decimalGroupBytes + decimalRestBytes[digits%decimalGroupDigits]
}

// decimalDigits returns how many digits the column has before and after the
// point.
func decimalDigits(c *dictinfo.Column) (whole, fraction int, err error) {
	fraction = int(min(c.Scale, maxDecimalScale+1))
	whole = int(c.Precision) - fraction
	if whole < 0 || fraction > maxDecimalScale || c.Precision > maxDecimalDigits || c.Precision == 0 ||
		decimalBytes(whole)+decimalBytes(fraction) != c.SizeBytes() {
		return 0, 0, valueError(c, ErrUnsupported, "%d.%d digits in %d bytes", c.Precision, c.Scale, c.SizeBytes())
	}
	return whole, fraction, nil
}

func appendDecimal(dst []byte, f Form, c *dictinfo.Column, s string) ([]byte, error) {
	whole, fraction, err := decimalDigits(c)
	if err != nil {
		return dst, err
	}
	text, negative := strings.CutPrefix(s, "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	before, after, _ := strings.Cut(text, ".")
	if before == "" && after == "" || !isDigits(before) || !isDigits(after) {
		return dst, valueError(c, ErrType, "%q is no decimal number", s)
	}
	before, after = strings.TrimLeft(before, "0"), strings.TrimRight(after, "0")
	switch {
	case len(before) > whole || len(after) > fraction:
		return dst, valueError(c, ErrRange, "%s in %d.%d digits", s, c.Precision, c.Scale)
	case before == "" && after == "":
		negative = false
	case negative && c.Type == dictinfo.TypeDecimalunsigned:
		return dst, valueError(c, ErrRange, "%s", s)
	}
	var digits [maxDecimalDigits]byte // values 0 to 9, none missing
	for i, d := range []byte(before) {
		digits[whole-len(before)+i] = d - '0'
	}
	for i, d := range []byte(after) {
		digits[whole+i] = d - '0'
	}
	n := c.SizeBytes()
	dst = begin(dst, f, c, n)
	dst = appendDecimalBytes(dst, digits[:whole], digits[whole:whole+fraction], negative)
	return end(dst, f, n), nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func appendDecimalBytes(dst, whole, fraction []byte, negative bool) []byte {
	start := len(dst)
	rest := len(whole) % decimalGroupDigits
	dst = appendDigits(dst, whole[:rest], decimalRestBytes[rest])
	for whole = whole[rest:]; len(whole) > 0; whole = whole[decimalGroupDigits:] {
		dst = appendDigits(dst, whole[:decimalGroupDigits], decimalGroupBytes)
	}
	for ; len(fraction) >= decimalGroupDigits; fraction = fraction[decimalGroupDigits:] {
		dst = appendDigits(dst, fraction[:decimalGroupDigits], decimalGroupBytes)
	}
	dst = appendDigits(dst, fraction, decimalRestBytes[len(fraction)])
	dst[start] ^= decimalSignBit
	if negative {
		for i := range dst[start:] {
			dst[start+i] ^= 0xff
		}
	}
	return dst
}

// appendDigits appends digits as a big endian number of n bytes.
func appendDigits(dst, digits []byte, n int) []byte {
	v := uint32(0)
	for _, d := range digits {
		v = v*10 + uint32(d)
	}
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// appendDecimalText appends the decimal number in v as the server prints it:
// all digits after the point, none too many before it.
func appendDecimalText(dst []byte, c *dictinfo.Column, v []byte) ([]byte, error) {
	whole, fraction, err := decimalDigits(c)
	if err != nil {
		return dst, err
	}
	if len(v) != c.SizeBytes() {
		return dst, valueError(c, ErrCorrupt, "%d bytes", len(v))
	}
	var plain [(maxDecimalDigits/decimalGroupDigits + 2) * decimalGroupBytes]byte
	b := plain[:copy(plain[:], v)]
	negative := b[0]&decimalSignBit == 0
	if negative {
		for i := range b {
			b[i] ^= 0xff
		}
	}
	b[0] ^= decimalSignBit

	var digits [maxDecimalDigits + 2*decimalGroupDigits]byte
	text := digits[:0]
	ok := true
	take := func(count, n int) {
		v := uint32(0)
		for _, x := range b[:n] {
			v = v<<8 | uint32(x)
		}
		b = b[n:]
		end := len(text) + count
		text = text[:end]
		for i := end - 1; i >= end-count; i-- {
			text[i], v = byte('0'+v%10), v/10
		}
		ok = ok && v == 0
	}
	take(whole%decimalGroupDigits, decimalRestBytes[whole%decimalGroupDigits])
	for range whole / decimalGroupDigits {
		take(decimalGroupDigits, decimalGroupBytes)
	}
	for range fraction / decimalGroupDigits {
		take(decimalGroupDigits, decimalGroupBytes)
	}
	take(fraction%decimalGroupDigits, decimalRestBytes[fraction%decimalGroupDigits])
	if !ok {
		return dst, valueError(c, ErrCorrupt, "%x", v)
	}
	return appendDigitsText(dst, text[:whole], text[whole:], negative), nil
}

func appendDigitsText(dst, whole, fraction []byte, negative bool) []byte {
	if negative {
		dst = append(dst, '-')
	}
	for len(whole) > 1 && whole[0] == '0' {
		whole = whole[1:]
	}
	if len(whole) == 0 {
		whole = []byte("0")
	}
	dst = append(dst, whole...)
	if len(fraction) > 0 {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst
}
