package row

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A collation compares text by the weights of its characters. This file has
// the weights of collations that give one to each character: of all characters in
// latin1, the binary ones and the general ones of Unicode, of ASCII in others. The
// facts are what WEIGHT_STRING() of MySQL 9.7.2 answers.

//go:generate go run ../../../internal/weights -o generalci.go

// NextWeight returns the weight of the first character of text, which must not
// be empty, and the bytes of that character. Weights are comparable within one
// collation. Text or a collation beyond this package's knowledge is not ok.
func NextWeight(collation uint16, text []byte) (weight uint32, sizeBytes int, ok bool) {
	c := text[0]
	switch collation {
	case CollationBinary, CollationLatin1Bin, CollationASCIIBin, CollationUTF8MB40900Bin:
		return uint32(c), 1, true
	case CollationLatin1SwedishCI:
		return uint32(swedishWeight(c)), 1, true
	case CollationUTF8MB3Bin, CollationUTF8MB4Bin:
		if c < utf8.RuneSelf {
			return uint32(c), 1, true
		}
		r, n := utf8.DecodeRune(text)
		return uint32(r), n, r != utf8.RuneError || n > 1
	case CollationUTF8MB3GeneralCI, CollationUTF8MB4GeneralCI:
		if c < utf8.RuneSelf {
			return uint32(upperASCII(c)), 1, true
		}
		return generalWeight(collation, text)
	case CollationASCIIGeneralCI:
		return uint32(upperASCII(c)), 1, c < utf8.RuneSelf
	case CollationUTF8MB40900AICI:
		weight = uint32(rankUCA9[c])
		return weight, 1, weight > 0
	case CollationUTF8MB3UnicodeCI, CollationUTF8MB4UnicodeCI, collationUTF8MB3Unicode520CI, collationUTF8MB4Unicode520CI:
		weight = uint32(rankUCA4[c])
		return weight, 1, weight > 0
	}
	return 0, 0, false
}

const (
	collationUTF8MB3Unicode520CI = 214
	collationUTF8MB4Unicode520CI = 246
)

func upperASCII(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

const (
	lastOfPlane = 0xffff
	beyondPlane = 0xfffd // the weight of all characters above it

	generalShift = 16 // of the characters in generalCI
	generalMask  = 1<<generalShift - 1
)

// generalWeight is NextWeight for the general collations of Unicode. Those of
// three bytes have no characters above the first plane.
func generalWeight(collation uint16, text []byte) (weight uint32, sizeBytes int, ok bool) {
	r, n := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && n <= 1:
		return 0, 0, false
	case r > lastOfPlane:
		return beyondPlane, n, collation == CollationUTF8MB4GeneralCI
	}
	i, _ := slices.BinarySearch(generalCI[:], uint32(r)<<generalShift)
	if i < len(generalCI) && generalCI[i]>>generalShift == uint32(r) {
		return generalCI[i] & generalMask, n, true
	}
	return uint32(r), n, true
}

// latin1SwedishHigh has the weights of bytes 0xc0 to 0xff of
// latin1_swedish_ci; below, only the letters of ASCII have other weights than
// their bytes.
const latin1SwedishHigh = "AAAA\\[\\CEEEEIIIIDNOOOO]\xd7\xd8UUUYY\xde\xdfAAAA\\[\\CEEEEIIIIDNOOOO]\xf7\xd8UUUYY\xde\xff"

const latin1LettersStart = 0xc0

func swedishWeight(c byte) byte {
	if c >= latin1LettersStart {
		return latin1SwedishHigh[c-latin1LettersStart]
	}
	return upperASCII(c)
}

// The order of printable ASCII in the root collations of Unicode 9, and of
// Unicode 4 and 5.2. Upper case letters weigh what lower case ones do; control
// characters have no weight and are left out.
const (
	orderUCA9 = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
	orderUCA4 = " `^_-,;:!?.'\"()[]{}@*/\\&#%+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
)

var (
	rankUCA9 = rank(orderUCA9)
	rankUCA4 = rank(orderUCA4)
)

func rank(order string) (ranks [256]uint8) {
	for c := byte(' '); c <= '~'; c++ {
		ranks[c] = uint8(1 + strings.IndexByte(order, lowerASCII(c)))
	}
	return ranks
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}

// compareText compares by the collation. Where trailing spaces do not count,
// the shorter text goes on with spaces.
func compareText(collation uint16, a, b []byte) (order int, ok bool) {
	info, ok := CollationByID(collation)
	if !ok {
		return 0, false
	}
	var space uint32
	if info.PadSpace {
		if space, _, ok = NextWeight(collation, []byte{' '}); !ok {
			return 0, false
		}
	}
	next := func(text []byte) (weight uint32, rest []byte, ok bool) {
		if len(text) == 0 {
			return space, nil, true
		}
		weight, n, ok := NextWeight(collation, text)
		return weight, text[min(n, len(text)):], ok
	}
	for len(a) > 0 || len(b) > 0 {
		if !info.PadSpace && (len(a) == 0 || len(b) == 0) {
			return len(a) - len(b), textIsKnown(collation, a) && textIsKnown(collation, b) // what is left has weight
		}
		weightA, restA, okA := next(a)
		weightB, restB, okB := next(b)
		if !okA || !okB {
			return 0, false
		}
		if weightA != weightB {
			known := !isUCA(collation) || textIsKnown(collation, restA) && textIsKnown(collation, restB)
			return int(weightA) - int(weightB), known
		}
		a, b = restA, restB
	}
	return 0, true
}

// isUCA tells the collations in which a character can change the weight of the
// one before it.
func isUCA(collation uint16) bool {
	switch collation {
	case CollationUTF8MB40900AICI, CollationUTF8MB3UnicodeCI, CollationUTF8MB4UnicodeCI,
		collationUTF8MB3Unicode520CI, collationUTF8MB4Unicode520CI:
		return true
	}
	return false
}

func textIsKnown(collation uint16, text []byte) bool {
	for len(text) > 0 {
		_, n, ok := NextWeight(collation, text)
		if !ok {
			return false
		}
		text = text[n:]
	}
	return true
}
