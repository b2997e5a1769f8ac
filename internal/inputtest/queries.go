package inputtest

import (
	"net/url"
	"strings"
)

func listCases() []Case {
	return []Case{
		{"unknown parameter", Request{"GET", create + "?salary=1", "", nil}, 400, "invalid_parameter", "salary invalid", ""},
		{"repeated parameter", Request{"GET", create + "?city=a&city=b", "", nil}, 400, "invalid_parameter", "city repeated", ""},
		{"all bad parameters at once", Request{"GET", create + "?page_size=0&order_by=salary&started=x&department=y&zip=1", "", nil}, 400, "invalid_parameter", "department invalid, order_by invalid, page_size invalid, started invalid, zip invalid", ""},
		{"page too large", Request{"GET", create + "?page_size=1001", "", nil}, 400, "invalid_parameter", "page_size invalid", "1000"},
		{"department beyond int32 to match", Request{"GET", create + "?department=2147483648", "", nil}, 400, "invalid_parameter", "department invalid", "2147483647"},
		{"zeros and signs", Request{"GET", create + "?department=007&page_size=%2B5&id=-0", "", nil}, 400, "invalid_parameter", "department invalid, id invalid, page_size invalid", ""},
		{"parameter without a name", Request{"GET", create + "?=1", "", nil}, 400, "invalid_parameter", "", "no name"},
		{"bad percent", Request{"GET", create + "?city=%zz", "", nil}, 400, "invalid_parameter", "", ""},
		{"filter of bad UTF-8", Request{"GET", create + "?city=%ff", "", nil}, 400, "invalid_parameter", "city invalid", ""},
		{"made-up token", Request{"GET", create + "?page_token=abc", "", nil}, 400, "invalid_parameter", "page_token invalid", ""},
		{"odd base64", Request{"GET", create + "?page_token=%21%21", "", nil}, 400, "invalid_parameter", "page_token invalid", ""},
		{"page of nothing", Request{"GET", create + "?page_size=0", "", nil}, 400, "invalid_parameter", "page_size invalid", ""},
		{"page of a negative number", Request{"GET", create + "?page_size=-1", "", nil}, 400, "invalid_parameter", "page_size invalid", ""},
		{"page of text", Request{"GET", create + "?page_size=ten", "", nil}, 400, "invalid_parameter", "page_size invalid", ""},
		{"order of a property twice", Request{"GET", create + "?order_by=city,city%20desc", "", nil}, 400, "invalid_parameter", "order_by invalid", "once"},
		{"order of another direction", Request{"GET", create + "?order_by=city%20up", "", nil}, 400, "invalid_parameter", "order_by invalid", ""},
		{"order with SQL", Request{"GET", create + "?order_by=id;DROP%20TABLE%20employee", "", nil}, 400, "invalid_parameter", "", ""},
		{"unknown field", Request{"GET", create + "?fields=id,salary", "", nil}, 400, "invalid_parameter", "fields invalid", ""},
		{"empty fields", Request{"GET", create + "?fields=", "", nil}, 400, "invalid_parameter", "fields invalid", ""},
		{"count of another word", Request{"GET", create + "?count=yes", "", nil}, 400, "invalid_parameter", "count invalid", ""},
		{"explain of another word", Request{"GET", create + "?explain=1", "", nil}, 400, "invalid_parameter", "explain invalid", ""},
		{"parameter name of bad UTF-8", Request{"GET", create + "?%ff=1", "", nil}, 400, "invalid_parameter", "\ufffd invalid", ""},
		{"parameter in capitals", Request{"GET", create + "?City=Oslo", "", nil}, 400, "invalid_parameter", "City invalid", ""},
		{"no such day to match", Request{"GET", create + "?started=2023-02-30", "", nil}, 400, "invalid_parameter", "started invalid", ""},
		{"empty day to match", Request{"GET", create + "?ended=", "", nil}, 400, "invalid_parameter", "ended invalid", ""},
		{"id with spaces to match", Request{"GET", create + "?id=%201", "", nil}, 400, "invalid_parameter", "id invalid", ""},
		{"parameter of an export", Request{"GET", create + ":export?page_size=5", "", nil}, 400, "invalid_parameter", "page_size invalid", ""},
		{"summary of another word", Request{"GET", create + ":export?summary=no", "", nil}, 400, "invalid_parameter", "summary invalid", ""},
		{"import with an unknown conflict", Request{"POST", create + ":import?on_conflict=merge", `{"id":2}`, []string{"Content-Type: application/x-ndjson"}}, 400, "invalid_parameter", "on_conflict invalid", ""},
		{"token of another query", Request{"GET", create + "?page_token=AuCTC0OXjvZ4ASLkuSAr&city=Rome", "", nil}, 400, "invalid_parameter", "page_token invalid", ""},
		{"token that is too long", Request{"GET", create + "?page_token=" + strings.Repeat("A", 4097), "", nil}, 400, "invalid_parameter", "page_token invalid", ""},
	}
}

// filterCases have a filter and the rule that it breaks.
func filterCases() []Case {
	var cases []Case
	for _, f := range []struct{ name, filter, rule string }{
		{"unknown property", `salary > 1`, "unknown"},
		{"property in capitals", `City = "a"`, "unknown"},
		{"unknown function", `regex(city, "a")`, "unknown"},
		{"no value", `city =`, "syntax"},
		{"no comparator", `city "a"`, "syntax"},
		{"two equals signs", `city == "a"`, "syntax"},
		{"C's not", `!city = "a"`, "syntax"},
		{"SQL's not equal", `city <> "a"`, "syntax"},
		{"and in small letters", `id > 1 and id < 5`, "syntax"},
		{"no factor", `id > 1 AND`, "syntax"},
		{"open parenthesis", `(id > 1`, "syntax"},
		{"closed parenthesis", `id > 1)`, "syntax"},
		{"open text", `city = "a`, "syntax"},
		{"wrong escape", `city = "\q"`, "syntax"},
		{"twice not", `NOT NOT id = 1`, "syntax"},
		{"word alone", `Oslo`, "unsupported"},
		{"text alone", `"Oslo"`, "unsupported"},
		{"two properties", `first = last`, "unsupported"},
		{"order of null", `city < null`, "unsupported"},
		{"has a value", `city:"a"`, "unsupported"},
		{"number as text", `department = "1"`, "type"},
		{"number with a fraction", `department = 1.5`, "type"},
		{"number beyond int64", `id = 9223372036854775808`, "type"},
		{"no day", `started = "2023-02-30"`, "type"},
		{"null in a list", `in(city, "a", null)`, "type"},
		{"like of a number", `like(id, "1%")`, "type"},
		{"between one value", `between(id, 1)`, "syntax"},
		{"in nothing", `in(id)`, "syntax"},
		{"SQL behind it", `id = 1; DROP TABLE employee`, "type"},
		{"comment of SQL", `id = 1 -- x`, "syntax"},
		{"too deep", strings.Repeat("(", 21) + "id = 1" + strings.Repeat(")", 21), "limit"},
		{"too many comparisons", "id = 1" + strings.Repeat(" OR id = 1", 100), "limit"},
		{"too long", `city = "` + strings.Repeat("a", 4096) + `"`, "limit"},
		{"bad UTF-8", "city = \"\xff\"", "syntax"},
	} {
		cases = append(cases, Case{"filter: " + f.name, Request{"GET", create + "?filter=" + url.QueryEscape(f.filter), "", nil}, 400, "invalid_parameter", "filter " + f.rule, ""})
	}
	return cases
}
