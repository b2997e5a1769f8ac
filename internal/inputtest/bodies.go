package inputtest

import "strings"

const (
	create = "/v1/employees" // and the list
	one    = create + "/1"
	batch  = create + ":batch"

	maxBodyBytes = 64 << 10
)

// tooLong is a text of one character too many.
var tooLong = strings.Repeat("é", 65)

func jsonCases() []Case {
	return []Case{
		{"empty body", Request{"POST", create, "", []string{"Content-Type: application/json"}}, 400, "malformed_json", "", "empty"},
		{"spaces", Request{"POST", create, "  ", nil}, 400, "malformed_json", "", "empty"},
		{"no JSON", Request{"POST", create, "hello", nil}, 400, "malformed_json", "syntax", ""},
		{"cut off", Request{"POST", create, `{"first":"A`, nil}, 400, "malformed_json", "/first syntax", ""},
		{"trailing comma", Request{"POST", create, `{"first":"A",}`, nil}, 400, "malformed_json", "syntax", ""},
		{"trailing data", Request{"POST", create, `{} {}`, nil}, 400, "malformed_json", "", "more after the end"},
		{"trailing brace", Request{"POST", create, `{}}`, nil}, 400, "malformed_json", "", "more after the end"},
		{"array", Request{"POST", create, `[]`, nil}, 400, "invalid_body", "type", "object"},
		{"null", Request{"PATCH", one, `null`, nil}, 400, "invalid_body", "type", "object"},
		{"single quotes", Request{"POST", create, `{'first':1}`, nil}, 400, "malformed_json", "syntax", ""},
		{"comment", Request{"POST", create, `{/**/}`, nil}, 400, "malformed_json", "syntax", ""},
		{"NaN", Request{"POST", create, `{"department":NaN}`, nil}, 400, "malformed_json", "/department syntax", ""},
		{"deep nesting", Request{"POST", create, strings.Repeat("[", 30_000), nil}, 400, "malformed_json", "", ""},
		{"invalid UTF-8", Request{"POST", create, "{\"first\":\"\xff\"}", nil}, 400, "malformed_json", "/first syntax", ""},
		{"lone surrogate", Request{"POST", create, `{"first":"\ud800"}`, nil}, 400, "malformed_json", "/first syntax", ""},
		{"byte order mark", Request{"POST", create, "\xef\xbb\xbf{}", nil}, 400, "malformed_json", "syntax", ""},
		{"unknown member", Request{"POST", create, `{"salary":1}`, nil}, 400, "invalid_body", "/salary unknown", ""},
		{"name in another case", Request{"POST", create, `{"First":"A"}`, nil}, 400, "invalid_body", "/First unknown", ""},
		{"unknown member with slash", Request{"POST", create, `{"a/b~":1}`, nil}, 400, "invalid_body", "/a~1b~0 unknown", ""},
		{"duplicate member", Request{"POST", create, `{"first":"A","first":"B"}`, nil}, 400, "invalid_body", "/first duplicate", ""},
		{"duplicate by escape", Request{"POST", create, `{"first":"A","\u0066irst":"B"}`, nil}, 400, "invalid_body", "/first duplicate", ""},
		{"number for text", Request{"POST", create, `{"first":1}`, nil}, 400, "invalid_body", "/first type", ""},
		{"object for text", Request{"POST", create, `{"first":{}}`, nil}, 400, "invalid_body", "/first type", ""},
		{"text for number", Request{"POST", create, `{"department":"1"}`, nil}, 400, "invalid_body", "/department type", ""},
		{"fraction", Request{"POST", create, `{"department":1.5}`, nil}, 400, "invalid_body", "/department type", ""},
		{"bool for id", Request{"POST", create, `{"id":true}`, nil}, 400, "invalid_body", "/id type", ""},
		{"number for date", Request{"POST", create, `{"started":20200102}`, nil}, 400, "invalid_body", "/started type", ""},
		{"all wrong forms at once", Request{"POST", create, `{"first":1,"x":2,"last":[],"started":"x"}`, nil}, 400, "invalid_body", "/first type, /x unknown, /last type, /started date", ""},
		{"wrong forms and broken rules at once", Request{"POST", create, `{"frist":1,"department":0,"id":"1"}`, nil}, 400, "invalid_body", "/frist unknown, /id type, /department min", ""},
		{"UTF-16", Request{"POST", create, "\xff\xfe{\x00}\x00", nil}, 400, "malformed_json", "syntax", ""},
		{"control character in a text", Request{"POST", create, "{\"first\":\"a\nb\"}", nil}, 400, "malformed_json", "/first syntax", ""},
		{"wrong escape", Request{"POST", create, `{"first":"\x41"}`, nil}, 400, "malformed_json", "/first syntax", ""},
		{"cut off escape", Request{"POST", create, `{"first":"\u00`, nil}, 400, "malformed_json", "/first syntax", ""},
		{"overlong UTF-8", Request{"POST", create, "{\"first\":\"\xc0\xaf\"}", nil}, 400, "malformed_json", "/first syntax", ""},
		{"surrogate in UTF-8", Request{"POST", create, "{\"first\":\"\xed\xa0\x80\"}", nil}, 400, "malformed_json", "/first syntax", ""},
		{"NUL between tokens", Request{"POST", create, "{\x00}", nil}, 400, "malformed_json", "syntax", ""},
		{"number with a plus", Request{"POST", create, `{"department":+1}`, nil}, 400, "malformed_json", "/department syntax", ""},
		{"number with a zero in front", Request{"POST", create, `{"department":01}`, nil}, 400, "malformed_json", "syntax", ""},
		{"hexadecimal number", Request{"POST", create, `{"department":0x1}`, nil}, 400, "malformed_json", "syntax", ""},
		{"number that is too long", Request{"POST", create, `{"id":1` + strings.Repeat("0", 400) + `}`, nil}, 422, "validation_failed", "/id range", ""},
		{"exponent", Request{"POST", create, `{"department":1e9}`, nil}, 400, "invalid_body", "/department type", ""},
		{"array for a date", Request{"POST", create, `{"started":[]}`, nil}, 400, "invalid_body", "/started type", ""},
		{"deep nesting in a member", Request{"POST", create, `{"first":` + strings.Repeat("[", 30_000), nil}, 400, "malformed_json", "", ""},
		{"text alone", Request{"PUT", one, `"Ada"`, nil}, 400, "invalid_body", "type", "object"},
		{"empty member name", Request{"POST", create, `{"":1}`, nil}, 400, "invalid_body", "/ unknown", ""},
		{"prototype", Request{"POST", create, `{"__proto__":{"admin":true}}`, nil}, 400, "invalid_body", "/__proto__ unknown", ""},
		{"column instead of property", Request{"POST", create, `{"municipality":"Oslo"}`, nil}, 400, "invalid_body", "/municipality unknown", ""},
		{"list for one", Request{"POST", create, `{"employees":[{}]}`, nil}, 400, "invalid_body", "/employees unknown", ""},
		{"batch without a list", Request{"POST", batch + "Create", `{}`, nil}, 400, "invalid_body", "/employees required", ""},
		{"batch of nothing", Request{"POST", batch + "Get", `{"ids":[]}`, nil}, 422, "validation_failed", "/ids size", ""},
		{"batch with an id twice", Request{"POST", batch + "Delete", `{"ids":[1,1]}`, nil}, 422, "validation_failed", "/ids/1 unique", ""},
		{"batch with a wrong item", Request{"POST", batch + "Update", `{"updates":[{"id":1,"department":0}]}`, nil}, 422, "validation_failed", "/updates/0/department min", ""},
		{"batch of which one exists", Request{"POST", batch + "Create", `{"employees":[{"id":2},{"id":1}]}`, nil}, 409, "already_exists", "", `"index":1`},
		{"batch of which one is not there", Request{"POST", batch + "Update", `{"updates":[{"id":1,"city":"X"},{"id":9}]}`, nil}, 404, "not_found", "", `"index":1`},
	}
}

func ruleCases() []Case {
	return []Case{
		{"id 0", Request{"POST", create, `{"id":0}`, nil}, 422, "validation_failed", "/id min", ""},
		{"id negative", Request{"POST", create, `{"id":-1}`, nil}, 422, "validation_failed", "/id min", ""},
		{"id beyond int64", Request{"POST", create, `{"id":9223372036854775808}`, nil}, 422, "validation_failed", "/id range", ""},
		{"id null", Request{"POST", create, `{"id":null}`, nil}, 422, "validation_failed", "/id not_null", ""},
		{"department 0", Request{"POST", create, `{"department":0}`, nil}, 422, "validation_failed", "/department min", ""},
		{"department null", Request{"POST", create, `{"department":null}`, nil}, 422, "validation_failed", "/department not_null", ""},
		{"department beyond int32", Request{"POST", create, `{"department":2147483648}`, nil}, 422, "validation_failed", "/department range", ""},
		{"too long", Request{"POST", create, `{"first":"` + tooLong + `"}`, nil}, 422, "validation_failed", "/first max", ""},
		{"no such day", Request{"POST", create, `{"started":"2023-02-29"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"month 13", Request{"POST", create, `{"started":"2023-13-01"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date with time", Request{"POST", create, `{"started":"2023-01-01T00:00:00Z"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"zero date", Request{"POST", create, `{"started":"0000-00-00"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"empty date", Request{"POST", create, `{"started":""}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date before 1000", Request{"POST", create, `{"started":"0999-12-31"}`, nil}, 422, "validation_failed", "/started storable_date", ""},
		{"ended before started", Request{"POST", create, `{"started":"2023-01-02","ended":"2023-01-01"}`, nil}, 422, "validation_failed", "/ended not_before_started", ""},
		{"all broken rules at once", Request{"POST", create, `{"id":0,"first":"` + tooLong + `","department":null,"ended":"x"}`, nil}, 422, "validation_failed", "/department not_null, /ended date, /id min, /first max", ""},
		{"put: id differs", Request{"PUT", one, `{"id":2}`, nil}, 422, "validation_failed", "/id mismatch", ""},
		{"patch: id differs", Request{"PATCH", one, `{"id":2}`, nil}, 422, "validation_failed", "/id mismatch", ""},
		{"put: id of a wrong form", Request{"PUT", one, `{"id":1e0}`, nil}, 400, "invalid_body", "/id type", ""},
		{"patch: department null", Request{"PATCH", one, `{"department":null}`, nil}, 422, "validation_failed", "/department not_null", ""},
		{"patch: too long", Request{"PATCH", one, `{"last":"` + tooLong + `"}`, nil}, 422, "validation_failed", "/last max", ""},
		{"patch: ended before both", Request{"PATCH", one, `{"started":"2023-01-02","ended":"2023-01-01"}`, nil}, 422, "validation_failed", "/ended not_before_started", ""},
		{"patch: ended before the stored started", Request{"PATCH", one, `{"ended":"2019-01-01"}`, nil}, 422, "validation_failed", "/ended not_before_started", ""},
		{"29 February of 1900", Request{"POST", create, `{"started":"1900-02-29"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"day 0", Request{"POST", create, `{"started":"2023-01-00"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"day 31 of April", Request{"PUT", one, `{"ended":"2023-04-31"}`, nil}, 422, "validation_failed", "/ended date", ""},
		{"date without zeros", Request{"POST", create, `{"started":"2023-1-1"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date of another order", Request{"POST", create, `{"started":"01.02.2023"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date with spaces", Request{"POST", create, `{"started":" 2023-01-01"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"date with other digits", Request{"POST", create, `{"started":"٢٠٢٣-٠١-٠١"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"year of five digits", Request{"POST", create, `{"started":"10000-01-01"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"negative year", Request{"POST", create, `{"started":"-2023-01-01"}`, nil}, 422, "validation_failed", "/started date", ""},
		{"too long in each of three", Request{"POST", create, `{"first":"` + tooLong + `","last":"` + tooLong + `","city":"` + tooLong + `"}`, nil}, 422, "validation_failed", "/first max, /last max, /city max", ""},
		{"too long of characters beyond 16 bits", Request{"POST", create, `{"city":"` + strings.Repeat("😀", 65) + `"}`, nil}, 422, "validation_failed", "/city max", ""},
		{"department below int32", Request{"POST", create, `{"department":-2147483649}`, nil}, 422, "validation_failed", "/department range", ""},
	}
}

func bodyCases() []Case {
	return []Case{
		{"no media type", Request{"POST", create, `{}`, []string{"Content-Type: -"}}, 415, "unsupported_media_type", "", ""},
		{"text", Request{"POST", create, `{}`, []string{"Content-Type: text/plain"}}, 415, "unsupported_media_type", "", ""},
		{"malformed media type", Request{"POST", create, `{}`, []string{"Content-Type: application/json; x"}}, 415, "unsupported_media_type", "", ""},
		{"latin1", Request{"POST", create, `{}`, []string{"Content-Type: application/json; charset=latin1"}}, 415, "unsupported_media_type", "", "utf-8"},
		{"compressed", Request{"POST", create, `{}`, []string{"Content-Encoding: gzip"}}, 415, "unsupported_media_type", "", "compressed"},
		{"merge patch for post", Request{"POST", create, `{}`, []string{"Content-Type: application/merge-patch+json"}}, 415, "unsupported_media_type", "", ""},
		{"json patch", Request{"PATCH", one, `{}`, []string{"Content-Type: application/json-patch+json"}}, 415, "unsupported_media_type", "", ""},
		{"too large", Request{"POST", create, `{"first":"` + strings.Repeat("a", maxBodyBytes) + `"}`, nil}, 413, "body_too_large", "", "65536"},
		{"two media types", Request{"POST", create, `{}`, []string{"Content-Type: application/json", "+Content-Type: text/plain"}}, 415, "unsupported_media_type", "", ""},
		{"two encodings", Request{"POST", create, `{}`, []string{"Content-Encoding: identity", "+Content-Encoding: gzip"}}, 415, "unsupported_media_type", "", ""},
		{"form", Request{"POST", create, "first=Ada", []string{"Content-Type: application/x-www-form-urlencoded"}}, 415, "unsupported_media_type", "", ""},
		{"multipart", Request{"POST", create, "--x--", []string{"Content-Type: multipart/form-data; boundary=x"}}, 415, "unsupported_media_type", "", ""},
		{"merge patch for put", Request{"PUT", one, `{}`, []string{"Content-Type: application/merge-patch+json"}}, 415, "unsupported_media_type", "", ""},
		{"compressed otherwise", Request{"PUT", one, `{}`, []string{"Content-Encoding: br"}}, 415, "unsupported_media_type", "", "compressed"},
		{"batch as NDJSON", Request{"POST", batch + "Get", `{"ids":[1]}`, []string{"Content-Type: application/x-ndjson"}}, 415, "unsupported_media_type", "", ""},
		{"import as JSON", Request{"POST", create + ":import", `{}`, nil}, 415, "unsupported_media_type", "", ""},
		{"import of an unknown compression", Request{"POST", create + ":import", `{}`, []string{"Content-Type: application/x-ndjson", "Content-Encoding: deflate"}}, 415, "unsupported_media_type", "", ""},
		{"import that is not gzip", Request{"POST", create + ":import", `{}`, []string{"Content-Type: application/x-ndjson", "Content-Encoding: gzip"}}, 400, "invalid_body", "", ""},
		{"import of CSV without ids", Request{"POST", create + ":import", "first\nAda\n", []string{"Content-Type: text/csv"}}, 400, "invalid_body", "/id required", ""},
		{"export as XML", Request{"GET", create + ":export", "", []string{"Accept: application/xml"}}, 406, "not_acceptable", "", ""},
	}
}
