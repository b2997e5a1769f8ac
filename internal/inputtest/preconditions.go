package inputtest

import "strings"

// preconditionCases are about the headers that make a write safe.
func preconditionCases() []Case {
	return []Case{
		{"etag without quotes", Request{"GET", one, "", []string{"If-None-Match: abc"}}, 400, "invalid_header", "If-None-Match etag", ""},
		{"etag without its end", Request{"PUT", one, `{}`, []string{`If-Match: "abc`}}, 400, "invalid_header", "If-Match etag", ""},
		{"empty If-Match", Request{"DELETE", one, "", []string{"If-Match:"}}, 400, "invalid_header", "If-Match etag", ""},
		{"star in a list", Request{"PATCH", one, `{}`, []string{`If-Match: *, "a"`}}, 400, "invalid_header", "If-Match etag", ""},
		{"If-None-Match of a patch", Request{"PATCH", one, `{}`, []string{"If-None-Match: *"}}, 400, "invalid_header", "If-None-Match unsupported", ""},
		{"If-None-Match of a delete", Request{"DELETE", one, "", []string{"If-None-Match: *"}}, 400, "invalid_header", "If-None-Match unsupported", ""},
		{"If-None-Match with a tag on a write", Request{"PUT", one, `{}`, []string{`If-None-Match: "a"`}}, 400, "invalid_header", "If-None-Match unsupported", ""},
		{"both preconditions", Request{"PUT", one, `{}`, []string{"If-None-Match: *", "If-Match: *"}}, 400, "invalid_header", "If-None-Match unsupported", ""},
		{"another etag", Request{"PUT", one, `{}`, []string{`If-Match: "abc"`}}, 412, "precondition_failed", "", ""},
		{"weak etag", Request{"DELETE", one, "", []string{`If-Match: W/"abc"`}}, 412, "precondition_failed", "", ""},
		{"must not exist, and does", Request{"PUT", one, `{}`, []string{"If-None-Match: *"}}, 412, "precondition_failed", "", ""},
		{"must exist, and does not", Request{"PUT", create + "/9", `{}`, []string{"If-Match: *"}}, 412, "precondition_failed", "", ""},
		{"batch with If-Match", Request{"POST", batch + "Delete", `{"ids":[1]}`, []string{"If-Match: *"}}, 400, "invalid_header", "If-Match unsupported", ""},
		{"empty idempotency key", Request{"POST", create, `{}`, []string{"Idempotency-Key:"}}, 400, "invalid_header", "Idempotency-Key key", ""},
		{"idempotency key with a space", Request{"POST", create, `{}`, []string{"Idempotency-Key: a b"}}, 400, "invalid_header", "Idempotency-Key key", ""},
		{"idempotency key without its quote", Request{"POST", create, `{}`, []string{`Idempotency-Key: "a`}}, 400, "invalid_header", "Idempotency-Key key", ""},
		{"idempotency key with letters of others", Request{"POST", create, `{}`, []string{"Idempotency-Key: é"}}, 400, "invalid_header", "Idempotency-Key key", ""},
		{"idempotency key that is too long", Request{"POST", create, `{}`, []string{"Idempotency-Key: " + strings.Repeat("k", 256)}}, 400, "invalid_header", "Idempotency-Key key", ""},
		{"two idempotency keys", Request{"POST", create, `{}`, []string{"Idempotency-Key: a", "+Idempotency-Key: b"}}, 400, "invalid_header", "Idempotency-Key repeated", ""},
		{"idempotency key of a partial batch", Request{"POST", batch + "Create", `{"employees":[{}],"partial":true}`, []string{"Idempotency-Key: a"}}, 400, "invalid_header", "Idempotency-Key unsupported", ""},
		{"idempotency key of an import", Request{"POST", create + ":import", `{"id":2}`, []string{"Content-Type: application/x-ndjson", "Idempotency-Key: a"}}, 400, "invalid_header", "Idempotency-Key unsupported", ""},
	}
}
