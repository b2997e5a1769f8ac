package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// Who gets a wrong row refused as JSON and sends it as CSV hears the same.
func TestImport_BothFormatsSayTheSameOfAWrongRow(t *testing.T) {
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct{ ndjson, csv string }{
		"no id":                 {`{"first":"A"}`, "first,id\nA,"},
		"no id, and a rule":     {`{"first":"` + long + `"}`, "first,id\n" + long + ","},
		"an id of null":         {`{"id":null}`, "id,first\n,"},
		"an id that is text":    {`{"id":"x"}`, "id\nx"},
		"an id with a fraction": {`{"id":1.5}`, "id\n1.5"},
		"an id that is 0":       {`{"id":0}`, "id\n0"},
		"an id too large":       {`{"id":9223372036854775808}`, "id\n9223372036854775808"},
		"a number too large":    {`{"id":1,"department":2147483648}`, "id,department\n1,2147483648"},
		"null that may not be":  {`{"id":1,"department":null}`, "id,department\n1,"},
		"no day":                {`{"id":1,"started":"2023-02-29"}`, "id,started\n1,2023-02-29"},
		"a day too early":       {`{"id":1,"started":"0999-12-31"}`, "id,started\n1,0999-12-31"},
		"text too long":         {`{"id":1,"last":"` + long + `"}`, "id,last\n1," + long},
		"days in wrong order":   {`{"id":1,"started":"2023-02-02","ended":"2023-02-01"}`, "id,started,ended\n1,2023-02-02,2023-02-01"},
		"two faults":            {`{"id":1,"department":0,"started":"x"}`, "id,department,started\n1,0,x"},
		"text for the database": {`{"id":1,"first":"😀"}`, "id,first\n1,😀"},
	} {
		t.Run(name, func(t *testing.T) {
			said := func(body, mediaType string) *problemView {
				s := newStreamBench(t, Options{})
				a := s.importText("", body+"\n", "Content-Type: "+mediaType)
				p := a.summary(t).Error
				if p == nil {
					t.Fatalf("%s: got %s, want a problem", mediaType, a.text)
				}
				p.RequestID = ""
				return p
			}
			if got, want := said(c.csv, csvType), said(c.ndjson, ndjsonType); !reflect.DeepEqual(got, want) {
				t.Errorf("got %s of CSV, want %s as of NDJSON", asJSON(t, got), asJSON(t, want))
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestImport_OtherSeparators_AreNamed(t *testing.T) {
	for body, want := range map[string]string{
		"id;first\n1;A\n":          "columns are separated by commas, not by semicolons",
		"id\tfirst\n1\tA\n":        "columns are separated by commas, not by tabs",
		"id|first\n1|A\n":          "columns are separated by commas, not by bars",
		`"id";"first"` + "\n1;A\n": "after a closing quote comes a comma or the end of the line, not ';'",
	} {
		a := newStreamBench(t, Options{}).importText("", body, "Content-Type: "+csvType)
		if a.status != http.StatusBadRequest || a.problem.Code != "malformed_csv" || !strings.Contains(a.problem.Detail, want) {
			t.Errorf("%q: got %d %s, want a detail with %q", body, a.status, a.text, want)
		}
	}
}

func TestConflict_AdviceFitsTheCall(t *testing.T) {
	s := newStreamBench(t, Options{})
	s.importText("", rowsFrom(1, 1))
	if got := s.importText("", rowsFrom(1, 1)).summary(t).Error.Detail; !strings.Contains(got, "on_conflict=skip passes over it, on_conflict=replace replaces it") {
		t.Errorf("import: got %q", got)
	}
	b := newBench(t)
	b.seed()
	for body, want := range map[string]string{
		`{"employees":[{"id":1}]}`:                "leave the item out, or ask for partial to create the others; nothing was written",
		`{"partial":true,"employees":[{"id":1}]}`: ":batchUpdate changes it",
	} {
		w := b.do(request{method: "POST", path: "/v1/employees:batchCreate", body: body})
		if text := w.Body.String(); !strings.Contains(text, want) || strings.Contains(text, "PUT") {
			t.Errorf("%s: got %s, want %q", body, text, want)
		}
	}
}

func TestPreconditionFailed_SaysWhichAndWhy(t *testing.T) {
	for _, c := range []struct {
		q    request
		want string
	}{
		{request{"PUT", "/v1/employees/1", `{}`, []string{"If-None-Match: *"}}, "If-None-Match: * asks that nobody has this id, and somebody has"},
		{request{"PUT", "/v1/employees/9", `{}`, []string{"If-Match: *"}}, "If-Match: * asks that the employee is there, and it is not"},
		{request{"PATCH", "/v1/employees/1", `{}`, []string{`If-Match: "old"`}}, "another ETag than If-Match names"},
		{request{"DELETE", "/v1/employees/1", "", []string{`If-Match: "old"`}}, "another ETag than If-Match names"},
	} {
		b := newBench(t)
		b.seed()
		w := b.do(c.q)
		if p := problemOf(t, w); w.Code != http.StatusPreconditionFailed || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s with %s: got %d %s, want %q", c.q.method, c.q.headers, w.Code, w.Body, c.want)
		}
	}
}

// Whoever reads title and detail one behind the other, as on a command line, does
// not hear the same twice.
func TestMalformedJSON_DetailSaysMoreThanTheTitle(t *testing.T) {
	for body, want := range map[string]string{
		"{":            "at byte 1: the text ends within a JSON value",
		`{"first": A}`: "at byte 10: invalid character 'A' at start of value",
	} {
		p := problemOf(t, newBench(t).do(request{method: "POST", path: "/v1/employees", body: body}))
		if p.Detail != want || len(p.Errors) != 1 || p.Errors[0].Detail != want {
			t.Errorf("%s: got %+v, want %q", body, p, want)
		}
	}
}
