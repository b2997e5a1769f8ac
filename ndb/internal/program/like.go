package program

import (
	"bytes"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// Wildcards of LIKE.
const (
	anyText = '%'
	anyOne  = '_'
	escape  = '\\'
)

// MatchLike tells whether value, without length bytes, is LIKE pattern.
// Characters are equal where their weights are. It is not ok where the weights
// of the column's collation are not known.
func MatchLike(c *dictinfo.Column, value, pattern []byte) (matches, ok bool) {
	collation := uint16(row.CollationBinary)
	if c.Type.HasCharset() {
		collation = c.Charset
	}
	if c.Type == dictinfo.TypeChar {
		value = bytes.TrimRight(value, " ")
	}
	text, ok1 := split(collation, value, false)
	wanted, ok2 := split(collation, pattern, true)
	if !ok1 || !ok2 {
		return false, false
	}
	return matchLike(text, wanted), true
}

// character is one of a text or of a pattern: its weight, or a wildcard.
type character struct {
	weight   uint32
	wildcard byte
}

// split takes text apart into characters.
func split(collation uint16, text []byte, isPattern bool) ([]character, bool) {
	info, _ := row.CollationByID(collation)
	var all []character
	for len(text) > 0 {
		if isPattern && (text[0] == anyText || text[0] == anyOne) {
			all = append(all, character{wildcard: text[0]})
			text = text[1:]
			continue
		}
		if isPattern && text[0] == escape && len(text) > 1 {
			text = text[1:]
		}
		weight, n, ok := row.NextWeight(collation, text)
		if !ok {
			return nil, false
		}
		if info.Charset == row.CharsetUTF8MB4 && n == 1 && text[0] >= utf8.RuneSelf {
			// A collation that compares bytes: its characters have several.
			r, size := utf8.DecodeRune(text)
			weight, n = uint32(r), size
		}
		all = append(all, character{weight: weight})
		text = text[n:]
	}
	return all, true
}

// matchLike goes back to the last % where it does not get on.
func matchLike(text, pattern []character) bool {
	t, p := 0, 0
	backT, backP := 0, -1
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p].wildcard == anyText:
			backT, backP = t, p
			p++
		case p < len(pattern) && (pattern[p].wildcard == anyOne || pattern[p] == text[t]):
			t++
			p++
		case backP >= 0:
			backT++
			t, p = backT, backP+1
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p].wildcard == anyText {
		p++
	}
	return p == len(pattern)
}
