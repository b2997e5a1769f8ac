package api

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store"
)

func fullRow(i int) string {
	return fmt.Sprintf(`{"id":%d,"first":"First %d","last":"Last name %d","city":"Trondheim","started":"2010-02-03","ended":"2020-11-12","department":%d}`+"\n", i, i, i, 1+i%9)
}

// BenchmarkImport is what an import takes of the gateway alone, a row at a time.
func BenchmarkImport(b *testing.B) {
	backends := store.NewRegistry("sql")
	backends.Add("sql", &sinkStore{})
	router := New(backends, Options{})
	var rows strings.Builder
	for i := range b.N {
		rows.WriteString(fullRow(i + 1))
	}
	b.SetBytes(int64(rows.Len() / b.N))
	b.ReportAllocs()
	b.ResetTimer()
	r := httptest.NewRequest("POST", "/v1/employees:import", strings.NewReader(rows.String()))
	r.Header.Set("Content-Type", ndjsonType)
	w := httptest.NewRecorder()
	router.ServeHTTP(w, r)
	if !bytes.Contains(w.Body.Bytes(), []byte(fmt.Sprintf(`"written":%d`, b.N))) {
		b.Fatal(w.Body)
	}
}

// BenchmarkExport is the same of an export.
func BenchmarkExport(b *testing.B) {
	for _, mediaType := range []string{ndjsonType, csvType} {
		b.Run(mediaType, func(b *testing.B) {
			d := &pagesStore{last: int64(b.N)}
			backends := store.NewRegistry("sql")
			backends.Add("sql", d)
			r := httptest.NewRequest("GET", "/v1/employees:export", nil)
			r.Header.Set("Accept", mediaType)
			b.ReportAllocs()
			b.ResetTimer()
			New(backends, Options{}).ServeHTTP(&discard{header: http.Header{}}, r)
		})
	}
}
