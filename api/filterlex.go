package api

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind says what a part of a filter is.
type tokenKind uint8

const (
	tokenEnd     tokenKind = iota
	tokenWord              // a name, a keyword, a number, a value without quotes
	tokenText              // in quotes
	tokenCompare           // = != < <= > >=
	tokenHas               // :
	tokenOpen
	tokenClose
	tokenComma
	tokenMinus // before something that is no number
)

// filterToken is a part of a filter.
type filterToken struct {
	kind  tokenKind
	text  string // without quotes and escapes
	at    int    // in bytes, from 0
	stars []int  // where text has a * that was not escaped
}

func (t filterToken) isKeyword(word string) bool { return t.kind == tokenWord && t.text == word }

// maxTokenShown bounds what is sent back of what a client has made up.
const maxTokenShown = 40

// String is how messages call the token.
func (t filterToken) String() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	text := t.text
	if len(text) > maxTokenShown {
		end := maxTokenShown
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	if t.kind == tokenText {
		return strconv.Quote(text)
	}
	return text
}

// filterLexer takes a filter apart.
type filterLexer struct {
	text string // is UTF-8
	at   int    // in bytes
}

// faultAt is about what stands at that byte.
func (l *filterLexer) faultAt(at int, code, message string) error {
	return &filterFault{code: code, position: 1 + utf8.RuneCountInString(l.text[:at]), message: message}
}

// next returns the next token.
func (l *filterLexer) next() (filterToken, error) {
	l.at += len(l.text[l.at:]) - len(strings.TrimLeftFunc(l.text[l.at:], unicode.IsSpace))
	rest := l.text[l.at:]
	if rest == "" {
		return filterToken{at: l.at}, nil
	}
	switch rest[0] {
	case '"', '\'':
		return l.quoted(rest[0])
	case '(':
		return l.take(tokenOpen, 1), nil
	case ')':
		return l.take(tokenClose, 1), nil
	case ',':
		return l.take(tokenComma, 1), nil
	case ':':
		return l.take(tokenHas, 1), nil
	case '=', '<', '>', '!':
		return l.comparator(rest)
	case '-':
		if len(rest) == 1 || rest[1] < '0' || rest[1] > '9' {
			return l.take(tokenMinus, 1), nil
		}
	}
	t := l.take(tokenWord, strings.IndexFunc(rest+" ", isOutsideWord))
	for i := range len(t.text) {
		if t.text[i] == '*' {
			t.stars = append(t.stars, i)
		}
	}
	return t, nil
}

func isOutsideWord(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`()=!<>:,"'`, c) }

// take makes a token of the next n bytes.
func (l *filterLexer) take(kind tokenKind, n int) filterToken {
	t := filterToken{kind: kind, text: l.text[l.at : l.at+n], at: l.at}
	l.at += n
	return t
}

func (l *filterLexer) comparator(rest string) (filterToken, error) {
	switch {
	case strings.HasPrefix(rest[1:], "=") && rest[0] != '=':
		return l.take(tokenCompare, 2), nil
	case rest[0] == '!':
		return filterToken{}, l.faultAt(l.at, "syntax", "! is only known in !=; write NOT")
	case strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "<>"):
		return filterToken{}, l.faultAt(l.at, "syntax", "there is no "+rest[:2]+"; there are =, !=, <, <=, > and >=")
	default:
		return l.take(tokenCompare, 1), nil
	}
}

// quoted reads text in quotes.
func (l *filterLexer) quoted(quote byte) (filterToken, error) {
	t := filterToken{kind: tokenText, at: l.at}
	var text strings.Builder
	for i := l.at + 1; i < len(l.text); {
		switch c := l.text[i]; c {
		case quote:
			t.text, l.at = text.String(), i+1
			return t, nil
		case '\\':
			char, n, ok := unescape(l.text[i+1:])
			if !ok {
				return filterToken{}, l.faultAt(i, "syntax", `\ must be followed by \, ", ', *, n, r, t or uXXXX; a \ itself is \\`)
			}
			text.WriteString(char)
			i += 1 + n
		default:
			if c == '*' {
				t.stars = append(t.stars, text.Len())
			}
			text.WriteByte(c)
			i++
		}
	}
	return filterToken{}, l.faultAt(l.at, "syntax", "the text that begins here has no end: "+string(quote)+" is missing")
}

// unescape reads what follows a \, of n bytes.
func unescape(rest string) (char string, n int, ok bool) {
	if rest == "" {
		return "", 0, false
	}
	switch rest[0] {
	case '\\', '"', '\'', '*':
		return rest[:1], 1, true
	case 'n':
		return "\n", 1, true
	case 'r':
		return "\r", 1, true
	case 't':
		return "\t", 1, true
	case 'u':
		const digits = 4
		if len(rest) <= digits {
			return "", 0, false
		}
		code, err := strconv.ParseUint(rest[1:1+digits], 16, 16)
		if err != nil || !utf8.ValidRune(rune(code)) {
			return "", 0, false
		}
		return string(rune(code)), 1 + digits, true
	}
	return "", 0, false
}
