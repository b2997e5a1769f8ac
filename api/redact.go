package api

import (
	"bytes"
	"strings"
)

// keyMark is how every API key begins.
const keyMark = "ndbgate_"

// withoutKeys takes API keys out of a text that a client may have put them into by
// mistake, such as a path: logs and answers go where keys must not. All other texts
// are only looked through.
func withoutKeys(text string) string {
	if !strings.Contains(text, keyMark) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, keyMark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(keyMark + "REMOVED")
		text = strings.TrimLeftFunc(after, isOfKey)
	}
}

// withoutKeysInJSON is withoutKeys for JSON, whose escapes no key needs.
func withoutKeysInJSON(body []byte) []byte {
	if !bytes.Contains(body, []byte(keyMark)) {
		return body
	}
	return []byte(withoutKeys(string(body)))
}

// isOfKey tells the characters of base64url.
func isOfKey(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
