package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

// newStaff is a bench with 8 employees.
func newStaff(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	for i, body := range []string{
		`{"first":"Ada","last":"b","city":"Oslo","started":"2020-01-01","department":2}`,
		`{"first":"ada","last":"A","city":"Oslo","started":"2020-01-02","department":3}`,
		`{"first":"Bob","last":"B","city":"Rome","department":2}`,
		`{"last":"a","city":"Rome","started":"2019-01-01","ended":"2020-01-01"}`,
		`{"first":"Ada ","city":"oslo"}`,
		`{"first":"*","last":"%","department":3}`,
		`{"first":"A*a","last":"c"}`,
		`{}`,
	} {
		if w := b.do(request{method: "PUT", path: fmt.Sprint("/v1/employees/", i+1), body: body}); w.Code != http.StatusCreated {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	return b
}

// query builds a query out of names and values by turns.
func query(pairs ...string) string {
	values := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		values.Set(pair[0], pair[1])
	}
	return values.Encode()
}

func TestList_FilterAndOrder(t *testing.T) {
	b := newStaff(t)
	for _, c := range []struct{ filter, order, want string }{
		{`city = "OSLO" AND department > 1`, "", "1 2"},
		{`NOT city = "Oslo"`, "", "3 4"},
		{`city = null`, "id desc", "8 7 6"},
		{`first = "A*"`, "", "1 2 5 7"},
		{`first = "A\*a"`, "", "7"},
		{`first = "\*"`, "", "6"},
		{`last = "%"`, "", "6"},
		{`in(department, 2, 3) AND NOT ended:*`, "department desc, last", "6 2 1 3"},
		{`between(started, "2019-01-01", "2020-01-01")`, "started", "4 1"},
		{"", "last", "5 8 6 2 4 1 3 7"},
		{"", "last desc, id desc", "7 3 1 4 2 6 8 5"},
		{"", "city,first desc", "7 6 8 1 2 5 3 4"},
		{`id > 6`, "id, city", "7 8"},
		{`id > 6`, " id  asc ", "7 8"},
	} {
		if got := b.list(query("filter", c.filter, "order_by", c.order)).ids(); got != c.want {
			t.Errorf("%s by %q: got %q, want %q", c.filter, c.order, got, c.want)
		}
	}
	if got := b.list(query("filter", `city = "Oslo"`, "department", "3", "first", "ADA")).ids(); got != "2" {
		t.Errorf("a filter and matches: got %q", got)
	}
}

func TestList_PagesInEveryOrder_AreTheWholeList(t *testing.T) {
	b := newStaff(t)
	for _, p := range models.EmployeeProperties() {
		for _, order := range []string{p.Name, p.Name + " desc", "department, " + p.Name, "city desc, " + p.Name + " desc, id desc"} {
			if strings.Count(order, p.Name) > 1 {
				continue
			}
			whole := b.list(query("order_by", order)).ids()
			var got []string
			token := ""
			for size := 1; size < 10; size++ {
				page := b.list(query("order_by", order, "page_size", fmt.Sprint(1+size%3), "page_token", token))
				got = append(got, page.ids())
				if page.NextPageToken == nil {
					break
				}
				token = *page.NextPageToken
			}
			if strings.Join(got, " ") != whole {
				t.Errorf("by %s: got %q, want %q", order, got, whole)
			}
		}
	}
}

func TestList_Fields(t *testing.T) {
	b := newStaff(t)
	for fields, want := range map[string]string{
		"first":             `{"id":2,"first":"ada"}`,
		"id":                `{"id":2}`,
		"department, first": `{"id":2,"first":"ada","department":3}`,
		"ended,ended":       `{"id":2,"ended":null}`,
		"started, last":     `{"id":2,"last":"A","started":"2020-01-02"}`,
	} {
		w := b.do(request{method: "GET", path: "/v1/employees?" + query("id", "2", "fields", fields)})
		if got := w.Body.String(); got != `{"employees":[`+want+"]}\n" {
			t.Errorf("%s: got %s", fields, got)
		}
	}
}

func TestList_Count(t *testing.T) {
	b := newStaff(t)
	for q, want := range map[string]string{
		query("count", "true", "page_size", "0"):                              `{"employees":[],"total":8}`,
		query("count", "true", "page_size", "0", "filter", `city = "Oslo"`):   `{"employees":[],"total":3}`,
		query("count", "false", "id", "9"):                                    `{"employees":[]}`,
		query("count", "true", "fields", "id", "city", "rome", "last", "a"):   `{"employees":[{"id":4}],"total":1}`,
		query("count", "true", "page_size", "1", "fields", "id", "first", ""): `{"employees":[],"total":0}`,
	} {
		if w := b.do(request{method: "GET", path: "/v1/employees?" + q}); w.Body.String() != want+"\n" {
			t.Errorf("%s: got %s, want %s", q, w.Body, want)
		}
	}
	// It counts all, whatever the page.
	page := b.list(query("page_size", "3"))
	w := b.do(request{method: "GET", path: "/v1/employees?" + query("page_token", *page.NextPageToken, "count", "true", "fields", "id", "page_size", "1")})
	var got struct {
		Total         int
		NextPageToken string `json:"next_page_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Total != 8 || got.NextPageToken == "" {
		t.Errorf("got %s, %v", w.Body, err)
	}
}

func TestList_Explain(t *testing.T) {
	b := newStaff(t)
	w := b.do(request{method: "GET", path: "/v1/employees?" + query("explain", "true", "city", "Oslo", "order_by", "last", "page_size", "5")})
	if got, want := w.Body.String(), `{"employees":[],"explain":{"access":"table_scan","filter":"city = \"Oslo\"","order":"sort"}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w = b.do(request{method: "GET", path: "/v1/employees?explain=true", headers: []string{"X-Backend-Compare: ndb"}})
	if p := problemOf(t, w); w.Code != http.StatusBadRequest || p.where() != "X-Backend-Compare unsupported" {
		t.Errorf("compared: got %d %s", w.Code, w.Body)
	}
}

func TestList_BadParameters(t *testing.T) {
	b := newStaff(t)
	token := *b.list(query("order_by", "city", "page_size", "1")).NextPageToken
	for _, c := range []struct{ query, where, detail string }{
		{query("filter", `city = `), "filter syntax", "at character 8: a value of city is expected"},
		{query("filter", `first < "😀"`), "filter charset", "first is compared with by <, <=, > or >= must hold only"},
		{query("filter", `NOT last >= "😀"`, "count", "true", "page_size", "0"), "filter charset", "last"},
		{query("filter", `last >= "😀"`, "explain", "true"), "filter charset", "last"},
		{query("order_by", "salary"), "order_by invalid", "has no property salary; there are id, first"},
		{query("order_by", "city up"), "order_by invalid", "asc or desc"},
		{query("order_by", "city DESC"), "order_by invalid", "asc or desc"},
		{query("order_by", "city,,last"), "order_by invalid", "separated by commas"},
		{query("order_by", "city, last, city desc"), "order_by invalid", "city is there twice"},
		{query("order_by", ","), "order_by invalid", "separated by commas"},
		{query("fields", ""), "fields invalid", "there are id, first"},
		{query("fields", "first,salary"), "fields invalid", "there are id, first"},
		{query("fields", "*"), "fields invalid", "there are id, first"},
		{query("count", "yes"), "count invalid", "true or false"},
		{query("explain", "1"), "explain invalid", "true or false"},
		{query("page_size", "0"), "page_size invalid", "with count=true, 0"},
		{query("page_size", "-1", "count", "true"), "page_size invalid", "from 1 to 1000"},
		{query("filter", "x", "order_by", "y", "page_size", "0", "count", "z"), "count invalid, filter unsupported, order_by invalid, page_size invalid", ""},
		{query("page_token", token), "page_token invalid", "another filter or order"},
		{query("page_token", token, "order_by", "city desc"), "page_token invalid", "another filter or order"},
		{query("page_token", token, "order_by", "city,last"), "page_token invalid", "another filter or order"},
		{query("page_token", token, "order_by", "city", "filter", "id > 0"), "page_token invalid", "another filter or order"},
		{query("page_token", token+"A", "order_by", "city"), "page_token invalid", "not a token that this service gave"},
		{query("page_token", "AQAAAAAAAAARQKfQVQZMfqc", "order_by", "city"), "page_token invalid", "not a token that this service gave"},
		{query("page_token", strings.Repeat("A", 5000)), "page_token invalid", "not a token that this service gave"},
	} {
		w := b.do(request{method: "GET", path: "/v1/employees?" + c.query})
		p := problemOf(t, w)
		if w.Code != http.StatusBadRequest || p.where() != c.where || !strings.Contains(w.Body.String(), jsonText(c.detail)) {
			t.Errorf("%s: got %d %s, want %s: %s", c.query, w.Code, w.Body, c.where, c.detail)
		}
	}
	// What means the same fits.
	if got := b.list(query("page_token", token, "order_by", "city asc, id", "fields", "id", "filter", "")).ids(); got != "7 8 1 2 5 3 4" {
		t.Errorf("got %q", got)
	}
}

// jsonText is text as it stands in JSON, without quotes.
func jsonText(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
	return text[1 : len(text)-1]
}

// A token that somebody made up is refused, or begins a page among what the
// filter selects.
func TestPageToken_Forged_DoesNoHarm(t *testing.T) {
	b := newStaff(t)
	list := query("order_by", "last, started, department desc", "filter", `department = 2`, "page_size", "1")
	raw, err := base64.RawURLEncoding.DecodeString(*b.list(list).NextPageToken)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[int]int{}
	for i := range 3000 {
		forged := slices.Clone(raw)
		values := 1 + pageTokenHash
		for range 1 + rand.IntN(3) {
			forged[values+rand.IntN(len(raw)-values-pageTokenSum)] = byte(rand.IntN(256))
		}
		body := forged[:len(forged)-pageTokenSum]
		if i%10 > 0 {
			forged = binary.BigEndian.AppendUint32(body, crc32.ChecksumIEEE(body))
		}
		w := b.do(request{method: "GET", path: "/v1/employees?" + list + "&page_token=" + base64.RawURLEncoding.EncodeToString(forged)})
		answers[w.Code]++
		switch w.Code {
		case http.StatusOK:
			if text := w.Body.String(); strings.Contains(text, `"id"`) && !strings.Contains(text, `"department":2`) {
				t.Fatalf("% x: got %s", forged, text)
			}
		case http.StatusBadRequest:
			if p := problemOf(t, w); !strings.HasPrefix(p.where(), "page_token ") {
				t.Fatalf("% x: got %s", forged, w.Body)
			}
		default:
			t.Fatalf("% x: got %d %s", forged, w.Code, w.Body)
		}
	}
	if answers[http.StatusOK] == 0 || answers[http.StatusBadRequest] == 0 {
		t.Errorf("got %v, want some of both", answers)
	}
}

func TestPageToken_HoldsEveryValue(t *testing.T) {
	var order []models.Order
	for _, p := range models.EmployeeProperties() {
		if p != models.EmployeeKey {
			order = append(order, models.Order{Property: p})
		}
	}
	q := models.EmployeeQuery{Order: order}
	long := strings.Repeat("東", 64)
	for _, place := range []models.Cursor{
		{nil, nil, nil, nil, nil, int32(-1 << 31), int64(-1 << 63)},
		{"", long, "a\x00\n", models.StoredDate(9999, 12, 31), models.StoredDate(0, 0, 0), int32(1<<31 - 1), int64(1<<63 - 1)},
		{"x", "é", " ", models.StoredDate(2020, 0, 31), models.StoredDate(0, 15, 0), int32(0), int64(0)},
		{long, long, long, nil, nil, int32(1), int64(1)},
	} {
		token := newPageToken(&q, place)
		got, err := parsePageToken(&q, token)
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", place) || len(token) > maxPageToken {
			t.Errorf("got %#v, error %v, %d bytes; want %#v", got, err, len(token), place)
		}
	}
}

func FuzzParsePageToken(f *testing.F) {
	q := models.EmployeeQuery{Order: []models.Order{{Property: models.EmployeeProperties()[1]}, {Property: models.EmployeeProperties()[4]}}}
	for _, place := range []models.Cursor{{nil, nil, int64(1)}, {"Ada", models.StoredDate(2020, 0, 0), int64(-5)}} {
		raw, err := base64.RawURLEncoding.DecodeString(newPageToken(&q, place))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[1+pageTokenHash : len(raw)-pageTokenSum])
	}
	f.Fuzz(func(t *testing.T, values []byte) {
		raw := append(append([]byte{pageTokenVersion}, queryHash(&q)...), values...)
		token := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw)))
		place, err := parsePageToken(&q, token)
		if err != nil {
			return
		}
		again, err := parsePageToken(&q, newPageToken(&q, place))
		if err != nil || fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", place) {
			t.Fatalf("got %#v, error %v, want %#v", again, err, place)
		}
	})
}
