package api

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// encodeEmployee returns the one JSON form of an employee.
func encodeEmployee(e *models.Employee) []byte {
	body, err := json.Marshal(e)
	if err != nil {
		panic("api: an employee that cannot be encoded: " + err.Error())
	}
	return append(body, '\n')
}

// etagOf is the strong entity tag of a body: the same bytes give the same tag
// on every road and gateway.
func etagOf(body []byte) string { return `"` + digestOf(body) + `"` }

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// entityTags is the value of If-Match or If-None-Match.
type entityTags struct {
	any  bool     // "*"
	tags []string // with quotes, and with W/ where weak
}

func (t entityTags) given() bool { return t.any || len(t.tags) > 0 }

// has compares a strong tag as If-None-Match does: a weak one of the list is the same.
func (t entityTags) has(tag string) bool {
	return t.any || slices.ContainsFunc(t.tags, func(k string) bool { return weak(k) == tag })
}

// parseETags reads a list of entity tags (RFC 9110, section 8.8.3).
func parseETags(h http.Header, name string) (entityTags, error) {
	text := strings.TrimSpace(strings.Join(h.Values(name), ","))
	if len(h.Values(name)) == 0 {
		return entityTags{}, nil
	}
	if text == "*" {
		return entityTags{any: true}, nil
	}
	var t entityTags
	for rest := text; ; {
		tag, after, ok := cutETag(rest)
		if !ok {
			return entityTags{}, newProblem(codeInvalidHeader, "the header "+name+" is wrong",
				headerFault(name, "etag", `must be * or a list of entity tags such as "abc", "def"`))
		}
		t.tags = append(t.tags, tag)
		if after == "" {
			return t, nil
		}
		rest = after
	}
}

// cutETag takes the first tag off a list; after is what follows its comma.
func cutETag(list string) (tag, after string, ok bool) {
	list = strings.TrimLeft(list, " \t,")
	start := len(list) - len(strings.TrimPrefix(list, "W/"))
	if len(list) <= start || list[start] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(list[start+1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += start + 2
	if strings.ContainsFunc(list[start+1:end-1], func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return "", "", false
	}
	after = strings.TrimLeft(list[end:], " \t")
	if after != "" && after[0] != ',' {
		return "", "", false
	}
	return list[:end], strings.Trim(after, " \t,"), true
}

// weak strips the mark of a weak tag, for the weak comparison.
func weak(tag string) string { return strings.TrimPrefix(tag, "W/") }

// parsePrecondition reads If-Match and If-None-Match of a write. Only a write
// that may create takes If-None-Match, and only as *.
func parsePrecondition(h http.Header, mayCreate bool) (store.Precondition, error) {
	match, err := parseETags(h, "If-Match")
	if err != nil {
		return store.Precondition{}, err
	}
	noneMatch, err := parseETags(h, "If-None-Match")
	if err != nil {
		return store.Precondition{}, err
	}
	switch {
	case noneMatch.given() && !mayCreate:
		return store.Precondition{}, refuseNoneMatch("is not for this call; use If-Match")
	case noneMatch.given() && !noneMatch.any:
		return store.Precondition{}, refuseNoneMatch("must be * on a write")
	case noneMatch.given() && match.given():
		return store.Precondition{}, refuseNoneMatch("excludes If-Match")
	case noneMatch.any:
		return store.Precondition{Absent: true}, nil
	case match.any:
		return store.Precondition{Present: true}, nil
	case match.given():
		// The strong comparison: a weak tag equals none.
		return store.Precondition{Matches: func(e *models.Employee) bool {
			return slices.Contains(match.tags, etagOf(encodeEmployee(e)))
		}}, nil
	default:
		return store.Precondition{}, nil
	}
}

// failedPrecondition says which precondition it was that did not hold, where the
// error is about that.
func failedPrecondition(pre store.Precondition, err error) error {
	detail := "the employee has another ETag than If-Match names, or is gone; read it again"
	switch {
	case !errors.Is(err, store.ErrPreconditionFailed):
		return err
	case pre.Absent:
		detail = "If-None-Match: * asks that nobody has this id, and somebody has; leave the header out to replace the employee"
	case pre.Present:
		detail = "If-Match: * asks that the employee is there, and it is not"
	}
	return fmt.Errorf("%w: %w", newProblem(codePreconditionFailed, detail), err)
}

// checkCreatePrecondition refuses what a create cannot check. It never replaces,
// so If-None-Match: * holds of itself.
func checkCreatePrecondition(h http.Header) error {
	pre, err := parsePrecondition(h, true)
	if err != nil || !pre.Present && pre.Matches == nil {
		return err
	}
	return newProblem(codeInvalidHeader, "the header If-Match is wrong",
		headerFault("If-Match", "unsupported", "is not for this call; PUT takes it"))
}

func refuseNoneMatch(detail string) error {
	return newProblem(codeInvalidHeader, "the header If-None-Match is wrong", headerFault("If-None-Match", "unsupported", detail))
}

// splitUnquoted splits a header's list at its commas, but for those in quotes.
func splitUnquoted(list string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(list, func(c rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		return c == ',' && !quoted
	})
}

// prefersMinimal reads Prefer: return=minimal (RFC 7240) and confirms what was
// asked. What is not understood is passed over, as that standard wants. Who may
// write and not read gets no rows, whatever is asked.
func prefersMinimal(x *exchange) bool {
	if grant := infoOf(x.r.Context()).grant; grant != nil && !grant.Scopes.Has(access.Read) {
		x.w.Header().Set("Preference-Applied", "return=minimal")
		return true
	}
	for _, line := range x.r.Header.Values("Prefer") {
		for _, preference := range splitUnquoted(line) {
			token, _, _ := strings.Cut(preference, ";")
			switch strings.ToLower(strings.ReplaceAll(strings.TrimSpace(token), `"`, "")) {
			case "return=minimal":
				x.w.Header().Set("Preference-Applied", "return=minimal")
				return true
			case "return=representation":
				x.w.Header().Set("Preference-Applied", "return=representation")
				return false
			}
		}
	}
	return false
}
