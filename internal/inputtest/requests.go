package inputtest

import "strings"

func pathCases() []Case {
	return []Case{
		{"id of letters", Request{"GET", "/v1/employees/abc", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id 0 in the path", Request{"GET", "/v1/employees/0", "", nil}, 400, "invalid_parameter", "id range", ""},
		{"id with zeros", Request{"GET", "/v1/employees/01", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with a sign", Request{"GET", "/v1/employees/+1", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id beyond int64 in the path", Request{"GET", "/v1/employees/9223372036854775808", "", nil}, 400, "invalid_parameter", "id range", ""},
		{"id escaped twice", Request{"GET", "/v1/employees/%2531", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with a slash", Request{"GET", "/v1/employees/1%2F2", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with a NUL", Request{"GET", "/v1/employees/1%00", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"no such employee", Request{"GET", "/v1/employees/9", "", nil}, 404, "not_found", "", ""},
		{"delete of nobody", Request{"DELETE", "/v1/employees/9", "", nil}, 404, "not_found", "", ""},
		{"patch of nobody", Request{"PATCH", "/v1/employees/9", "{}", nil}, 404, "not_found", "", ""},
		{"exists", Request{"POST", create, `{"id":1}`, nil}, 409, "already_exists", "", ""},
		{"slash at the end", Request{"GET", "/v1/employees/", "", nil}, 404, "route_not_found", "", ""},
		{"another version", Request{"GET", "/v2/employees", "", nil}, 404, "route_not_found", "", ""},
		{"dots", Request{"GET", "/v1/../etc/passwd", "", nil}, 404, "route_not_found", "", ""},
		{"delete of all", Request{"DELETE", create, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, POST"},
		{"post to one", Request{"POST", one, "{}", nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"odd method", Request{"BREW", one, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"odd method on nothing", Request{"BREW", "/nothing", "", nil}, 404, "route_not_found", "", ""},
		{"query on one", Request{"GET", one + "?fields=id", "", nil}, 400, "invalid_parameter", "", "no query"},
		{"id of spaces", Request{"GET", create + "/%20", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id with an exponent", Request{"GET", create + "/1e3", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"id in other digits", Request{"PUT", create + "/%D9%A1", `{}`, nil}, 400, "invalid_parameter", "id type", ""},
		{"id of bad UTF-8", Request{"DELETE", create + "/%ff", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"negative id", Request{"PATCH", create + "/-1", `{}`, nil}, 400, "invalid_parameter", "id range", ""},
		{"id that is too long", Request{"GET", create + "/" + strings.Repeat("9", 1000), "", nil}, 400, "invalid_parameter", "id range", ""},
		{"SQL in the id", Request{"GET", create + "/1%20OR%201=1", "", nil}, 400, "invalid_parameter", "id type", ""},
		{"path in capitals", Request{"GET", "/V1/Employees", "", nil}, 404, "route_not_found", "", ""},
		{"two slashes", Request{"GET", "//v1/employees", "", nil}, 404, "route_not_found", "", ""},
		{"dots that are escaped", Request{"GET", "/v1/%2e%2e/%2e%2e/etc/passwd", "", nil}, 404, "route_not_found", "", ""},
		{"unknown action", Request{"POST", create + ":purge", `{}`, nil}, 404, "route_not_found", "", ""},
		{"action of one", Request{"POST", one + ":batchGet", `{}`, nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"put of all", Request{"PUT", create, `{}`, nil}, 405, "method_not_allowed", "", "GET, HEAD, POST"},
		{"options", Request{"OPTIONS", create, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, POST"},
		{"trace", Request{"TRACE", one, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"get of a batch", Request{"GET", batch + "Delete", "", nil}, 405, "method_not_allowed", "", "POST"},
		{"post of an export", Request{"POST", create + ":export", "", nil}, 405, "method_not_allowed", "", "GET, HEAD"},
		{"write of limits", Request{"PUT", "/v1/limits", `{}`, nil}, 405, "method_not_allowed", "", "GET, HEAD"},
		{"method in small letters", Request{"get", one, "", nil}, 405, "method_not_allowed", "", "GET, HEAD, PUT, PATCH, DELETE"},
		{"query of a create", Request{"POST", create + "?dry_run=true", `{}`, nil}, 400, "invalid_parameter", "", "no query"},
		{"query of a delete", Request{"DELETE", one + "?force", "", nil}, 400, "invalid_parameter", "", "no query"},
		{"query of a batch", Request{"POST", batch + "Delete?all=1", `{"ids":[1]}`, nil}, 400, "invalid_parameter", "", "no query"},
		{"query of backends", Request{"GET", "/v1/backends?name=ndb", "", nil}, 400, "invalid_parameter", "", "no query"},
		{"key in the query", Request{"GET", create + "?ndbgate_c2VjcmV0LWtleQ=1", "", nil}, 400, "invalid_parameter", "ndbgate_REMOVED invalid", ""},
		{"query of limits", Request{"GET", "/v1/limits?name=url", "", nil}, 400, "invalid_parameter", "", "no query"},
	}
}

func headerCases() []Case {
	return []Case{
		{"create with If-Match", Request{"POST", create, `{}`, []string{`If-Match: "x"`}}, 400, "invalid_header", "If-Match unsupported", ""},
		{"two backends", Request{"GET", one, "", []string{"X-Backend: sql", "+X-Backend: ndb"}}, 400, "invalid_header", "X-Backend repeated", ""},
		{"compare with an unknown backend", Request{"GET", one, "", []string{"X-Backend-Compare: oracle"}}, 400, "unknown_backend", "", "X-Backend-Compare must be one of: ndb, sql"},
		{"compare with nothing", Request{"GET", one, "", []string{"X-Backend-Compare:"}}, 400, "unknown_backend", "", "X-Backend-Compare must be one of: ndb, sql"},
		{"compare with a list", Request{"GET", create, "", []string{"X-Backend-Compare: ndb, sql"}}, 400, "unknown_backend", "", "X-Backend-Compare must be one of: ndb, sql"},
		{"compare with parameters", Request{"GET", one, "", []string{"X-Backend-Compare: ndb; x=1"}}, 400, "unknown_backend", "", ""},
		{"compare twice", Request{"GET", one, "", []string{"X-Backend-Compare: ndb", "+X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare repeated", ""},
		{"compare with the default itself", Request{"GET", one, "", []string{"X-Backend-Compare: sql"}}, 400, "invalid_header", "X-Backend-Compare same", "another backend than sql"},
		{"compare with the chosen one itself", Request{"GET", create, "", []string{"X-Backend: ndb", "X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare same", "another backend than ndb"},
		{"compare by an unknown backend", Request{"GET", one, "", []string{"X-Backend: oracle", "X-Backend-Compare: ndb"}}, 400, "unknown_backend", "", "X-Backend must be one of"},
		{"compare a create", Request{"POST", create, `{}`, []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", "a write goes one road"},
		{"compare a save", Request{"PUT", "/v1/employees/2", `{}`, []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"compare a patch", Request{"PATCH", one, `{"first":"B"}`, []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"compare a delete", Request{"DELETE", one, "", []string{"X-Backend-Compare: oracle"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"durability of another kind", Request{"PUT", one, `{}`, []string{"X-Durability: tape"}}, 400, "invalid_header", "X-Durability invalid", "disk or memory"},
		{"durability of another case", Request{"DELETE", one, "", []string{"X-Durability: Disk"}}, 400, "invalid_header", "X-Durability invalid", ""},
		{"durability of nothing", Request{"POST", create, `{}`, []string{"X-Durability:"}}, 400, "invalid_header", "X-Durability invalid", ""},
		{"durability as a list", Request{"PATCH", one, `{}`, []string{"X-Durability: disk, memory"}}, 400, "invalid_header", "X-Durability invalid", ""},
		{"durability twice", Request{"PUT", one, `{}`, []string{"X-Durability: disk", "+X-Durability: disk"}}, 400, "invalid_header", "X-Durability repeated", ""},
		{"durability of a read", Request{"GET", one, "", []string{"X-Durability: disk"}}, 400, "invalid_header", "X-Durability unsupported", "calls that write"},
		{"durability of a list", Request{"GET", create, "", []string{"X-Durability: memory"}}, 400, "invalid_header", "X-Durability unsupported", ""},
		{"unknown backend", Request{"GET", one, "", []string{"X-Backend: oracle"}}, 400, "unknown_backend", "", "X-Backend must be one of: ndb, sql"},
		{"backend in capitals", Request{"PUT", one, `{}`, []string{"X-Backend: NDB"}}, 400, "unknown_backend", "", ""},
		{"list of backends", Request{"DELETE", one, "", []string{"X-Backend: ndb, sql"}}, 400, "unknown_backend", "", ""},
		{"compare an import", Request{"POST", create + ":import", `{"id":2}`, []string{"Content-Type: application/x-ndjson", "X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"compare an explanation", Request{"GET", create + "?explain=true", "", []string{"X-Backend-Compare: ndb"}}, 400, "invalid_header", "X-Backend-Compare unsupported", ""},
		{"durability of a batch that reads", Request{"POST", batch + "Get", `{"ids":[1]}`, []string{"X-Durability: memory"}}, 400, "invalid_header", "X-Durability unsupported", ""},
		{"durability of an export", Request{"GET", create + ":export", "", []string{"X-Durability: disk"}}, 400, "invalid_header", "X-Durability unsupported", ""},
	}
}

func sizeCases() []Case {
	long := strings.Repeat("a", 20<<10)
	return []Case{
		{"long path", Request{"GET", "/v1/" + long, "", nil}, 414, "url_too_long", "", "20480"},
		{"long query", Request{"GET", create + "?city=" + long, "", nil}, 414, "url_too_long", "", ""},
		{"long query of nothing", Request{"POST", "/nothing?" + long, "", nil}, 414, "url_too_long", "", ""},
		{"long query of the contract", Request{"GET", "/openapi.yaml?" + long, "", nil}, 414, "url_too_long", "", ""},
		{"long header", Request{"GET", one, "", []string{"X-Request-Id: " + long}}, 431, "headers_too_large", "", "16384"},
		{"many headers", Request{"DELETE", one, "", manyHeaders()}, 431, "headers_too_large", "", ""},
		{"too large, of spaces", Request{"PUT", one, strings.Repeat(" ", maxBodyBytes) + "{}", nil}, 413, "body_too_large", "", "65536"},
		{"too large for a patch", Request{"PATCH", one, `{"city":"` + strings.Repeat("a", maxBodyBytes) + `"}`, nil}, 413, "body_too_large", "", ""},
		{"first line of CSV too long", Request{"POST", create + ":import", strings.Repeat("x", 64<<10+1) + "\n", []string{"Content-Type: text/csv"}}, 413, "body_too_large", "", ""},
		{"too many items", Request{"POST", batch + "Get", `{"ids":[` + strings.Repeat("1,", 50_000) + `1]}`, nil}, 422, "validation_failed", "/ids size", ""},
	}
}

func manyHeaders() []string {
	var lines []string
	for range 2000 {
		lines = append(lines, "+X-A: abcdef")
	}
	return lines
}

func accessCases() []Case {
	return []Case{
		{"no credentials", Request{"GET", one, "", []string{"Authorization: -"}}, 401, "credentials_missing", "", ""},
		{"no credentials for a write", Request{"DELETE", one, "", []string{"Authorization: -"}}, 401, "credentials_missing", "", ""},
		{"no credentials at no path", Request{"GET", "/nothing", "", []string{"Authorization: -"}}, 401, "credentials_missing", "", ""},
		{"credentials in the query", Request{"GET", create + "?access_token=x", "", []string{"Authorization: -"}}, 401, "credentials_missing", "", ""},
		{"empty credentials", Request{"GET", one, "", []string{"Authorization:"}}, 401, "credentials_missing", "", ""},
		{"scheme without a key", Request{"GET", one, "", []string{"Authorization: Bearer"}}, 401, "credentials_invalid", "", ""},
		{"another scheme", Request{"GET", one, "", []string{"Authorization: Basic YTpi"}}, 401, "credentials_invalid", "", "Bearer"},
		{"key without a scheme", Request{"GET", one, "", []string{"Authorization: {all}"}}, 401, "credentials_invalid", "", ""},
		{"key with more behind it", Request{"GET", one, "", []string{"Authorization: Bearer {all}x"}}, 401, "credentials_invalid", "", ""},
		{"two keys in one header", Request{"GET", one, "", []string{"Authorization: Bearer {all} {all}"}}, 401, "credentials_invalid", "", ""},
		{"two credentials", Request{"GET", one, "", []string{"Authorization: Bearer {all}", "+Authorization: Bearer {all}"}}, 400, "invalid_header", "Authorization repeated", ""},
		{"expired key", Request{"GET", one, "", []string{"Authorization: Bearer {expired}"}}, 401, "credentials_invalid", "", ""},
		{"token that nobody signed", Request{"GET", one, "", []string{"Authorization: Bearer eyJhbGciOiJub25lIn0.e30."}}, 401, "credentials_invalid", "", ""},
		{"key that is too long", Request{"GET", one, "", []string{"Authorization: Bearer " + strings.Repeat("k", 8<<10+1)}}, 401, "credentials_invalid", "", ""},
		{"reader writes", Request{"PUT", one, `{}`, []string{"Authorization: Bearer {reader}"}}, 403, "scope_missing", "", "write"},
		{"reader deletes many", Request{"POST", batch + "Delete", `{"ids":[1]}`, []string{"Authorization: Bearer {reader}"}}, 403, "scope_missing", "", ""},
		{"reader imports", Request{"POST", create + ":import", `{"id":2}`, []string{"Content-Type: application/x-ndjson", "Authorization: Bearer {reader}"}}, 403, "scope_missing", "", ""},
		{"writer reads", Request{"GET", one, "", []string{"Authorization: Bearer {writer}"}}, 403, "scope_missing", "", "read"},
		{"reader looks at the cluster", Request{"GET", "/v1/cluster", "", []string{"Authorization: Bearer {reader}"}}, 403, "scope_missing", "", "admin"},
	}
}
