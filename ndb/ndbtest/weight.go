package ndbtest

import (
	"bytes"
	"cmp"
	"sync"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// weigher returns the weight that a collation gives to the first character of
// text, which is not empty, and how many bytes that character has.
type weigher func(collation uint16, text []byte) (weight uint32, sizeBytes int)

// weigher asks Weights first.
func (o *options) weigher() weigher {
	if o.weights == nil {
		return knownWeight
	}
	return func(collation uint16, text []byte) (weight uint32, sizeBytes int) {
		info, _ := row.CollationByID(collation)
		switch info.Charset {
		case row.CharsetUTF8MB3, row.CharsetUTF8MB4:
			if weightOf := o.weights(collation); weightOf != nil {
				r, n := utf8.DecodeRune(text)
				return weightOf(r), n
			}
		case row.CharsetLatin1:
			if _, _, known := row.NextWeight(collation, text); known {
				break
			}
			if weightOf := o.weights(collation); weightOf != nil {
				return weightOf(latin1()[text[0]]), 1
			}
		}
		return knownWeight(collation, text)
	}
}

// latin1 returns the characters of the bytes of MySQL's latin1.
var latin1 = sync.OnceValue(func() (runes [256]rune) {
	c := dictinfo.Column{Type: dictinfo.TypeVarchar, Charset: row.CollationLatin1Bin}
	for b := range runes {
		s, err := row.String(&c, []byte{byte(b)}, row.Span{Len: 1})
		if err != nil {
			panic(err)
		}
		runes[b], _ = utf8.DecodeRuneInString(s)
	}
	return runes
})

// knownWeight has to do with the bytes of characters whose weight is not known,
// behind all that have one.
func knownWeight(collation uint16, text []byte) (weight uint32, sizeBytes int) {
	if weight, n, ok := row.NextWeight(collation, text); ok {
		return weight, n
	}
	return unknownWeight + uint32(text[0]), 1
}

// unknownWeight is above the weights of all characters that are known.
const unknownWeight = 1 << 24

// next gives the end of a text the weight of the spaces that follow it.
func (w weigher) next(collation uint16, text []byte) (weight uint32, rest []byte) {
	if len(text) == 0 {
		text = space
	}
	weight, n := w(collation, text)
	return weight, text[n:]
}

var space = []byte{' '}

// compareText compares by the weights of characters.
func (w weigher) compareText(collation uint16, a, b []byte) int {
	info, _ := row.CollationByID(collation)
	for len(a) > 0 || len(b) > 0 {
		if !info.PadSpace && (len(a) == 0 || len(b) == 0) {
			return cmp.Compare(len(a), len(b))
		}
		weightA, restA := w.next(collation, a)
		weightB, restB := w.next(collation, b)
		if weightA != weightB {
			return cmp.Compare(weightA, weightB)
		}
		a, b = restA, restB
	}
	return 0
}

// compareContent orders values without length bytes.
func (w weigher) compareContent(c *dictinfo.Column, a, b []byte) (order int, ok bool) {
	if c.Type.HasCharset() && c.Charset != row.CollationBinary {
		return w.compareText(c.Charset, a, b), true
	}
	return row.Compare(c, a, b)
}

// compareValues orders values with their length bytes; NULL comes first.
func (w weigher) compareValues(c *dictinfo.Column, a, b []byte) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	a, b = row.Content(c, a), row.Content(c, b)
	if order, ok := w.compareContent(c, a, b); ok {
		return order
	}
	return bytes.Compare(a, b)
}

// appendWeights appends what texts that are equal have in common.
func (w weigher) appendWeights(dst []byte, c *dictinfo.Column, text []byte) []byte {
	collation, _ := row.CollationByID(c.Charset)
	if collation.PadSpace || c.Type == dictinfo.TypeChar {
		text = bytes.TrimRight(text, " ")
	}
	for len(text) > 0 {
		var weight uint32
		weight, text = w.next(c.Charset, text)
		dst = append(dst, byte(weight>>24), byte(weight>>16), byte(weight>>8), byte(weight))
	}
	return dst
}
