package api

import (
	"errors"
	"net/http"
	"reflect"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

// What the decoder takes comes back from its encoding as it was; what it
// refuses is a problem.
func FuzzDecodeMembers(f *testing.F) {
	for _, body := range []string{
		`{}`, ada, `{"first":"\ud83d\ude00","last":null}`, `{"department":1e3}`, `{"id":9223372036854775808}`,
		`{"first":1,"first":2}`, `{"started":"2024-02-30"}`, `[[[`, `{"a":{"b":[1,2]}} x`, "{\"city\":\"\xff\"}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := decodeMembers(body, models.NewEmployee())
		if err == nil {
			err = m.check(m.employee.Validate())
		}
		if err != nil {
			if p := (*problem)(nil); !errors.As(err, &p) {
				t.Fatalf("got error %v, want a problem", err)
			}
			return
		}
		again, err := decodeMembers(encodeEmployee(&m.employee), models.NewEmployee())
		if err != nil || !reflect.DeepEqual(again.employee, m.employee) {
			t.Fatalf("got %+v, error %v, want %+v", again, err, m.employee)
		}
	})
}

func FuzzParseETags(f *testing.F) {
	for _, header := range []string{"*", `"a"`, `W/"a" , "b"`, `"a",,"b",`, `"a" "b"`, `W/`, `"`, ","} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got, err := parseETags(http.Header{"If-Match": {header}}, "If-Match")
		if err != nil {
			return
		}
		if !got.given() {
			t.Fatalf("%q asks for nothing: a precondition was lost", header)
		}
		for _, tag := range got.tags {
			if again, err := parseETags(http.Header{"If-Match": {tag}}, "If-Match"); err != nil || !reflect.DeepEqual(again.tags, []string{tag}) {
				t.Fatalf("tag %q of %q: got %q, error %v", tag, header, again.tags, err)
			}
		}
	})
}

func FuzzParseListParameters(f *testing.F) {
	for _, query := range []string{"", "city=Oslo&page_size=2", "page_token=AuCTC0OXjvZ4ASLkuSAr&city=Oslo&page_size=1", "filter=city%3D%22a*%22&order_by=city+desc&fields=id&count=true", "a=%zz", "id=+1&started=2020-01-01", "city=a&city=b"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, err := parseListParameters(query)
		if err != nil {
			if asked := (*problem)(nil); !errors.As(err, &asked) {
				t.Fatalf("got error %v, want a problem", err)
			}
			return
		}
		if p.query.Limit < 0 || p.query.Limit > maxPageSize || p.query.Limit == 0 && !p.count {
			t.Fatalf("got %+v", p)
		}
	})
}
