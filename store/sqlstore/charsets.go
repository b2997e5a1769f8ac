package sqlstore

import (
	"strings"
	"unicode/utf8"
)

// repertoires tell which characters the usual character sets have. Those of
// other sets only the server knows.
var repertoires = map[string]func(r rune) bool{
	"ascii":   func(r rune) bool { return r < utf8.RuneSelf },
	"latin1":  isLatin1,
	"utf8":    isBasicPlane,
	"utf8mb3": isBasicPlane,
	"ucs2":    isBasicPlane,
	"utf8mb4": func(rune) bool { return true },
}

func isBasicPlane(r rune) bool { return r <= 0xFFFF }

// isLatin1 knows that what MySQL calls latin1 is Windows-1252, with the five
// codes that this leaves free as control characters.
func isLatin1(r rune) bool {
	return r < 0x80 || r >= 0xA0 && r <= 0xFF ||
		strings.ContainsRune("\u0081\u008d\u008f\u0090\u009d€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ", r)
}

func holdsAll(canStore func(r rune) bool, text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !canStore(r) })
}

func hasRuneAbove(text string, limit rune) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r > limit })
}
