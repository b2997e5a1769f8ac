package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestImport_BadRequests_GetTheirProblemAndStoreNothing(t *testing.T) {
	const csv = "Content-Type: text/csv"
	good := rowsFrom(1, 3)
	for _, c := range []struct {
		name, query, body string
		headers           []string
		status            int
		code, where       string
	}{
		{"no media type", "", good, []string{"Content-Type: "}, 415, "unsupported_media_type", ""},
		{"JSON", "", good, []string{"Content-Type: application/json"}, 415, "unsupported_media_type", ""},
		{"latin1", "", good, []string{"Content-Type: text/csv; charset=latin1"}, 415, "unsupported_media_type", ""},
		{"CSV without a header", "", good, []string{"Content-Type: text/csv; header=absent"}, 415, "unsupported_media_type", ""},
		{"unknown compression", "", good, []string{"Content-Encoding: br"}, 415, "unsupported_media_type", ""},
		{"compressed twice", "", good, []string{"Content-Encoding: gzip, zstd"}, 415, "unsupported_media_type", ""},
		{"unknown parameter", "?on_conflict=skip&upsert=1", good, nil, 400, "invalid_parameter", "upsert invalid"},
		{"all wrong parameters", "?on_conflict=x&on_error=y&max_errors=0", good, nil, 400, "invalid_parameter", "max_errors invalid, on_conflict invalid, on_error invalid"},
		{"repeated parameter", "?on_error=stop&on_error=stop", good, nil, 400, "invalid_parameter", "on_error repeated"},
		{"most errors without going on", "?max_errors=5", good, nil, 400, "invalid_parameter", "max_errors invalid"},
		{"most errors of too many", "?on_error=continue&max_errors=1000000001", good, nil, 400, "invalid_parameter", "max_errors invalid"},
		{"bad percent", "?on_error=%zz", good, nil, 400, "invalid_parameter", ""},
		{"unknown road", "", good, []string{"X-Backend: oracle"}, 400, "unknown_backend", ""},
		{"compared", "", good, []string{"X-Backend-Compare: ndb"}, 400, "invalid_header", "X-Backend-Compare unsupported"},
		{"idempotency key", "", good, []string{"Idempotency-Key: a"}, 400, "invalid_header", "Idempotency-Key unsupported"},
		{"durability", "", good, []string{"X-Durability: tape"}, 400, "invalid_header", "X-Durability invalid"},
		{"not gzip", "", good, []string{"Content-Encoding: gzip"}, 400, "invalid_body", ""},
		{"not zstd", "", good, []string{"Content-Encoding: zstd"}, 400, "invalid_body", ""},
		{"gzip of nothing", "", "", []string{"Content-Encoding: gzip"}, 400, "invalid_body", ""},
		{"CSV of nothing", "", "", []string{csv}, 400, "malformed_csv", ""},
		{"CSV with an unknown column", "", "id,salary\n1,2\n", []string{csv}, 400, "invalid_body", "/salary unknown"},
		{"CSV with a column twice", "", "id,first,first\n1,a,b\n", []string{csv}, 400, "invalid_body", "/first duplicate"},
		{"CSV without ids", "", "first,last\na,b\n", []string{csv}, 400, "invalid_body", "/id required"},
		{"CSV in other letters", "", "ID,First\n1,a\n", []string{csv}, 400, "invalid_body", "/ID unknown, /First unknown"},
		{"CSV with a bad first line", "", "id,\"first\" \n1,a\n", []string{csv}, 400, "malformed_csv", ""},
		{"CSV with a first line too long", "", strings.Repeat("x", maxLineBytes+1) + "\n", []string{csv}, 413, "body_too_large", ""},
		{"CSV that is never closed", "", "id,\"first\n1,a\n", []string{csv}, 400, "malformed_csv", ""},
		{"the road is down", "", good, []string{"X-Backend: ndb"}, 503, "unavailable", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newStreamBench(t, Options{})
			a := b.importText(c.query, c.body, c.headers...)
			if a.status != c.status || a.problem.Code != c.code {
				t.Fatalf("got %d %s, want %d %s", a.status, a.text, c.status, c.code)
			}
			if got := a.problem.where(); got != c.where {
				t.Errorf("errors: got %q, want %q", got, c.where)
			}
			if got := b.stored(); len(got) > 0 {
				t.Errorf("stored: %v", got)
			}
			if a.status == 415 && (a.header.Get("Accept-Post") == "" || a.header.Get("Accept-Encoding") == "") {
				t.Errorf("got %v, want what is understood", a.header)
			}
		})
	}
}

// wrongLines are bodies with wrong lines among good ones.
var wrongLines = []struct {
	name, mediaType, body string
	faults                []string
	written               int64
	end                   string // code of what ends the import even where it goes on; empty: nothing
}{
	{"a line that is no JSON in the middle", ndjsonType, rowsFrom(1, 3) + "{\"id\":4,\n" + rowsFrom(5, 2), []string{"4 malformed_json syntax"}, 5, ""},
	{"a line of two objects", ndjsonType, `{"id":1}{"id":2}` + "\n" + rowsFrom(5, 1), []string{"1 malformed_json"}, 1, ""},
	{"an array", ndjsonType, "[" + "\n" + `{"id":1},` + "\n]\n", []string{"1 malformed_json syntax", "2 malformed_json", "3 malformed_json syntax"}, 0, ""},
	{"other values", ndjsonType, "null\n1\n\"a\"\n" + rowsFrom(5, 1), []string{"1 invalid_body type", "2 invalid_body type", "3 invalid_body type"}, 1, ""},
	{"an unknown member", ndjsonType, `{"id":1,"salary":2}` + "\n", []string{"1 invalid_body /salary unknown"}, 0, ""},
	{"a member twice", ndjsonType, `{"id":1,"id":2}` + "\n", []string{"1 invalid_body /id duplicate"}, 0, ""},
	{"a wrong type", ndjsonType, `{"id":"1"}` + "\n", []string{"1 invalid_body /id type"}, 0, ""},
	{"no id", ndjsonType, `{"first":"A"}` + "\n" + rowsFrom(1, 1), []string{"1 validation_failed /id required"}, 1, ""},
	{"no id and a bad name", ndjsonType, `{"first":"` + strings.Repeat("é", 65) + `"}` + "\n", []string{"1 validation_failed /id required, /first max"}, 0, ""},
	{"id 0", ndjsonType, `{"id":0}` + "\n", []string{"1 validation_failed /id min"}, 0, ""},
	{"id null", ndjsonType, `{"id":null}` + "\n", []string{"1 validation_failed /id required"}, 0, ""},
	{"several rules", ndjsonType, `{"id":1,"department":0,"started":"2020-02-02","ended":"2020-01-01"}` + "\n", []string{"1 validation_failed /department min, /ended not_before_started"}, 0, ""},
	{"bad UTF-8", ndjsonType, "{\"id\":1,\"first\":\"\xff\"}\n" + rowsFrom(2, 1), []string{"1 malformed_json /first syntax"}, 1, ""},
	{"what the column cannot hold", ndjsonType, `{"id":1,"first":"😀"}` + "\n" + rowsFrom(2, 1), []string{"1 validation_failed /first charset"}, 1, ""},
	{"a line too long", ndjsonType, rowsFrom(1, 1) + `{"id":2,"first":"` + strings.Repeat("x", 3*maxLineBytes) + "\"}\n" + rowsFrom(3, 1), []string{"2 body_too_large"}, 2, ""},
	{"a last line too long without an end", ndjsonType, rowsFrom(1, 1) + strings.Repeat(" ", maxLineBytes+1), []string{"2 body_too_large"}, 1, ""},
	{"an id twice", ndjsonType, rowsFrom(1, 2) + rowsFrom(1, 1), []string{"3 already_exists"}, 2, ""},
	{"the end of an export that is not complete", ndjsonType, rowsFrom(1, 2) + `{"complete":false,"rows":2,"error":{"code":"x"}}` + "\n", []string{"3 incomplete_body"}, 2, ""},
	{"the end of an export of more rows", ndjsonType, rowsFrom(1, 2) + `{"complete":true,"rows":3}` + "\n", []string{"3 incomplete_body"}, 2, ""},
	{"something like the end of an export", ndjsonType, rowsFrom(1, 2) + `{"complete":1}` + "\n", []string{"3 invalid_body"}, 2, ""},

	{"too few fields", csvType, "id,first\n1\n2,b\n", []string{"2 malformed_csv"}, 1, ""},
	{"too many fields", csvType, "id,first\n1,a,b\n2,b\n", []string{"2 malformed_csv"}, 1, ""},
	{"a quote in a field", csvType, "id,first\n1,a\"b\n2,b\n", []string{"2 malformed_csv"}, 1, ""},
	{"text behind a quote", csvType, "id,first\n1,\"a\"b\n2,b\n", []string{"2 malformed_csv"}, 1, ""},
	{"a number that is none", csvType, "id,department\nx,1\n1,1.5\n+1,1\n2,2\n", []string{"2 invalid_body /id type", "3 invalid_body /department type", "4 invalid_body /id type"}, 1, ""},
	{"a number too great", csvType, "id,department\n9223372036854775808,1\n1,2147483648\n", []string{"2 validation_failed /id range", "3 validation_failed /department range"}, 0, ""},
	{"an empty id and department", csvType, "id,department\n,1\n2,\n\"\",1\n", []string{"2 validation_failed /id required", "3 validation_failed /department not_null", "4 invalid_body /id type"}, 0, ""},
	{"a date that is none", csvType, "id,started\n1,2023-02-29\n2,\"\"\n3,2020-01-01\n", []string{"2 validation_failed /started date", "3 validation_failed /started date"}, 1, ""},
	{"rules", csvType, "id,first,started,ended\n1," + strings.Repeat("x", 65) + ",2020-02-02,2020-01-01\n", []string{"2 validation_failed /first max, /ended not_before_started"}, 0, ""},
	{"text that is no UTF-8", csvType, "id,first\n1,\xff\n2,b\n", []string{"2 validation_failed /first utf8"}, 1, ""},
	{"a record too long", csvType, "id,first\n1," + strings.Repeat("x", 2*maxLineBytes) + "\n2,b\n", []string{"2 body_too_large"}, 1, ""},
	{"lines in quotes count", csvType, "id,first,last\n1,\"a\n\nb\",c\n0,a,b\n", []string{"5 validation_failed /id min"}, 1, ""},
	{"a quote that is never closed", csvType, "id,first\n1,a\n2,\"b\n3,c\n", nil, 1, "malformed_csv"},
}

func TestImport_WrongLines_AreNamedAndTheOthersStored(t *testing.T) {
	for _, c := range wrongLines {
		t.Run(c.name, func(t *testing.T) {
			b := newStreamBench(t, Options{})
			a := b.importText("?on_error=continue", c.body, "Content-Type: "+c.mediaType)
			s := a.summary(t)
			if got := a.faults(); !slices.Equal(got, c.faults) {
				t.Errorf("got %q, want %q", got, c.faults)
			}
			if s.Complete != (c.end == "") || c.end != "" && s.Error.Code != c.end {
				t.Errorf("got %s", a.text)
			}
			if s.Written != c.written || s.Failed != int64(len(c.faults)) || len(b.stored()) != int(c.written) {
				t.Errorf("got %d rows stored and %s, want %d", len(b.stored()), a.text, c.written)
			}
		})
	}
}

// Where an import stops at a wrong line, all before it is stored and nothing
// behind it is read.
func TestImport_OnErrorStop_StopsAtAWrongLine(t *testing.T) {
	for _, c := range wrongLines {
		if len(c.faults) == 0 || strings.Contains(c.faults[0], "already_exists") || strings.Contains(c.faults[0], "charset") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := newStreamBench(t, Options{})
			before, body := rowsFrom(1000, 1500), c.body
			if c.mediaType == csvType {
				header, rest, _ := strings.Cut(c.body, "\n")
				before = header + "\n"
				for i := range 1500 {
					before += fmt.Sprintf("%d%s\n", 1000+i, strings.Repeat(",", strings.Count(header, ",")))
				}
				before = strings.ReplaceAll(before, ",\n", ",1\n") // where the last one is the department
				if !strings.HasSuffix(header, "department") {
					before = strings.ReplaceAll(before, ",1\n", ",\n")
				}
				body = rest
			}
			a := b.importText("", before+body+"\n", "Content-Type: "+c.mediaType)
			s := a.summary(t)
			_, want, _ := strings.Cut(c.faults[0], " ")
			got := a.faults()
			if len(got) != 1 || !strings.HasSuffix(got[0], want) || s.Complete || s.Failed != 1 {
				t.Errorf("got %q and %+v, want %q", got, s, want)
			}
			if s.Line < 1500 || s.Error == nil || !strings.HasPrefix(want, s.Error.Code) {
				t.Errorf("got %+v, want the line and its problem", s)
			}
			if s.Written < 1500 || s.Written > 1503 {
				t.Errorf("got %d rows, want all before the line", s.Written)
			}
		})
	}
}

func TestImport_GoodLinesOfManyForms(t *testing.T) {
	for _, c := range []struct {
		name, mediaType, body string
		written               int64
	}{
		{"nothing", ndjsonType, "", 0},
		{"empty lines", ndjsonType, "\n \n\t\r\n\n", 0},
		{"without the last end", ndjsonType, `{"id":1}` + "\n" + `{"id":2}`, 2},
		{"CR LF", ndjsonType, `{"id":1}` + "\r\n\r\n" + `{"id":2}` + "\r\n", 2},
		{"byte order mark", ndjsonType, "\xef\xbb\xbf" + `{"id":1}` + "\n", 1},
		{"spaces", ndjsonType, "  { \"id\" : 1 }\t\n", 1},
		{"as long as may be", ndjsonType, `{"id":1` + strings.Repeat(" ", maxLineBytes-8) + "}\n", 1},
		{"the ends of exports", ndjsonType, `{"id":1}` + "\n" + `{"complete":true,"rows":1}` + "\n" + `{"id":2}` + "\n" + `{"complete":true,"rows":1}` + "\n", 2},
		{"CSV without rows", csvType, "id\n", 0},
		{"CSV with some columns", csvType, "department,id\n2,1\n3,2\n", 2},
		{"CSV with quotes and CR LF", csvType, "\xef\xbb\xbf\"id\",\"first\"\r\n\"1\",\"a,\r\n\"\"b\"\"\"\r\n2,\r\n", 2},
		{"CSV without the last end", csvType, "id,first\n1,\"a\"", 1},
		{"CSV with empty lines", csvType, "id\n\n1\n\r\n2\n\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newStreamBench(t, Options{})
			a := b.importText("", c.body, "Content-Type: "+c.mediaType)
			if s := a.summary(t); !s.Complete || s.Written != c.written || s.Rows != c.written || len(b.stored()) != int(c.written) {
				t.Errorf("got %s", a.text)
			}
		})
	}
}

func TestImport_CSV_TellsNullFromEmptyText(t *testing.T) {
	b := newStreamBench(t, Options{})
	b.importText("", "id,first,last,city,started\n7,,\"\",\" a \",2020-01-02\n", "Content-Type: text/csv; charset=UTF-8; header=present")
	e := b.stored()[7]
	if e.First != nil || e.Last == nil || *e.Last != "" || *e.City != " a " || e.Started.String() != "2020-01-02" || e.Department != 1 {
		t.Errorf("got %s", encodeEmployee(&e))
	}
}

func TestImport_OfCompressedDataThatIsCutOff(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		text := packed(t, encoding, rowsFrom(1, 30_000))
		b := newStreamBench(t, Options{})
		a := b.importText("", text[:len(text)/2], "Content-Encoding: "+encoding)
		if s := a.summary(t); s.Complete || s.Error.Code != "invalid_body" || s.Written < 1000 || s.Written != s.Rows || len(b.stored()) != int(s.Written) {
			t.Errorf("%s: got %s", encoding, a.text)
		}
	}
}

func TestImport_OfABomb(t *testing.T) {
	b := newStreamBench(t, Options{})
	a := b.importText("?on_error=continue", packed(t, "zstd", strings.Repeat(" ", 64<<20)), "Content-Encoding: zstd")
	if !strings.Contains(a.text, `"code":"invalid_body"`) || !strings.Contains(a.text, "more than 1000 times") {
		t.Errorf("got %d %s", a.status, a.text)
	}
}

// FuzzImportLine: the short way and the thorough one agree, and nothing panics.
func FuzzImportLine(f *testing.F) {
	f.Add([]byte(`{"id":1,"first":"A","started":"2020-01-02","department":2}`))
	for _, c := range wrongLines {
		for line := range strings.Lines(c.body) {
			if len(line) < 1000 {
				f.Add([]byte(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := newRowReader(ndjsonType, strings.NewReader("")).(*ndjsonReader)
		short, err := r.row(line)
		thorough, wantErr := r.examined(line)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: got %v, want %v", line, err, wantErr)
		}
		if err == nil && string(encodeEmployee(&short)) != string(encodeEmployee(&thorough)) {
			t.Fatalf("%q: got %s, want %s", line, encodeEmployee(&short), encodeEmployee(&thorough))
		}
	})
}
