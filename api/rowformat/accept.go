package rowformat

import (
	"strconv"
	"strings"
)

// preference is one entry of a header such as Accept, in lower case.
type preference struct {
	name    string
	quality float64 // 0..1
}

// parsePreferences reads the lines of a header (RFC 9110, section 12.4.2). What
// cannot be read is passed over.
func parsePreferences(lines []string) []preference {
	var list []preference
	for entry := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, params, _ := strings.Cut(entry, ";")
		p := preference{name: strings.ToLower(strings.TrimSpace(name)), quality: 1}
		if p.name == "" {
			continue
		}
		for param := range strings.SplitSeq(params, ";") {
			text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(param)), "q=")
			if !ok {
				continue
			}
			q, err := strconv.ParseFloat(text, 64)
			if err != nil || !(q >= 0 && q <= 1) {
				q = 0
			}
			p.quality = q
		}
		list = append(list, p)
	}
	return list
}

// best returns the offer that is wanted most, of several the first, or none.
// quality tells how much an offer is wanted.
func best(offers []string, quality func(offer string) float64) (string, bool) {
	found, most := "", 0.0
	for _, offer := range offers {
		if q := quality(offer); q > most {
			found, most = offer, q
		}
	}
	return found, most > 0
}

// ChooseType returns the media type that a request wants most by the lines of
// its header Accept, of several the first one offered; not ok: it wants none.
// Without the header it wants any.
func ChooseType(accept []string, offers ...string) (mediaType string, ok bool) {
	wanted := parsePreferences(accept)
	if len(wanted) == 0 {
		return offers[0], true
	}
	return best(offers, func(offer string) float64 {
		family, _, _ := strings.Cut(offer, "/")
		return qualityOf(wanted, offer, family+"/*", "*/*")
	})
}

// ChooseEncoding returns how an answer is to be compressed by the lines of a
// request's header Accept-Encoding: Identity where it wants nothing else.
func ChooseEncoding(accept []string) string {
	wanted := parsePreferences(accept)
	if len(wanted) == 0 {
		return Identity
	}
	encoding, ok := best([]string{Zstd, Gzip, Identity}, func(offer string) float64 {
		if offer == Identity && !mentions(wanted, Identity) && !mentions(wanted, "*") {
			return leastQuality // acceptable, though nothing says so
		}
		return qualityOf(wanted, offer, "*")
	})
	if !ok {
		return Identity
	}
	return encoding
}

// leastQuality is the least that a header can give.
const leastQuality = 0.001

// qualityOf is that of the first of the names, which go from narrow to wide,
// that is in the list; 0 where none is.
func qualityOf(list []preference, names ...string) float64 {
	for _, name := range names {
		for _, p := range list {
			if p.name == name {
				return p.quality
			}
		}
	}
	return 0
}

func mentions(list []preference, name string) bool {
	for _, p := range list {
		if p.name == name {
			return true
		}
	}
	return false
}
