package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

func TestBadBatches_GetTheirProblemAndStoreNothing(t *testing.T) {
	const get, create, update, remove = pathBatchGet, pathBatchCreate, pathBatchUpdate, pathBatchDelete
	long := strings.Repeat("é", 65)
	cases := []struct {
		name         string
		path, body   string
		headers      []string
		status       int
		code, where  string
		detailHolds  string
		anotherQuery string
	}{
		// JSON
		{name: "empty body", path: get, headers: []string{"Content-Type: application/json"}, status: 400, code: "malformed_json", detailHolds: "empty"},
		{name: "no JSON", path: create, body: `ids`, status: 400, code: "malformed_json", where: "syntax"},
		{name: "cut off in an item", path: create, body: `{"employees":[{"first":"A"},{"first":"B`, status: 400, code: "malformed_json", where: "/employees/1/first syntax"},
		{name: "cut off between items", path: get, body: `{"ids":[1,2`, status: 400, code: "malformed_json", where: "/ids syntax"},
		{name: "trailing comma", path: remove, body: `{"ids":[1,]}`, status: 400, code: "malformed_json", where: "/ids syntax"},
		{name: "trailing data", path: get, body: `{"ids":[1]}{}`, status: 400, code: "malformed_json", detailHolds: "more after the end"},
		{name: "array", path: create, body: `[{"first":"A"}]`, status: 400, code: "invalid_body", where: "type"},
		{name: "null", path: get, body: `null`, status: 400, code: "invalid_body", where: "type"},
		{name: "bad UTF-8", path: create, body: "{\"employees\":[{\"first\":\"\xff\"}]}", status: 400, code: "malformed_json", where: "/employees/0/first syntax"},
		{name: "deep nesting", path: create, body: `{"employees":[` + strings.Repeat("[", 20_000), status: 400, code: "malformed_json"},
		// Form of the batch
		{name: "no list", path: create, body: `{}`, status: 400, code: "invalid_body", where: "/employees required"},
		{name: "the list of another batch", path: create, body: `{"ids":[1]}`, status: 400, code: "invalid_body", where: "/ids unknown, /employees required"},
		{name: "unknown member", path: get, body: `{"ids":[1],"fields":"id"}`, status: 400, code: "invalid_body", where: "/fields unknown"},
		{name: "chunk of a get", path: get, body: `{"ids":[1],"chunk":2}`, status: 400, code: "invalid_body", where: "/chunk unknown"},
		{name: "list twice", path: get, body: `{"ids":[1],"ids":[2]}`, status: 400, code: "invalid_body", where: "/ids duplicate"},
		{name: "list of another type", path: remove, body: `{"ids":{"1":2}}`, status: 400, code: "invalid_body", where: "/ids type"},
		{name: "null list", path: update, body: `{"updates":null}`, status: 400, code: "invalid_body", where: "/updates type"},
		{name: "partial as text", path: create, body: `{"employees":[{}],"partial":"true"}`, status: 400, code: "invalid_body", where: "/partial type"},
		{name: "partial as null", path: create, body: `{"employees":[{}],"partial":null}`, status: 400, code: "invalid_body", where: "/partial type"},
		{name: "chunk as text", path: create, body: `{"employees":[{}],"chunk":"5"}`, status: 400, code: "invalid_body", where: "/chunk type"},
		{name: "chunk with a fraction", path: remove, body: `{"ids":[1],"chunk":1.5}`, status: 400, code: "invalid_body", where: "/chunk type"},
		// Form of items
		{name: "item that is no object", path: create, body: `{"employees":[{},7,"x",null]}`, status: 400, code: "invalid_body", where: "/employees/1 type, /employees/2 type, /employees/3 type"},
		{name: "unknown member of an item", path: create, body: `{"employees":[{},{"salary":1}]}`, status: 400, code: "invalid_body", where: "/employees/1/salary unknown"},
		{name: "unknown member of an item of a partial batch", path: create, body: `{"partial":true,"employees":[{},{"salary":1}]}`, status: 400, code: "invalid_body", where: "/employees/1/salary unknown"},
		{name: "member of an item twice", path: update, body: `{"updates":[{"id":1,"first":"a","first":"b"}]}`, status: 400, code: "invalid_body", where: "/updates/0/first duplicate"},
		{name: "wrong types of many items", path: create, body: `{"employees":[{"first":1},{"department":"x"},{"id":1.5}]}`, status: 400, code: "invalid_body", where: "/employees/0/first type, /employees/1/department type, /employees/2/id type"},
		{name: "id as text", path: get, body: `{"ids":[1,"2"]}`, status: 400, code: "invalid_body", where: "/ids/1 type"},
		{name: "id with an exponent", path: get, body: `{"ids":[1e0]}`, status: 400, code: "invalid_body", where: "/ids/0 type"},
		{name: "null id", path: remove, body: `{"ids":[null]}`, status: 400, code: "invalid_body", where: "/ids/0 type"},
		{name: "update without an id", path: update, body: `{"updates":[{"id":1},{"first":"x"}]}`, status: 400, code: "invalid_body", where: "/updates/1/id required"},
		{name: "forms before rules", path: create, body: `{"employees":[{"department":0},{"x":1}],"chunk":0}`, status: 400, code: "invalid_body", where: "/employees/1/x unknown, /chunk min, /employees/0/department min"},
		// Rules of the batch
		{name: "no item", path: get, body: `{"ids":[]}`, status: 422, code: "validation_failed", where: "/ids size", detailHolds: "1 to 50000"},
		{name: "no item, partial", path: create, body: `{"employees":[],"partial":true}`, status: 422, code: "validation_failed", where: "/employees size"},
		{name: "chunk 0", path: create, body: `{"employees":[{}],"chunk":0}`, status: 422, code: "validation_failed", where: "/chunk min"},
		{name: "chunk beyond the largest batch", path: create, body: `{"employees":[{}],"chunk":50001}`, status: 422, code: "validation_failed", where: "/chunk range"},
		{name: "chunk of a partial batch", path: remove, body: `{"ids":[1],"chunk":1,"partial":true}`, status: 422, code: "validation_failed", where: "/chunk excluded"},
		// Rules of items
		{name: "id 0", path: get, body: `{"ids":[0,1,-5]}`, status: 422, code: "validation_failed", where: "/ids/0 min, /ids/2 min"},
		{name: "id beyond int64", path: remove, body: `{"ids":[9223372036854775808]}`, status: 422, code: "validation_failed", where: "/ids/0 range"},
		{name: "an id twice in creates", path: create, body: `{"employees":[{"id":5},{"id":6},{"id":5}]}`, status: 422, code: "validation_failed", where: "/employees/2/id unique", detailHolds: "of item 0 too"},
		{name: "an id twice in updates", path: update, body: `{"updates":[{"id":1},{"id":1}]}`, status: 422, code: "validation_failed", where: "/updates/1/id unique"},
		{name: "an id three times in deletes", path: remove, body: `{"ids":[1,1,1]}`, status: 422, code: "validation_failed", where: "/ids/1 unique, /ids/2 unique"},
		{name: "rules of many items", path: create, body: `{"employees":[{"id":0,"first":"` + long + `"},{},{"started":"2023-02-29"},{"started":"2023-01-02","ended":"2023-01-01"}]}`, status: 422, code: "validation_failed", where: "/employees/0/id min, /employees/0/first max, /employees/2/started date, /employees/3/ended not_before_started"},
		{name: "rules of updates", path: update, body: `{"updates":[{"id":0,"department":null},{"id":1,"last":"` + long + `"}]}`, status: 422, code: "validation_failed", where: "/updates/0/department not_null, /updates/0/id min, /updates/1/last max"},
		// Headers and queries
		{name: "text", path: get, body: `{"ids":[1]}`, headers: []string{"Content-Type: text/plain"}, status: 415, code: "unsupported_media_type"},
		{name: "merge patch", path: update, body: `{"updates":[{"id":1}]}`, headers: []string{"Content-Type: application/merge-patch+json"}, status: 415, code: "unsupported_media_type"},
		{name: "compressed", path: create, body: `{}`, headers: []string{"Content-Encoding: gzip"}, status: 415, code: "unsupported_media_type"},
		{name: "If-Match", path: update, body: `{"updates":[{"id":1}]}`, headers: []string{`If-Match: "x"`}, status: 400, code: "invalid_header", where: "If-Match unsupported"},
		{name: "idempotency key of a partial batch", path: create, body: `{"employees":[{}],"partial":true}`, headers: []string{`Idempotency-Key: "x"`}, status: 400, code: "invalid_header", where: "Idempotency-Key unsupported"},
		{name: "idempotency key of several transactions", path: remove, body: `{"ids":[1,2],"chunk":1}`, headers: []string{`Idempotency-Key: "x"`}, status: 400, code: "invalid_header", where: "Idempotency-Key unsupported"},
		{name: "unknown backend", path: get, body: `{"ids":[1]}`, headers: []string{"X-Backend: oracle"}, status: 400, code: "unknown_backend"},
		{name: "comparing a write", path: remove, body: `{"ids":[1]}`, headers: []string{"X-Backend-Compare: ndb"}, status: 400, code: "invalid_header", where: "X-Backend-Compare unsupported"},
		{name: "durability of a get", path: get, body: `{"ids":[1]}`, headers: []string{"X-Durability: disk"}, status: 400, code: "invalid_header", where: "X-Durability unsupported"},
		{name: "road cannot wait for disk", path: remove, body: `{"ids":[1]}`, headers: []string{"X-Durability: disk"}, status: 400, code: "durability_unavailable"},
		{name: "road is down", path: create, body: `{"employees":[{"id":5}]}`, headers: []string{"X-Backend: ndb"}, status: 503, code: "unavailable"},
		{name: "road is down, partial", path: create, body: `{"partial":true,"employees":[{"id":5}]}`, headers: []string{"X-Backend: ndb"}, status: 503, code: "unavailable"},
		{name: "query", path: get, anotherQuery: "?partial=true", body: `{"ids":[1]}`, status: 400, code: "invalid_parameter"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.seed()
			before := b.all()
			w := b.do(request{"POST", c.path + c.anotherQuery, c.body, c.headers})
			p := problemOf(t, w)
			if w.Code != c.status || p.Code != c.code || !strings.Contains(w.Body.String(), c.detailHolds) {
				t.Fatalf("got %d %s, want %d %s", w.Code, w.Body, c.status, c.code)
			}
			if c.where != "" && p.where() != c.where {
				t.Errorf("errors: got %q, want %q", p.where(), c.where)
			}
			if after := b.all(); !maps.Equal(before, after) {
				t.Errorf("a refused batch left rows: %v", after)
			}
		})
	}
}

func TestBadBatches_ListTheFirstHundredFaults(t *testing.T) {
	b := newBench(t)
	for name, item := range map[string]string{"forms": `{"x":1}`, "rules": `{"department":0}`} {
		status, view := b.batch(pathBatchCreate, `{"employees":[`+item+strings.Repeat(","+item, 249)+`]}`)
		if len(view.Errors) != 100 || !strings.Contains(view.Detail, "the first 100 of 250") || *view.Errors[99].Pointer != "/employees/99/"+map[string]string{"forms": "x", "rules": "department"}[name] {
			t.Errorf("%s: got %d with %d errors, %q", name, status, len(view.Errors), view.Detail)
		}
	}
}

// numbers is n integers from first on, as items of a list of IDs.
func numbers(first, n int) string {
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Itoa(first + i))
	}
	return text.String()
}

func TestBatches_LargestAndOneMore(t *testing.T) {
	b := newBench(t)
	status, view := b.batch(pathBatchGet, `{"ids":[`+numbers(1, models.MaxBatchItems)+`]}`)
	if status != 200 || len(view.Missing) != models.MaxBatchItems {
		t.Errorf("got %d with %d missing", status, len(view.Missing))
	}
	status, view = b.batch(pathBatchDelete, `{"ids":[`+numbers(1, models.MaxBatchItems+1)+`]}`)
	if status != 422 || view.where() != "/ids size" {
		t.Errorf("got %d %+v", status, view)
	}
}

// longestEmployee has all of its letters escaped.
func longestEmployee(id int64) string {
	text := strings.Repeat(`\u6771`, 64)
	return fmt.Sprintf(`{"id":%d,"first":"%s","last":"%s","city":"%s","started":"2020-10-10","ended":"2020-10-10","department":2147483647}`, id, text, text, text)
}

func TestBatches_LargestOfTheLongestEmployeesFits(t *testing.T) {
	if got := (len(longestEmployee(1<<63-1)) + 1) * models.MaxBatchItems; got > defaultMaxBatchBytes {
		t.Errorf("got %d bytes, a body may have %d", got, defaultMaxBatchBytes)
	}
}

func TestBatches_BodyTooLarge(t *testing.T) {
	rows := &memstore.Store{}
	backends := store.NewRegistry("sql")
	backends.Add("sql", rows)
	b := &bench{t: t, router: New(backends, Options{MaxBatchBytes: 1 << 10}), rows: rows}
	body := `{"employees":[` + longestEmployee(1) + `,` + longestEmployee(2) + `]}`
	w := b.do(request{"POST", pathBatchCreate, body, nil})
	if p := problemOf(t, w); w.Code != 413 || p.Code != "body_too_large" || !strings.Contains(p.Detail, "1024") || w.Header().Get("Connection") != "close" || len(b.ids()) != 0 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// What makes a decoder hold much in memory ends early, however short the batch is.
func TestBatches_ItemTooLarge(t *testing.T) {
	var names strings.Builder
	for i := range maxItemBytes / 8 {
		fmt.Fprintf(&names, `"a%d":1,`, i)
	}
	space := strings.Repeat(" ", maxItemBytes)
	for name, body := range map[string]string{
		"a long text":             `{"employees":[{},{"first":"` + strings.Repeat("x", maxItemBytes) + `"}]}`,
		"many members of an item": `{"employees":[{` + names.String() + `"id":1}]}`,
		"many members":            `{` + names.String() + `"employees":[{}]}`,
		"many members at the end": `{"employees":[{}],` + names.String() + `"chunk":1}`,
		"space before the body":   space + `{"employees":[{}]}`,
		"space between items":     `{"employees":[{},` + space + `{}]}`,
		"space at the end":        `{"employees":[{}]}` + space,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			w := b.do(request{"POST", pathBatchCreate, body, nil})
			if p := problemOf(t, w); w.Code != 413 || p.Code != "body_too_large" || !strings.Contains(p.Detail, "65536") || len(b.ids()) != 0 {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
	b := newBench(t)
	item := `{"first":"A"` + strings.Repeat(" ", maxItemBytes-20) + `}`
	if w := b.do(request{"POST", pathBatchCreate, `{"employees":[` + item + "," + item + "," + item + `],"chunk":2}`, nil}); w.Code != 200 {
		t.Errorf("items as long as may be: got %d %s", w.Code, w.Body)
	}
}

// slowBody gives its text, then waits.
type slowBody struct {
	text *strings.Reader
	held chan<- struct{} // gets a token when all of text has been worked on
	wait <-chan struct{}
	rest *strings.Reader
}

func (s *slowBody) Read(p []byte) (int, error) {
	if s.text.Len() > 0 {
		return s.text.Read(p)
	}
	if s.held != nil {
		s.held <- struct{}{}
		s.held = nil
	}
	<-s.wait
	return s.rest.Read(p)
}

func TestBatches_TooManyItemsInWork_503AtOnce(t *testing.T) {
	rows := &memstore.Store{}
	backends := store.NewRegistry("sql")
	backends.Add("sql", rows)
	router := New(backends, Options{MaxItems: 3000})
	b := &bench{t: t, router: router, rows: rows}

	// Two batches hold a thousand items each while their bodies come.
	release, held, reading := make(chan struct{}), make(chan struct{}), make(chan *httptest.ResponseRecorder)
	for i := range 2 {
		text := `{"ids":[` + numbers(1+i*1000, 1000)
		r := httptest.NewRequest(http.MethodPost, pathBatchGet, &slowBody{strings.NewReader(text), held, release, strings.NewReader("]}")})
		r.Header.Set("Content-Type", "application/json")
		go func() { // ends once released
			w := httptest.NewRecorder()
			router.ServeHTTP(w, r)
			reading <- w
		}()
		<-held
	}
	refused := b.do(request{"POST", pathBatchGet, `{"ids":[` + numbers(1, 1001) + `]}`, nil})
	if p := problemOf(t, refused); refused.Code != 503 || p.Code != "unavailable" || refused.Header().Get("Retry-After") == "" || !strings.Contains(p.Detail, "3000 items") {
		t.Errorf("got %d %s", refused.Code, refused.Body)
	}
	if w := b.do(request{"POST", pathBatchGet, `{"ids":[1]}`, nil}); w.Code != 200 {
		t.Errorf("a small batch: got %d %s", w.Code, w.Body)
	}
	close(release)
	for range 2 {
		if w := <-reading; w.Code != 200 {
			t.Errorf("a batch that had room: got %d %s", w.Code, w.Body)
		}
	}
	if w := b.do(request{"POST", pathBatchGet, `{"ids":[` + numbers(1, 2500) + `]}`, nil}); w.Code != 200 {
		t.Errorf("after all: got %d %s", w.Code, w.Body)
	}
}

func TestBatches_LimitsAreAccepted(t *testing.T) {
	b := newBench(t)
	for _, q := range []struct{ path, body string }{
		{pathBatchCreate, `{"employees":[{"id":9223372036854775807,"department":2147483647},{"first":"` + strings.Repeat("é", 64) + `"}],"chunk":50000,"partial":false}`},
		{pathBatchUpdate, `{"partial":true,"updates":[{"id":9223372036854775807,"started":"1000-01-01","ended":"9999-12-31"}]}`},
		{pathBatchGet, "\n{ \"ids\" : [ 9223372036854775807 ] }\n"},
		{pathBatchDelete, `{"chunk":1,"ids":[9223372036854775807]}`},
	} {
		if w := b.do(request{"POST", q.path, q.body, nil}); w.Code != 200 {
			t.Errorf("%s: got %d %s", q.path, w.Code, w.Body)
		}
	}
	if len(b.ids()) != 1 || slices.Contains(b.ids(), 1<<63-1) {
		t.Errorf("got rows %v", b.ids())
	}
}
