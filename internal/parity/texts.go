package parity

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// alike has texts that some collation takes for the same, or that one could think
// it does. Texts at edges are made of these.
var alike = [][]string{
	{"a", "A", "á", "À", "ä", "å", "ａ", "a\u0301", "ª", "ā", "α", "а"}, // the last three: Latin, Greek, Cyrillic
	{"b", "B"},
	{"c", "ç", "Ç", "č"},
	{"d", "đ", "Đ", "ð", "Ð"},
	{"e", "E", "é", "É", "ê", "e\u0301", "e\u0301\u0302", "€"},
	{"fi", "FI", "ﬁ"},
	{"i", "I", "í", "ı", "İ", "i\u0307"},
	{"k", "K", "\u212a"}, // the last one: kelvin sign
	{"l", "ł", "Ł"},
	{"n", "ñ", "Ñ", "n\u0303"},
	{"o", "O", "ö", "Ö", "ø", "Ø", "ő", "º"},
	{"s", "S", "ſ", "ß", "ẞ", "š", "Š"},
	{"ss", "SS", "ß", "ẞ", "sS"},
	{"th", "þ", "Þ"},
	{"u", "ü", "Ü", "ů"},
	{"y", "ÿ", "Ÿ", "ý", "ü"},
	{"z", "ž", "Ž"},
	{"ae", "æ", "Æ", "ä", "AE"},
	{"oe", "œ", "Œ", "ö"},
	{"dž", "ǆ", "ǅ", "Ǆ"},
	{"σ", "ς", "Σ"},
	{"Ω", "\u2126", "ω", "Ώ"}, // the second one: ohm sign
	{"å", "Å", "\u212b", "A\u030a", "aa"},
	{"и", "й", "и\u0306"},
	{"漢", "汉", "\U0002f800"},
	{"か", "カ", "ｶ", "が", "か\u3099", "ヵ"},
	{"가", "\u1100\u1161"},
	{"ก", "ก\u0e48"},
	{"ع", "\ufec9"},
	{"1/2", "½"},
	{"1", "１", "²", "①", "٠"},
	{"-", "–", "—", "\u00ad", "‐"},
	{"'", "’", "‘", "`", "\""},
	{" ", "\u00a0", "\u3000", "\t", "\u2028"},
	{"", "\u200d", "\ufeff", "\x00", "\x01", "\u0301"}, // what some collations pass over
	{"\x00", "\x1f", "\x7f", "\n", "\u0080", "\u0081", "\u009d"},
	{"\ufffd", "\ufffe", "\uffff", "\ufdd0"},
	beyondPlane,
	{"\\", "%", "_", "\\%", ";", "--", "/*"},
	{"NULL", "null", "0"},
}

// beyondPlane has characters of four bytes.
var beyondPlane = []string{"😀", "😁", "𝒜", "\U0010ffff", "𐐀", "𐐨"}

// classes are the places in alike where a text stands.
var classes = func() map[string][]int {
	places := map[string][]int{}
	for i, class := range alike {
		for _, text := range class {
			places[text] = append(places[text], i)
		}
	}
	return places
}()

// text is made of pieces that stand in alike, or are spaces.
type text []string

func (t text) String() string { return strings.Join(t, "") }

// Lengths about that of the columns, in characters.
const (
	columnLength = 64
	maxSpaces    = 3
)

func pick[T any](r *rand.Rand, choices []T) T { return choices[r.IntN(len(choices))] }

func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// newText makes a text.
func newText(r *rand.Rand) text {
	switch r.IntN(18) {
	case 0:
		return nil
	case 1:
		return spaces(r)
	case 2:
		return longText(r)
	case 3:
		return text{pick(r, beyondPlane)}
	}
	var t text
	for range 1 + r.IntN(3) {
		t = append(t, newPiece(r))
	}
	if oneIn(r, 4) {
		t = append(t, spaces(r)...)
	}
	return t
}

func spaces(r *rand.Rand) text { return slices.Repeat(text{" "}, 1+r.IntN(maxSpaces)) }

// newPiece prefers what most character sets can store, so that writes succeed.
func newPiece(r *rand.Rand) string {
	piece := pick(r, pick(r, alike))
	for range 2 {
		if !isLatin1(piece) {
			piece = pick(r, pick(r, alike))
		}
	}
	return piece
}

func isLatin1(piece string) bool {
	return !strings.ContainsFunc(piece, func(c rune) bool { return c > 0xff })
}

// longText has about as many characters as the columns hold.
func longText(r *rand.Rand) text {
	piece := newPiece(r)
	for utf8.RuneCountInString(piece) != 1 {
		piece = newPiece(r)
	}
	n := columnLength - 1 + r.IntN(3)
	t := slices.Repeat(text{piece}, n)
	if n < columnLength && oneIn(r, 2) {
		return append(t, newPiece(r))
	}
	if oneIn(r, 4) {
		t = append(t, spaces(r)...)
	}
	return t
}

// changed makes a text that some collation takes for the same, or nearly so.
func (t text) changed(r *rand.Rand) text {
	t = slices.Clone(t)
	switch r.IntN(6) {
	case 0:
		return append(t, spaces(r)...)
	case 1:
		for len(t) > 0 && t[len(t)-1] == " " {
			t = t[:len(t)-1]
		}
		return t
	case 2:
		return append(t, newPiece(r))
	case 3:
		if len(t) > 0 {
			return t[:len(t)-1]
		}
	}
	for i, piece := range t {
		if places := classes[piece]; len(places) > 0 && !oneIn(r, 3) {
			t[i] = pick(r, alike[pick(r, places)])
		}
	}
	return t
}
