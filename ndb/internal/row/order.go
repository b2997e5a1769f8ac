package row

import (
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// OrderIsKnown tells whether Compare can compare all values of a column: of text,
// that the collation gives each character a weight of its own.
func OrderIsKnown(c *dictinfo.Column) bool {
	switch {
	case !c.Type.HasCharset():
		_, ok := Compare(c, zeroOf(c), zeroOf(c))
		return ok && !IsNumbered(c) && c.Type != dictinfo.TypeBit
	case IsNumbered(c):
		return false
	}
	_, known := greatest[c.Charset]
	return known
}

// zeroOf is a value of a type that is no text.
func zeroOf(c *dictinfo.Column) []byte { return make([]byte, c.SizeBytes()-c.LengthBytes()) }

// greatest has a character of the greatest weight for each collation whose
// characters have weights of their own.
var greatest = map[uint16]rune{
	CollationLatin1SwedishCI:  'ÿ',
	CollationLatin1Bin:        'ÿ',
	CollationASCIIGeneralCI:   0x7f,
	CollationASCIIBin:         0x7f,
	CollationUTF8MB3GeneralCI: lastOfPlane,
	CollationUTF8MB3Bin:       lastOfPlane,
	CollationUTF8MB4GeneralCI: lastOfPlane, // those beyond it weigh less
	CollationUTF8MB4Bin:       utf8.MaxRune,
	CollationUTF8MB40900Bin:   utf8.MaxRune,
}

// PrefixBounds returns the first and the last text of a column, in its order,
// that can begin with characters that equal those of prefix. It is not ok where
// these are not known.
func PrefixBounds(c *dictinfo.Column, prefix string) (low, high string, ok bool) {
	last, known := greatest[c.Charset]
	if !c.Type.HasCharset() || !known {
		return "", "", false
	}
	collation, _ := CollationByID(c.Charset)
	rest := int(c.Length)/collation.MaxBytes - utf8.RuneCountInString(prefix)
	if rest < 0 {
		return "", "", false
	}
	low, high = prefix, prefix+strings.Repeat(string(last), rest)
	if collation.PadSpace { // of shorter text, a space counts, which has less before it
		low += strings.Repeat("\x00", rest)
	}
	return low, high, true
}
