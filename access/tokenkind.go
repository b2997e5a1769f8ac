package access

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// refusedKind is for tokens that are good for something else, or that ask for more
// than is checked here. Which it is, is for the log.
func refusedKind(cause string) error {
	return refusedFor(cause, "the token is of a kind that is not taken here")
}

var (
	errCritical = refusedKind("the header of the token has crit (RFC 7515, section 4.1.11), and no extension is known here")
	errType     = refusedKind("the typ of the token is not JWT, and not at+jwt (RFC 9068)")
	// Who only has stolen such a token must not come in by it.
	errBound = refusedKind("the token is bound to a key (cnf, RFC 7800), and the proof of possession is not checked here")
)

// checkHeader looks for what go-jose passes over: a type, and an empty list of
// what must be understood.
func checkHeader(raw string) error {
	encoded, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	var header map[string]json.RawMessage // no struct: it would take CRIT for crit
	if err != nil || json.Unmarshal(text, &header) != nil {
		return errNoToken
	}
	if _, ok := header["crit"]; ok {
		return errCritical
	}
	if typ, ok := header["typ"]; ok && !isTokenType(typ) {
		return errType
	}
	return nil
}

// isTokenType takes media types, of which application/ may be left out.
func isTokenType(raw []byte) bool {
	var typ string
	if json.Unmarshal(raw, &typ) != nil {
		return false
	}
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return typ == "jwt" || typ == "at+jwt"
}
