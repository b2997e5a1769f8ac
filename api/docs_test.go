package api

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	ndbgate "github.com/ndbgate/ndbgate"
	"github.com/ndbgate/ndbgate/internal/docstest"
)

//go:generate go test -run ^TestDocs . -update-docs

// whatToDo is the advice of docs/problems.md for who gets a problem.
var whatToDo = map[code]string{
	codeMalformedJSON:         "Correct the body; `errors` says at which place it is no JSON.",
	codeMalformedCSV:          "Correct the file: commas between fields, quotes around fields that have one, as many fields on each line as on the first.",
	codeInvalidBody:           "Correct the members, or the encoding, that `errors` or `detail` name.",
	codeIncompleteBody:        "Send the whole file; with `on_conflict=skip` the rows that are stored are passed over.",
	codeInvalidParameter:      "Correct the parameters that `errors` names, with the position in `filter` and `order_by`.",
	codeInvalidHeader:         "Correct the header that `errors` names.",
	codeOrderUnsupported:      "Ask by `sql`, or for an order without that column.",
	codeUnknownBackend:        "Take one of the names in `detail`; `GET /v1/backends` lists them too.",
	codeDurabilityUnavailable: "Leave out `X-Durability`, or have the operator switch on the backend `ndb`, whose connection tells what is on disk.",
	codeInvalidValue:          "Look at the values; the log has what the database said under the request id.",
	codeNoCredentials:         "Ask the operator for an API key, and send it in `Authorization: Bearer KEY`.",
	codeBadCredentials:        "`detail` says what is wrong: fetch a new token, or ask the operator for another key.",
	codeNoScope:               "Ask the operator for a key with the scope that `detail` names.",
	codeOriginNotAllowed:      "Operators: name the page's origin in `--cors-origins`. It is in the way of pages that you did not mean to call, too.",
	codeHostNotAllowed:        "Call `localhost` or `127.0.0.1`. Operators: switch on access control, or start with `--insecure` where something in front of the gateway decides who may call.",
	codeAccessUnavailable:     "Try again after `Retry-After`. Operators: look whether the gateway reaches `--jwt-jwks`.",
	codeNotFound:              "Nothing to repeat. For a DELETE that was sent again it means that the employee is gone.",
	codeRouteNotFound:         "Look at the path; `/docs` lists all of them.",
	codeMethodNotAllowed:      "Take a method that `Allow` lists.",
	codeNotAcceptable:         "Accept `application/x-ndjson` or `text/csv`.",
	codeAlreadyExists:         "PUT replaces the employee; without an `id` in the body the gateway assigns a new one.",
	codeKeyInUse:              "Wait for `Retry-After`, then send the same request again: it gets the answer of the first.",
	codePreconditionFailed:    "Read the employee, decide again, and send the new ETag.",
	codeBodyTimeout:           "Send the body sooner, or less of it. An import can be run again with `on_conflict=skip`.",
	codeBodyTooLarge:          "Send less; `detail` has the limit. Large sets go by batches or an import.",
	codeURLTooLong:            "Shorten the query; many ids are read by `:batchGet`.",
	codeHeadersTooLarge:       "Send fewer or shorter headers: cookies and long tokens, as a rule.",
	codeRateLimited:           "Wait for `Retry-After`, and send less often; the `RateLimit` header of each answer tells how much is left.",
	codeOverloaded:            "Wait for `Retry-After` and try again, or take the other backend. Where it comes often, add gateways or a larger pool.",
	codeBatchTooLarge:         "Send at most `limit` items, or add `chunk` or `partial`; or have the operator raise `MaxNoOfConcurrentOperations` of the cluster.",
	codeUnsupportedMediaType:  "Set `Content-Type` to what the call takes; `Accept-Patch` or `Accept-Post` may list it.",
	codeValidationFailed:      "Correct the values that `errors` names.",
	codeTooManyErrors:         "Correct the lines that the answer lists; with a larger `max_errors` an import goes on for longer.",
	codeKeyReused:             "Take a new key: one belongs to one request.",
	codeNoIdempotency:         "Leave out the key, or have the operator run `deploy/schema.sql`.",
	codeUnavailable:           "Wait for `Retry-After` and try again, or take the other backend. `GET /v1/backends` and `gateway check` tell which serves.",
	codeTooManyStreams:        "Wait for `Retry-After`; imports and exports of one client better come one after the other.",
	codeStopping:              "Connect again: another gateway, or this one once it is back.",
	codeTimeout:               "Try again. Where it comes often, look at the load of the backend, or have the operator raise `--request-timeout`.",
	codeOutcomeUnknown:        "Read the employee and decide, or send the same request again where it had an `Idempotency-Key`. Never repeat it otherwise.",
	codeNotDurableYet:         "Do not repeat it: the write is done, and on disk a little later unless all data nodes of a group are lost before.",
	codeInternal:              "Read the employee to see whether a write was done; report the request id to the operator, whose log has the cause.",
}

// meanings reads the table of the contract, which says what each code means.
func meanings(t *testing.T) map[code]string {
	t.Helper()
	found := map[code]string{}
	for _, row := range regexp.MustCompile("(?m)^ *\\| `([a-z_]+)` \\| [45][0-9]{2} \\| (.*) \\|$").FindAllStringSubmatch(string(ndbgate.OpenAPI), -1) {
		found[code(row[1])] = row[2]
	}
	return found
}

func TestDocs_Problems(t *testing.T) {
	meanings := meanings(t)
	order := slices.SortedFunc(maps.Keys(codes), func(a, b code) int {
		return cmp.Or(cmp.Compare(codes[a].status, codes[b].status), cmp.Compare(a, b))
	})
	var b strings.Builder
	b.WriteString("| code | status | title | when | what to do |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range order {
		if meanings[c] == "" || whatToDo[c] == "" {
			t.Errorf("%s: got the meaning %q (table of openapi.yaml) and the advice %q (whatToDo), want both", c, meanings[c], whatToDo[c])
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", c, codes[c].status, codes[c].title, docstest.Cell(meanings[c]), docstest.Cell(whatToDo[c]))
	}
	for c := range whatToDo {
		if _, ok := codes[c]; !ok {
			t.Errorf("whatToDo has %s, which is no code", c)
		}
	}
	if t.Failed() {
		return
	}
	docstest.Part(t, 1, "problems.md", "problems", b.String())
}
