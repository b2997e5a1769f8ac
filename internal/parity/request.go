package parity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is a request of HTTP.
type request struct {
	method  string
	path    string
	id      int64 // of the row in the path, 0 where there is none
	query   []pair
	headers []pair
	members []pair // of the JSON object that is the body: names, and values as JSON
	raw     string // the body, where it is not of members
	hasBody bool

	mediaType string // of the body; empty: JSON
}

// pair is a name with its value.
type pair struct{ name, value string }

// These stand for what only the steps before have led to. The ETags are those of
// the row in the path.
const (
	etagPlace      = "{etag}"       // as it is now
	staleETagPlace = "{stale-etag}" // as it was before
	pageTokenPlace = "{page-token}" // of the last list
)

const (
	employeesPath = "/v1/employees"
	exportPath    = employeesPath + ":export"
	importPath    = employeesPath + ":import"
)

func employeePath(id int64) string { return employeesPath + "/" + strconv.FormatInt(id, 10) }

func get(id int64) *request {
	return &request{method: http.MethodGet, path: employeePath(id), id: id}
}

// do implements action.
func (q *request) do(ctx context.Context, s *side, m *memory) outcome {
	a := q.send(ctx, s, m)
	o := a.outcome(s, q.outcomeName(&a))
	if a.status == http.StatusOK || a.status == http.StatusCreated {
		o.shown = &shown{etag: a.header.Get("ETag"), body: a.body}
	}
	return o
}

// send has the side answer.
func (q *request) send(ctx context.Context, s *side, m *memory) answer {
	r := httptest.NewRequestWithContext(ctx, q.method, q.target(m), strings.NewReader(q.body()))
	if q.hasBody {
		r.Header.Set("Content-Type", cmp.Or(q.mediaType, "application/json"))
	}
	key := ""
	for _, h := range q.headers {
		value := strings.ReplaceAll(h.value, etagPlace, m.etag(q.id, 0))
		value = strings.ReplaceAll(value, staleETagPlace, m.etag(q.id, 1))
		value = strings.ReplaceAll(value, otherRoadPlace, otherRoad(s.road))
		r.Header.Add(h.name, value)
		if h.name == keyHeader {
			key = strings.Trim(value, `"`)
		}
	}
	a := s.serve(r)
	if key != "" && a.status < http.StatusMultipleChoices {
		a.wrong = cmp.Or(a.wrong, m.checkReplay(s.twin, key, &a))
	}
	return a
}

// outcomeName tells of lists with a filter on text whether they found anything.
func (q *request) outcomeName(a *answer) string {
	name := q.method
	if _, verb, ok := strings.Cut(q.path, ":"); ok {
		name += " " + verb
	}
	switch {
	case a.isReplayed():
		name += " replayed"
	case q.path != employeesPath || a.status != http.StatusOK || !slices.ContainsFunc(q.query, isTextFilter):
	case strings.Contains(a.body, `"id":`):
		name += " with rows, by text"
	default:
		name += " without rows, by text"
	}
	return name
}

func isTextFilter(p pair) bool { return slices.Contains(textProperties, p.name) }

// otherRoadPlace stands for the road that a request does not take.
const otherRoadPlace = "{other-road}"

func otherRoad(road string) string {
	if road == ndbRoad {
		return sqlRoad
	}
	return ndbRoad
}

func (q *request) target(m *memory) string {
	if len(q.query) == 0 {
		return q.path
	}
	parts := make([]string, len(q.query))
	for i, p := range q.query {
		value := strings.ReplaceAll(p.value, pageTokenPlace, m.pageToken)
		parts[i] = url.QueryEscape(p.name) + "=" + url.QueryEscape(value)
	}
	return q.path + "?" + strings.Join(parts, "&")
}

func (q *request) body() string {
	if q.members == nil {
		return q.raw
	}
	return object(q.members)
}

// note implements noting: it keeps the token of the next page, and exports.
func (q *request) note(o outcome, m *memory) {
	m.pageToken = ""
	if o.shown == nil || q.id != 0 {
		return
	}
	if q.path == exportPath {
		m.export = o.shown.body
		return
	}
	var page struct {
		NextPageToken string `json:"next_page_token"`
	}
	if json.Unmarshal([]byte(o.shown.body), &page) == nil {
		m.pageToken = page.NextPageToken
	}
}

// smaller implements action.
func (q *request) smaller() []action {
	var all []action
	for _, list := range []func(*request) *[]pair{
		func(q *request) *[]pair { return &q.headers },
		func(q *request) *[]pair { return &q.members },
		func(q *request) *[]pair { return &q.query },
	} {
		for i, p := range *list(q) {
			if p.name == "id" {
				continue // without it, a POST creates another row on each twin
			}
			less := *q
			*list(&less) = slices.Delete(slices.Clone(*list(q)), i, i+1)
			all = append(all, &less)
		}
	}
	return all
}

// String implements action.
func (q *request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", q.method, q.path)
	for i, p := range q.query {
		fmt.Fprintf(&b, `%c%s="%s"`, "?&"[min(i, 1)], p.name, asASCII(p.value))
	}
	for _, h := range q.headers {
		fmt.Fprintf(&b, " -H %q", h.name+": "+h.value)
	}
	if q.hasBody {
		fmt.Fprintf(&b, " -d %s", asASCII(q.body()))
	}
	return b.String()
}

// asASCII shows what cannot be told apart, or not be seen, as \u…, and what comes
// many times as {64}.
func asASCII(text string) string {
	quoted := strconv.QuoteToASCII(shortRuns(text))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// shortRuns writes a character once, and how often it comes, where that is often.
func shortRuns(text string) string {
	const often = 10
	runes := []rune(text)
	var b strings.Builder
	for len(runes) > 0 {
		n := 1
		for n < len(runes) && runes[n] == runes[0] {
			n++
		}
		if n < often {
			b.WriteString(string(runes[:n]))
		} else {
			fmt.Fprintf(&b, "%c{%d}", runes[0], n)
		}
		runes = runes[n:]
	}
	return b.String()
}
