package row

import (
	"fmt"
	"unicode/utf8"
)

// Charset is a character set, as far as this package tells them apart.
type Charset uint8

// The character sets.
const (
	CharsetBinary  Charset = iota + 1
	CharsetASCII           // bytes below 128
	CharsetLatin1          // MySQL's: Windows code page 1252, its gaps filled with control characters
	CharsetUTF8MB3         // UTF-8 without characters of four bytes
	CharsetUTF8MB4
	CharsetOther // ASCII text means the same in it
	CharsetWide  // not even that
)

// Collation is what this package knows of a collation: its character set, the
// longest character, and whether trailing spaces count in comparisons.
type Collation struct {
	Name     string
	Charset  Charset
	MaxBytes int // of one character
	PadSpace bool
}

// CollationByID returns the collation of that number, which is what the
// dictionary calls charset. Unknown numbers give ok = false and a collation
// that holds ASCII text of the given length only.
func CollationByID(id uint16) (c Collation, ok bool) {
	if int(id) < len(collations) && collations[id].MaxBytes > 0 {
		return collations[id], true
	}
	switch {
	case id >= 101 && id <= 124:
		return Collation{"utf16", CharsetWide, 4, true}, true
	case id >= 128 && id <= 151, id == 159:
		return Collation{"ucs2", CharsetWide, 2, true}, true
	case id >= 160 && id <= 183:
		return Collation{"utf32", CharsetWide, 4, true}, true
	case id >= 193 && id <= 215, id == 223:
		return Collation{"utf8mb3", CharsetUTF8MB3, 3, true}, true
	case id >= 225 && id <= 247:
		return Collation{"utf8mb4", CharsetUTF8MB4, 4, true}, true
	case id >= 256 && id <= 323:
		return Collation{"utf8mb4", CharsetUTF8MB4, 4, false}, true
	}
	return Collation{Name: fmt.Sprintf("collation %d", id), Charset: CharsetOther, MaxBytes: 1, PadSpace: true}, false
}

// Numbers of collations that this package treats one by one.
const (
	CollationLatin1SwedishCI  = 8
	CollationASCIIGeneralCI   = 11
	CollationUTF8MB3GeneralCI = 33
	CollationUTF8MB4GeneralCI = 45
	CollationUTF8MB4Bin       = 46
	CollationLatin1Bin        = 47
	CollationBinary           = 63
	CollationASCIIBin         = 65
	CollationUTF8MB3Bin       = 83
	CollationUTF8MB3UnicodeCI = 192
	CollationUTF8MB4UnicodeCI = 224
	CollationUTF8MB40900AICI  = 255
	CollationUTF8MB40900Bin   = 309
)

// collations has what information_schema.collations and character_sets of
// MySQL 9.7.2 say. Numbers that are missing are in the ranges of CollationByID.
var collations = [...]Collation{
	1:   {"big5_chinese_ci", CharsetOther, 2, true},
	2:   {"latin2_czech_cs", CharsetOther, 1, true},
	3:   {"dec8_swedish_ci", CharsetOther, 1, true},
	4:   {"cp850_general_ci", CharsetOther, 1, true},
	5:   {"latin1_german1_ci", CharsetLatin1, 1, true},
	6:   {"hp8_english_ci", CharsetOther, 1, true},
	7:   {"koi8r_general_ci", CharsetOther, 1, true},
	8:   {"latin1_swedish_ci", CharsetLatin1, 1, true},
	9:   {"latin2_general_ci", CharsetOther, 1, true},
	10:  {"swe7_swedish_ci", CharsetWide, 1, true},
	11:  {"ascii_general_ci", CharsetASCII, 1, true},
	12:  {"ujis_japanese_ci", CharsetOther, 3, true},
	13:  {"sjis_japanese_ci", CharsetOther, 2, true},
	14:  {"cp1251_bulgarian_ci", CharsetOther, 1, true},
	15:  {"latin1_danish_ci", CharsetLatin1, 1, true},
	16:  {"hebrew_general_ci", CharsetOther, 1, true},
	18:  {"tis620_thai_ci", CharsetOther, 1, true},
	19:  {"euckr_korean_ci", CharsetOther, 2, true},
	20:  {"latin7_estonian_cs", CharsetOther, 1, true},
	21:  {"latin2_hungarian_ci", CharsetOther, 1, true},
	22:  {"koi8u_general_ci", CharsetOther, 1, true},
	23:  {"cp1251_ukrainian_ci", CharsetOther, 1, true},
	24:  {"gb2312_chinese_ci", CharsetOther, 2, true},
	25:  {"greek_general_ci", CharsetOther, 1, true},
	26:  {"cp1250_general_ci", CharsetOther, 1, true},
	27:  {"latin2_croatian_ci", CharsetOther, 1, true},
	28:  {"gbk_chinese_ci", CharsetOther, 2, true},
	29:  {"cp1257_lithuanian_ci", CharsetOther, 1, true},
	30:  {"latin5_turkish_ci", CharsetOther, 1, true},
	31:  {"latin1_german2_ci", CharsetLatin1, 1, true},
	32:  {"armscii8_general_ci", CharsetOther, 1, true},
	33:  {"utf8mb3_general_ci", CharsetUTF8MB3, 3, true},
	34:  {"cp1250_czech_cs", CharsetOther, 1, true},
	35:  {"ucs2_general_ci", CharsetWide, 2, true},
	36:  {"cp866_general_ci", CharsetOther, 1, true},
	37:  {"keybcs2_general_ci", CharsetOther, 1, true},
	38:  {"macce_general_ci", CharsetOther, 1, true},
	39:  {"macroman_general_ci", CharsetOther, 1, true},
	40:  {"cp852_general_ci", CharsetOther, 1, true},
	41:  {"latin7_general_ci", CharsetOther, 1, true},
	42:  {"latin7_general_cs", CharsetOther, 1, true},
	43:  {"macce_bin", CharsetOther, 1, true},
	44:  {"cp1250_croatian_ci", CharsetOther, 1, true},
	45:  {"utf8mb4_general_ci", CharsetUTF8MB4, 4, true},
	46:  {"utf8mb4_bin", CharsetUTF8MB4, 4, true},
	47:  {"latin1_bin", CharsetLatin1, 1, true},
	48:  {"latin1_general_ci", CharsetLatin1, 1, true},
	49:  {"latin1_general_cs", CharsetLatin1, 1, true},
	50:  {"cp1251_bin", CharsetOther, 1, true},
	51:  {"cp1251_general_ci", CharsetOther, 1, true},
	52:  {"cp1251_general_cs", CharsetOther, 1, true},
	53:  {"macroman_bin", CharsetOther, 1, true},
	54:  {"utf16_general_ci", CharsetWide, 4, true},
	55:  {"utf16_bin", CharsetWide, 4, true},
	56:  {"utf16le_general_ci", CharsetWide, 4, true},
	57:  {"cp1256_general_ci", CharsetOther, 1, true},
	58:  {"cp1257_bin", CharsetOther, 1, true},
	59:  {"cp1257_general_ci", CharsetOther, 1, true},
	60:  {"utf32_general_ci", CharsetWide, 4, true},
	61:  {"utf32_bin", CharsetWide, 4, true},
	62:  {"utf16le_bin", CharsetWide, 4, true},
	63:  {"binary", CharsetBinary, 1, false},
	64:  {"armscii8_bin", CharsetOther, 1, true},
	65:  {"ascii_bin", CharsetASCII, 1, true},
	66:  {"cp1250_bin", CharsetOther, 1, true},
	67:  {"cp1256_bin", CharsetOther, 1, true},
	68:  {"cp866_bin", CharsetOther, 1, true},
	69:  {"dec8_bin", CharsetOther, 1, true},
	70:  {"greek_bin", CharsetOther, 1, true},
	71:  {"hebrew_bin", CharsetOther, 1, true},
	72:  {"hp8_bin", CharsetOther, 1, true},
	73:  {"keybcs2_bin", CharsetOther, 1, true},
	74:  {"koi8r_bin", CharsetOther, 1, true},
	75:  {"koi8u_bin", CharsetOther, 1, true},
	76:  {"utf8mb3_tolower_ci", CharsetUTF8MB3, 3, true},
	77:  {"latin2_bin", CharsetOther, 1, true},
	78:  {"latin5_bin", CharsetOther, 1, true},
	79:  {"latin7_bin", CharsetOther, 1, true},
	80:  {"cp850_bin", CharsetOther, 1, true},
	81:  {"cp852_bin", CharsetOther, 1, true},
	82:  {"swe7_bin", CharsetWide, 1, true},
	83:  {"utf8mb3_bin", CharsetUTF8MB3, 3, true},
	84:  {"big5_bin", CharsetOther, 2, true},
	85:  {"euckr_bin", CharsetOther, 2, true},
	86:  {"gb2312_bin", CharsetOther, 2, true},
	87:  {"gbk_bin", CharsetOther, 2, true},
	88:  {"sjis_bin", CharsetOther, 2, true},
	89:  {"tis620_bin", CharsetOther, 1, true},
	90:  {"ucs2_bin", CharsetWide, 2, true},
	91:  {"ujis_bin", CharsetOther, 3, true},
	92:  {"geostd8_general_ci", CharsetOther, 1, true},
	93:  {"geostd8_bin", CharsetOther, 1, true},
	94:  {"latin1_spanish_ci", CharsetLatin1, 1, true},
	95:  {"cp932_japanese_ci", CharsetOther, 2, true},
	96:  {"cp932_bin", CharsetOther, 2, true},
	97:  {"eucjpms_japanese_ci", CharsetOther, 3, true},
	98:  {"eucjpms_bin", CharsetOther, 3, true},
	99:  {"cp1250_polish_ci", CharsetOther, 1, true},
	192: {"utf8mb3_unicode_ci", CharsetUTF8MB3, 3, true},
	224: {"utf8mb4_unicode_ci", CharsetUTF8MB4, 4, true},
	248: {"gb18030_chinese_ci", CharsetOther, 4, true},
	249: {"gb18030_bin", CharsetOther, 4, true},
	250: {"gb18030_unicode_520_ci", CharsetOther, 4, true},
	255: {"utf8mb4_0900_ai_ci", CharsetUTF8MB4, 4, false},
	309: {"utf8mb4_0900_bin", CharsetUTF8MB4, 4, false},
}

// latin1High has the characters of bytes 0x80 to 0x9f of MySQL's latin1; above
// and below, character and byte are the same number.
var latin1High = [32]rune{
	0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
}

const (
	latin1HighStart = 0x80
	latin1HighEnd   = 0xa0
)

func latin1Byte(r rune) (byte, bool) {
	if r < latin1HighStart || r >= latin1HighEnd && r <= 0xff {
		return byte(r), true
	}
	for i, high := range latin1High {
		if high == r {
			return byte(latin1HighStart + i), true
		}
	}
	return 0, false
}

// appendLatin1AsUTF8 appends the UTF-8 of b, which is latin1.
func appendLatin1AsUTF8(dst, b []byte) []byte {
	for _, c := range b {
		switch {
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		case c < latin1HighEnd:
			dst = utf8.AppendRune(dst, latin1High[c-latin1HighStart])
		default:
			dst = utf8.AppendRune(dst, rune(c))
		}
	}
	return dst
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
