package row

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// maxUTF8Growth is how many bytes of UTF-8 a character can take that is one byte
// in the character set of a column, or that this lacks: which is then said, and
// not that the text is too long.
const maxUTF8Growth = 4

func appendText[T string | []byte](dst []byte, f Form, c *dictinfo.Column, s T) ([]byte, error) {
	if IsNumbered(c) {
		return dst, typeError(c, "text for the number of an ENUM or SET")
	}
	limit := c.SizeBytes() - c.LengthBytes()
	if len(s) > limit*maxUTF8Growth {
		// As with shorter text, what its characters are comes first.
		if c.Type.HasCharset() {
			if _, err := encodeText([]byte(s), 0, c); err != nil {
				return dst, err
			}
		}
		return dst, valueError(c, ErrTooLong, "%d bytes, at most %d", len(s), limit)
	}
	start := len(dst)
	dst = begin(dst, f, c, 0) // the length comes last
	valueStart := len(dst)
	for range c.LengthBytes() {
		dst = append(dst, 0)
	}
	contentStart := len(dst)
	dst, err := appendInCharset(append(dst, s...), contentStart, c)
	if err != nil {
		return dst[:start], err
	}
	if n := len(dst) - contentStart; n > limit {
		return dst[:start], valueError(c, ErrTooLong, "%d bytes, at most %d", n, limit)
	}
	dst = finishLength(dst, valueStart, contentStart, c)
	n := len(dst) - valueStart
	if f == FormAttr {
		binary.LittleEndian.PutUint32(dst[start:], uint32(NewAttrHeader(c.ID, n)))
	}
	return end(dst, f, n), nil
}

// finishLength fills in the length bytes, or fills up a value of a fixed size.
func finishLength(dst []byte, valueStart, contentStart int, c *dictinfo.Column) []byte {
	n := len(dst) - contentStart
	switch c.ArrayType {
	case dictinfo.ArrayShortVar:
		dst[valueStart] = byte(n)
	case dictinfo.ArrayMediumVar:
		binary.LittleEndian.PutUint16(dst[valueStart:], uint16(n))
	default:
		fill := byte(0)
		if c.Type == dictinfo.TypeChar {
			fill = ' '
		}
		for range c.SizeBytes() - n {
			dst = append(dst, fill)
		}
	}
	return dst
}

// AppendPattern appends the pattern of LIKE for column c: text in the column's
// character set, without length bytes or padding. The pattern may be longer
// than the values of the column.
func AppendPattern(dst []byte, c *dictinfo.Column, pattern string) ([]byte, error) {
	switch c.Type {
	case dictinfo.TypeChar, dictinfo.TypeVarchar, dictinfo.TypeLongvarchar,
		dictinfo.TypeBinary, dictinfo.TypeVarbinary, dictinfo.TypeLongvarbinary:
	default:
		return dst, typeError(c, "a pattern")
	}
	if IsNumbered(c) {
		return dst, typeError(c, "a pattern for the number of an ENUM or SET")
	}
	start := len(dst)
	dst = append(dst, pattern...)
	if c.Type.HasCharset() {
		encoded, err := encodeText(dst, start, c)
		if err != nil {
			return dst[:start], err
		}
		dst = encoded
	}
	switch n := len(dst) - start; {
	case n == 0:
		return dst, valueError(c, ErrRange, "empty pattern") // would read as NULL
	case n > MaxValueBytes:
		return dst[:start], valueError(c, ErrTooLong, "pattern of %d bytes", n)
	}
	return dst, nil
}

// appendInCharset turns the text at the end of dst into the column's character
// set and counts its characters.
func appendInCharset(dst []byte, start int, c *dictinfo.Column) ([]byte, error) {
	if !c.Type.HasCharset() {
		return dst, nil
	}
	collation, _ := CollationByID(c.Charset)
	dst, err := encodeText(dst, start, c)
	if err != nil {
		return dst, err
	}
	limit := int(c.Length) / collation.MaxBytes
	text := dst[start:]
	if len(text) <= limit {
		return dst, nil // at least one byte each
	}
	chars := len(text)
	if collation.Charset == CharsetUTF8MB3 || collation.Charset == CharsetUTF8MB4 {
		chars = utf8.RuneCount(text)
	}
	if chars > limit {
		return dst, valueError(c, ErrTooLong, "%d characters, at most %d", chars, limit)
	}
	return dst, nil
}

// fourByteStart is the lowest first byte of UTF-8 sequences of four.
const fourByteStart = 0xf0

// encodeText turns the UTF-8 at the end of dst into the character set of c.
func encodeText(dst []byte, start int, c *dictinfo.Column) ([]byte, error) {
	text := dst[start:]
	collation, _ := CollationByID(c.Charset)
	switch collation.Charset {
	case CharsetBinary:
		return dst, nil
	case CharsetUTF8MB3, CharsetUTF8MB4:
		if !utf8.Valid(text) {
			return dst, valueError(c, ErrCharset, "not UTF-8")
		}
		if collation.Charset == CharsetUTF8MB3 {
			for _, b := range text {
				if b >= fourByteStart {
					return dst, valueError(c, ErrCharset, "%s has no characters of 4 bytes", collation.Name)
				}
			}
		}
		return dst, nil
	case CharsetLatin1:
		return encodeLatin1(dst, start, c)
	case CharsetASCII, CharsetOther:
		if !isASCII(text) {
			return dst, valueError(c, ErrCharset, "only ASCII text is supported for %s", collation.Name)
		}
		return dst, nil
	}
	return dst, valueError(c, ErrUnsupported, "character set of %s", collation.Name)
}

func encodeLatin1(dst []byte, start int, c *dictinfo.Column) ([]byte, error) {
	text := dst[start:]
	dst = dst[:start] // what is written is never longer than what was read
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		b, ok := latin1Byte(r)
		if r == utf8.RuneError && n <= 1 || !ok {
			return dst, valueError(c, ErrCharset, "%q is not in latin1", text[:n])
		}
		dst, text = append(dst, b), text[n:]
	}
	return dst, nil
}

// appendCharacters appends characters as UTF-8. CHAR loses the blanks that
// fill it up, as the server does it.
func appendCharacters(dst []byte, c *dictinfo.Column, b []byte) ([]byte, error) {
	if c.Type == dictinfo.TypeChar {
		for len(b) > 0 && b[len(b)-1] == ' ' {
			b = b[:len(b)-1]
		}
	}
	collation, _ := CollationByID(c.Charset)
	switch collation.Charset {
	case CharsetLatin1:
		return appendLatin1AsUTF8(dst, b), nil
	case CharsetOther:
		if !isASCII(b) {
			return dst, valueError(c, ErrCharset, "only ASCII text is supported for %s", collation.Name)
		}
	case CharsetWide:
		return dst, valueError(c, ErrUnsupported, "character set of %s", collation.Name)
	}
	return append(dst, b...), nil
}
