package api

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func TestBadInput_GetsItsProblemAndStoresNothing(t *testing.T) {
	const create, one = "/v1/employees", "/v1/employees/1"
	long := strings.Repeat("é", 65)
	cases := []struct {
		name                string
		q                   request
		status              int
		code, where, detail string // where lists places and codes; detail is a part
	}{
		// JSON
		{"empty body", request{"POST", create, "", []string{"Content-Type: application/json"}}, 400, "malformed_json", "", "empty"},
		{"spaces", request{"POST", create, "  ", nil}, 400, "malformed_json", "", "empty"},
		{"no JSON", request{"POST", create, "hello", nil}, 400, "malformed_json", "syntax", ""},
		{"cut off", request{"POST", create, `{"first":"A`, nil}, 400, "malformed_json", "/first syntax", ""},
		{"trailing comma", request{"POST", create, `{"first":"A",}`, nil}, 400, "malformed_json", "syntax", ""},
		{"trailing data", request{"POST", create, `{} {}`, nil}, 400, "malformed_json", "", "more after the end"},
		{"trailing brace", request{"POST", create, `{}}`, nil}, 400, "malformed_json", "", "more after the end"},
		{"array", request{"POST", create, `[]`, nil}, 400, "invalid_body", "type", "object"},
		{"null", request{"PATCH", one, `null`, nil}, 400, "invalid_body", "type", "object"},
		{"single quotes", request{"POST", create, `{'first':1}`, nil}, 400, "malformed_json", "syntax", ""},
		{"comment", request{"POST", create, `{/**/}`, nil}, 400, "malformed_json", "syntax", ""},
		{"NaN", request{"POST", create, `{"department":NaN}`, nil}, 400, "malformed_json", "/department syntax", ""},
		{"deep nesting", request{"POST", create, strings.Repeat("[", 30_000), nil}, 400, "malformed_json", "", ""},
		{"invalid UTF-8", request{"POST", create, "{\"first\":\"\xff\"}", nil}, 400, "malformed_json", "/first syntax", ""},
		{"lone surrogate", request{"POST", create, `{"first":"\ud800"}`, nil}, 400, "malformed_json", "/first syntax", ""},
		{"byte order mark", request{"POST", create, "\xef\xbb\xbf{}", nil}, 400, "malformed_json", "syntax", ""},
		{"unknown member", request{"POST", create, `{"salary":1}`, nil}, 400, "invalid_body", "/salary unknown", ""},
		{"name in another case", request{"POST", create, `{"First":"A"}`, nil}, 400, "invalid_body", "/First unknown", ""},
		{"unknown member with slash", request{"POST", create, `{"a/b~":1}`, nil}, 400, "invalid_body", "/a~1b~0 unknown", ""},
		{"duplicate member", request{"POST", create, `{"first":"A","first":"B"}`, nil}, 400, "invalid_body", "/first duplicate", ""},
		{"duplicate by escape", request{"POST", create, `{"first":"A","\u0066irst":"B"}`, nil}, 400, "invalid_body", "/first duplicate", ""},
		{"number for text", request{"POST", create, `{"first":1}`, nil}, 400, "invalid_body", "/first type", ""},
		{"object for text", request{"POST", create, `{"first":{}}`, nil}, 400, "invalid_body", "/first type", ""},
		{"text for number", request{"POST", create, `{"department":"1"}`, nil}, 400, "invalid_body", "/department type", ""},
		{"fraction", request{"POST", create, `{"department":1.5}`, nil}, 400, "invalid_body", "/department type", ""},
		{"bool for id", request{"POST", create, `{"id":true}`, nil}, 400, "invalid_body", "/id type", ""},
		{"number for date", request{"POST", create, `{"started":20200102}`, nil}, 400, "invalid_body", "/started type", ""},
		{"all wrong forms at once", request{"POST", create, `{"first":1,"x":2,"last":[],"started":"x"}`, nil}, 400, "invalid_body", "/first type, /x unknown, /last type, /started date", ""},
		{"wrong forms and broken rules at once", request{"POST", create, `{"frist":1,"department":0,"id":"1"}`, nil}, 400, "invalid_body", "/frist unknown, /id type, /department min", ""},
		// Rules
		{"id 0", request{"POST", create, `{"id":0}`, nil}, 422, "validation_failed", "/id min", ""},
		{"id negative", request{"POST", create, `{"id":-1}`, nil}, 422, "validation_failed", "/id min", ""},
		{"id beyond int64", request{"POST", create, `{"id":9223372036854775808}`, nil}, 422, "validation_failed", "/id range", ""},
		{"id null", request{"POST", create, `{"id":null}`, nil}, 422, "validation_failed", "/id not_null", ""},
		{"department 0", request{"POST", create, `{"department":0}`, nil}, 422, "validation_failed", "/department min", ""},
		{"department null", request{"POST", create, `{"department":null}`, nil}, 422, "validation_failed", "/department not_null", ""},
		{"department beyond int32", request{"POST", create, `{"department":2147483648}`, nil}, 422, "validation_failed", "/department range", ""},
		{"too long", request{"POST", create, `{"first":"` + long + `"}`, nil}, 422, "validation_failed", "/first max", ""},
		{"no such day", request{"POST", create, `{"started":"2023-02-29"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"month 13", request{"POST", create, `{"started":"2023-13-01"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date with time", request{"POST", create, `{"started":"2023-01-01T00:00:00Z"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"zero date", request{"POST", create, `{"started":"0000-00-00"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"empty date", request{"POST", create, `{"started":""}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date before 1000", request{"POST", create, `{"started":"0999-12-31"}`, nil}, 422, "validation_failed", "/started storable_date", ""},
		{"ended before started", request{"POST", create, `{"started":"2023-01-02","ended":"2023-01-01"}`, nil}, 422, "validation_failed", "/ended not_before_started", ""},
		{"all broken rules at once", request{"POST", create, `{"id":0,"first":"` + long + `","department":null,"ended":"x"}`, nil}, 422, "validation_failed", "/department not_null, /ended date, /id min, /first max", ""},
		{"put: id differs", request{"PUT", one, `{"id":2}`, nil}, 422, "validation_failed", "/id mismatch", ""},
		{"patch: id differs", request{"PATCH", one, `{"id":2}`, nil}, 422, "validation_failed", "/id mismatch", ""},
		{"put: id of a wrong form", request{"PUT", one, `{"id":1e0}`, nil}, 400, "invalid_body", "/id type", ""},
		{"patch: department null", request{"PATCH", one, `{"department":null}`, nil}, 422, "validation_failed", "/department not_null", ""},
		{"patch: too long", request{"PATCH", one, `{"last":"` + long + `"}`, nil}, 422, "validation_failed", "/last max", ""},
		{"patch: ended before both", request{"PATCH", one, `{"started":"2023-01-02","ended":"2023-01-01"}`, nil}, 422, "validation_failed", "/ended not_before_started", ""},
		{"patch: ended before the stored started", request{"PATCH", one, `{"ended":"2019-01-01"}`, nil}, 422, "validation_failed", "/ended not_before_started", ""},
		// Media types and sizes
		{"no media type", request{"POST", create, `{}`, []string{"Content-Type: -"}}, 415, "unsupported_media_type", "", ""},
		{"text", request{"POST", create, `{}`, []string{"Content-Type: text/plain"}}, 415, "unsupported_media_type", "", ""},
		{"malformed media type", request{"POST", create, `{}`, []string{"Content-Type: application/json; x"}}, 415, "unsupported_media_type", "", ""},
		{"latin1", request{"POST", create, `{}`, []string{"Content-Type: application/json; charset=latin1"}}, 415, "unsupported_media_type", "", "utf-8"},
		{"compressed", request{"POST", create, `{}`, []string{"Content-Encoding: gzip"}}, 415, "unsupported_media_type", "", "compressed"},
		{"merge patch for post", request{"POST", create, `{}`, []string{"Content-Type: application/merge-patch+json"}}, 415, "unsupported_media_type", "", ""},
		{"json patch", request{"PATCH", one, `{}`, []string{"Content-Type: application/json-patch+json"}}, 415, "unsupported_media_type", "", ""},
		{"too large", request{"POST", create, `{"first":"` + strings.Repeat("a", 64<<10) + `"}`, nil}, 413, "body_too_large", "", "65536"},
		// Paths, methods, queries
		{"two media types", request{"POST", create, `{}`, []string{"Content-Type: application/json", "+Content-Type: text/plain"}}, 415, "unsupported_media_type", "", ""},
		{"two encodings", request{"POST", create, `{}`, []string{"Content-Encoding: identity", "+Content-Encoding: gzip"}}, 415, "unsupported_media_type", "", ""},
		{"create with If-Match", request{"POST", create, `{}`, []string{`If-Match: "x"`}}, 400, "invalid_header", "If-Match unsupported", ""},
		{"two backends", request{"GET", one, "", []string{"X-Backend: sql", "+X-Backend: ndb"}}, 400, "invalid_header", "X-Backend repeated", ""},
		{"compare with an unknown backend", request{"GET", one, "", []string{"X-Backend-Compare: oracle"}}, 400, "unknown_backend", "", "X-Backend-Compare must be one of: ndb, sql"},
		{"compare with nothing", request{"GET", one, "", []string{"X-Backend-Compare:"}}, 400, "unknown_backend", "", "X-Backend-Compare must be one of: ndb, sql"},
		{"compare with a list", request{"GET", create, "", []string{"X-Backend-Compare: ndb, sql"}}, 400, "unknown_backend", "", "X-Backend-Compare must be one of: ndb, sql"},
		{"compare with parameters", request{"GET", one, "", []string{"X-Backend-Compare: ndb; x=1"}}, 400, "unknown_backend", "", ""},
		{"compare twice", request{"GET", one, "", []string{"X-Backend-Compare: ndb", "+X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare repeated", ""},
		{"compare with the default itself", request{"GET", one, "", []string{"X-Backend-Compare: sql"}}, 400, "invalid_header", "X-Backend-Compare same", "another backend than sql"},
		{"compare with the chosen one itself", request{"GET", create, "", []string{"X-Backend: ndb", "X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare same", "another backend than ndb"},
		{"compare by an unknown backend", request{"GET", one, "", []string{"X-Backend: oracle", "X-Backend-Compare: ndb"}}, 400, "unknown_backend", "", "X-Backend must be one of"},
		{"compare a create", request{"POST", create, `{}`, []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", "a write goes one road"},
		{"compare a save", request{"PUT", "/v1/employees/2", `{}`, []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"compare a patch", request{"PATCH", one, `{"first":"B"}`, []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"compare a delete", request{"DELETE", one, "", []string{"X-Backend-Compare: oracle"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"durability of another kind", request{"PUT", one, `{}`, []string{"X-Durability: tape"}}, 400, "invalid_header", "X-Durability invalid", "disk or memory"},
		{"durability of another case", request{"DELETE", one, "", []string{"X-Durability: Disk"}}, 400, "invalid_header", "X-Durability invalid", ""},
		{"durability of nothing", request{"POST", create, `{}`, []string{"X-Durability:"}}, 400, "invalid_header", "X-Durability invalid", ""},
		{"durability as a list", request{"PATCH", one, `{}`, []string{"X-Durability: disk, memory"}}, 400, "invalid_header", "X-Durability invalid", ""},
		{"durability twice", request{"PUT", one, `{}`, []string{"X-Durability: disk", "+X-Durability: disk"}}, 400, "invalid_header", "X-Durability repeated", ""},
		{"durability of a read", request{"GET", one, "", []string{"X-Durability: disk"}}, 400, "invalid_header", "X-Durability unsupported", "calls that write"},
		{"durability of a list", request{"GET", create, "", []string{"X-Durability: memory"}}, 400, "invalid_header", "X-Durability unsupported", ""},
		{"create: road cannot wait for disk", request{"POST", create, `{}`, []string{"X-Durability: disk"}}, 400, "durability_unavailable", "", "leave out X-Durability, or choose another backend than sql"},
		{"put: road cannot wait for disk", request{"PUT", one, `{}`, []string{"X-Durability: disk"}}, 400, "durability_unavailable", "", ""},
		{"patch: road cannot wait for disk", request{"PATCH", one, `{"first":"B"}`, []string{"X-Durability: disk"}}, 400, "durability_unavailable", "", ""},
		{"delete: road cannot wait for disk", request{"DELETE", one, "", []string{"X-Durability: disk"}}, 400, "durability_unavailable", "", ""},
		{"durable by a road that is down", request{"DELETE", one, "", []string{"X-Backend: ndb", "X-Durability: disk"}}, 503, "unavailable", "", ""},
		{"id of letters", request{"GET", "/v1/employees/abc", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id 0 in the path", request{"GET", "/v1/employees/0", "", nil}, 400, "invalid_parameter", "id range", ""},
		{"id with zeros", request{"GET", "/v1/employees/01", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with a sign", request{"GET", "/v1/employees/+1", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id beyond int64", request{"GET", "/v1/employees/9223372036854775808", "", nil}, 400, "invalid_parameter", "id range", ""},
		{"id escaped twice", request{"GET", "/v1/employees/%2531", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with a slash", request{"GET", "/v1/employees/1%2F2", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with a NUL", request{"GET", "/v1/employees/1%00", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"no such employee", request{"GET", "/v1/employees/9", "", nil}, 404, "not_found", "", ""},
		{"delete of nobody", request{"DELETE", "/v1/employees/9", "", nil}, 404, "not_found", "", ""},
		{"patch of nobody", request{"PATCH", "/v1/employees/9", "{}", nil}, 404, "not_found", "", ""},
		{"exists", request{"POST", create, `{"id":1}`, nil}, 409, "already_exists", "", ""},
		{"slash at the end", request{"GET", "/v1/employees/", "", nil}, 404, "route_not_found", "", ""},
		{"another version", request{"GET", "/v2/employees", "", nil}, 404, "route_not_found", "", ""},
		{"dots", request{"GET", "/v1/../etc/passwd", "", nil}, 404, "route_not_found", "", ""},
		{"delete of all", request{"DELETE", create, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, POST"},
		{"post to one", request{"POST", one, "{}", nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"odd method", request{"BREW", one, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"odd method on nothing", request{"BREW", "/nothing", "", nil}, 404, "route_not_found", "", ""},
		{"query on one", request{"GET", one + "?fields=id", "", nil}, 400, "invalid_parameter", "", "no query"},
		{"unknown parameter", request{"GET", create + "?salary=1", "", nil}, 400, "invalid_parameter", "salary invalid", ""},
		{"repeated parameter", request{"GET", create + "?city=a&city=b", "", nil}, 400, "invalid_parameter", "city repeated", ""},
		{"all bad parameters at once", request{"GET", create + "?page_size=0&order_by=salary&started=x&department=y&zip=1", "", nil}, 400, "invalid_parameter", "department invalid, order_by invalid, page_size invalid, started invalid, zip invalid", ""},
		{"page too large", request{"GET", create + "?page_size=1001", "", nil}, 400, "invalid_parameter", "page_size invalid", "1000"},
		{"department beyond int32", request{"GET", create + "?department=2147483648", "", nil}, 400, "invalid_parameter", "department invalid", "2147483647"},
		{"zeros and signs", request{"GET", create + "?department=007&page_size=%2B5&id=-0", "", nil}, 400, "invalid_parameter", "department invalid, id invalid, page_size invalid", ""},
		{"parameter without a name", request{"GET", create + "?=1", "", nil}, 400, "invalid_parameter", "", "no name"},
		{"bad percent", request{"GET", create + "?city=%zz", "", nil}, 400, "invalid_parameter", "", ""},
		{"filter of bad UTF-8", request{"GET", create + "?city=%ff", "", nil}, 400, "invalid_parameter", "city invalid", ""},
		{"made-up token", request{"GET", create + "?page_token=abc", "", nil}, 400, "invalid_parameter", "page_token invalid", ""},
		{"odd base64", request{"GET", create + "?page_token=%21%21", "", nil}, 400, "invalid_parameter", "page_token invalid", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.seed()
			before := b.all()
			w := b.do(c.q)
			p := problemOf(t, w)
			if w.Code != c.status || p.Code != c.code {
				t.Fatalf("got %d %s, want %d %s", w.Code, w.Body, c.status, c.code)
			}
			if c.where != "" && p.where() != c.where {
				t.Errorf("errors: got %q, want %q", p.where(), c.where)
			}
			if !strings.Contains(w.Body.String(), c.detail) {
				t.Errorf("got %s, want a detail with %q", w.Body, c.detail)
			}
			if w.Code == 405 && w.Header().Get("Allow") != c.detail {
				t.Errorf("Allow: got %q, want %q", w.Header().Get("Allow"), c.detail)
			}
			if w.Code == 415 && (w.Header().Get("Accept-Patch") != "") != (c.q.method == "PATCH") {
				t.Errorf("Accept-Patch: got %q", w.Header().Get("Accept-Patch"))
			}
			if after := b.all(); !maps.Equal(before, after) {
				t.Errorf("a refused request left rows: %v", after)
			}
		})
	}
}

// all returns the rows by ID.
func (b *bench) all() map[int64]models.Employee {
	b.t.Helper()
	rows, err := b.rows.List(b.t.Context(), models.EmployeeQuery{Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	byID := map[int64]models.Employee{}
	for _, e := range rows.Employees {
		byID[e.ID] = e
	}
	return byID
}

func TestLimitsOfRules_AreAccepted(t *testing.T) {
	b := newBench(t)
	for _, body := range []string{
		`{"id":9223372036854775807}`,
		`{"department":2147483647}`,
		`{"first":"` + strings.Repeat("é", 64) + `","last":"","city":"\u0000\ufffd"}`,
		`{"started":"1000-01-01","ended":"9999-12-31"}`,
		`{"started":"2024-02-29","ended":"2024-02-29"}`,
		"\n\t{ \"first\" : \"A\" }\r\n",
	} {
		if w := b.do(request{method: "POST", path: "/v1/employees", body: body}); w.Code != 201 {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
	for _, mediaType := range []string{"application/json;charset=UTF-8", "Application/JSON"} {
		if w := b.do(request{"POST", "/v1/employees", `{}`, []string{"Content-Type: " + mediaType}}); w.Code != 201 {
			t.Errorf("%s: got %d", mediaType, w.Code)
		}
	}
}

func TestEveryCodeHasAStatusThatFits(t *testing.T) {
	for _, c := range slices.Sorted(maps.Keys(codes)) {
		if entry := codes[c]; entry.status < 400 || entry.title == "" {
			t.Errorf("%s: %+v", c, entry)
		}
	}
}
