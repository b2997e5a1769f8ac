package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

const employeesPath = "/v1/employees"

func employeePath(id int64) string { return employeesPath + "/" + strconv.FormatInt(id, 10) }

func get(id int64) *request {
	return &request{method: http.MethodGet, path: employeePath(id), id: id}
}

// do implements action. Equal must be the status, the body, and all headers but
// those that name the road or tell times.
func (q *request) do(ctx context.Context, s *side, m *memory) outcome {
	s.log.Reset()
	r := httptest.NewRequestWithContext(ctx, q.method, q.target(m), strings.NewReader(q.body()))
	r.Header.Set("X-Backend", s.road)
	r.Header.Set("X-Request-Id", "parity")
	if q.hasBody {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range q.headers {
		value := strings.ReplaceAll(h.value, etagPlace, m.etag(q.id, 0))
		value = strings.ReplaceAll(value, staleETagPlace, m.etag(q.id, 1))
		value = strings.ReplaceAll(value, otherRoadPlace, otherRoad(s.road))
		r.Header.Add(h.name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)

	o := outcome{name: q.outcomeName(w), cause: s.log.String()}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d", w.Code)
	header := w.Header()
	o.wrong = comparedWrongly(header)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		switch name {
		case "X-Backend", "Server-Timing", "X-Backend-Compare":
		default:
			fmt.Fprintf(&text, "\n%s: %s", name, strings.Join(header[name], ", "))
		}
	}
	fmt.Fprintf(&text, "\n%+q", w.Body.String())
	o.same = text.String()
	if w.Code == http.StatusOK || w.Code == http.StatusCreated {
		o.shown = &shown{etag: header.Get("ETag"), body: w.Body.String()}
	}
	return o
}

// outcomeName tells of lists with a filter on text whether they found anything.
func (q *request) outcomeName(w *httptest.ResponseRecorder) string {
	name := fmt.Sprintf("%s %d", q.method, w.Code)
	if q.path != employeesPath || w.Code != http.StatusOK || !slices.ContainsFunc(q.query, isTextFilter) {
		return name
	}
	if strings.Contains(w.Body.String(), `"id":`) {
		return name + " with rows, by text"
	}
	return name + " without rows, by text"
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

// comparedWrongly tells where X-Backend-Compare says that the roads do not agree.
func comparedWrongly(h http.Header) string {
	if value := h.Get("X-Backend-Compare"); value != "" && !strings.Contains(value, "result=agree") {
		return "X-Backend-Compare: " + value
	}
	return ""
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
	parts := make([]string, len(q.members))
	for i, m := range q.members {
		parts[i] = strconv.Quote(m.name) + ":" + m.value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// nextPage implements listing.
func (q *request) nextPage(o outcome) string {
	var page struct {
		NextPageToken string `json:"next_page_token"`
	}
	if o.shown == nil || q.id != 0 || json.Unmarshal([]byte(o.shown.body), &page) != nil {
		return ""
	}
	return page.NextPageToken
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
