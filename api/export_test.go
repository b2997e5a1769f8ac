package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

func (b *streamBench) export(query string, headers ...string) (*http.Response, string, error) {
	b.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	resp, err := client.Do(b.request("GET", "/v1/employees:export"+query, nil, headers...))
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

func (b *streamBench) wholeExport(query string, headers ...string) string {
	b.t.Helper()
	resp, text, err := b.export(query, headers...)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("got %d %.500s, %v", resp.StatusCode, text, err)
	}
	if got := resp.Trailer.Get("X-Export-Complete"); got != "true" {
		b.t.Errorf("X-Export-Complete: got %q", got)
	}
	return text
}

// store stores a valid employee.
func (b *streamBench) store(employees ...models.Employee) {
	b.t.Helper()
	for i := range employees {
		if err := employees[i].Validate(); err != nil {
			b.t.Fatal(err)
		}
		if err := b.rows.Create(b.t.Context(), employees[i]); err != nil {
			b.t.Fatal(err)
		}
	}
}

func textPtr(s string) *string { return &s }

func datePtr(s string) *models.Date {
	d, err := models.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return &d
}

// odd are employees with values of all kinds that forms of text may lose.
func odd() []models.Employee {
	texts := []*string{
		nil, textPtr(""), textPtr(" "), textPtr("a,b"), textPtr(`"`), textPtr(`""`), textPtr("a\nb\r\nc\r"), textPtr("NULL"), textPtr(`\N`),
		textPtr("東京 Ødegård"), textPtr("\u0000\u2028\ufeff"), textPtr("'=1+1"), textPtr("<&>"), textPtr(strings.Repeat("é", 64)),
	}
	dates := []*models.Date{nil, datePtr("1000-01-01"), datePtr("2024-02-29"), datePtr("9999-12-31")}
	var all []models.Employee
	for i, first := range texts {
		all = append(all, models.Employee{
			ID: int64(i + 1), First: first, Last: texts[(i+1)%len(texts)], City: texts[(i+5)%len(texts)],
			Started: dates[i%2], Ended: dates[(i%2)*2+(i/2%2)], Department: int32(1 + i),
		})
	}
	all[0].Department = 1<<31 - 1
	last := models.NewEmployee()
	last.ID = 1<<63 - 1
	return append(all, last)
}

func TestExport_Forms(t *testing.T) {
	b := newStreamBench(t, Options{})
	b.store(
		models.Employee{ID: 2, First: textPtr("Ada, \"A\""), Last: textPtr(""), Started: datePtr("2020-01-02"), Department: 3},
		models.Employee{ID: 1, Department: 1},
	)
	const row1 = `{"id":1,"first":null,"last":null,"city":null,"started":null,"ended":null,"department":1}` + "\n"
	const row2 = `{"id":2,"first":"Ada, \"A\"","last":"","city":null,"started":"2020-01-02","ended":null,"department":3}` + "\n"
	for _, c := range []struct{ query, accept, mediaType, want string }{
		{"", "", ndjsonType, row1 + row2 + `{"complete":true,"rows":2}` + "\n"},
		{"?summary=true", "*/*", ndjsonType, row1 + row2 + `{"complete":true,"rows":2}` + "\n"},
		{"?summary=false", ndjsonType, ndjsonType, row1 + row2},
		{"?id=2&summary=false", ndjsonType, ndjsonType, row2},
		{"?summary=false&department=3&filter=" + url.QueryEscape(`first = "ada*" AND started > 2019-12-31`), ndjsonType, ndjsonType, row2},
		{"?city=x", "", ndjsonType, `{"complete":true,"rows":0}` + "\n"},
		{"", csvType, "text/csv; charset=utf-8; header=present", "id,first,last,city,started,ended,department\r\n1,,,,,,1\r\n2,\"Ada, \"\"A\"\"\",\"\",,2020-01-02,,3\r\n"},
		{"?city=x", csvType, "text/csv; charset=utf-8; header=present", "id,first,last,city,started,ended,department\r\n"},
	} {
		resp, text, err := b.export(c.query, "Accept: "+c.accept)
		if err != nil || text != c.want || resp.Header.Get("Content-Type") != c.mediaType {
			t.Errorf("%s %s: got %v, %s, %q", c.query, c.accept, err, resp.Header.Get("Content-Type"), text)
		}
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control: got %q", got)
		}
		if got := resp.Header.Values("Vary"); !slices.Equal(got, []string{varyOnRoad + ", Accept, Accept-Encoding"}) {
			t.Errorf("Vary: got %q", got)
		}
	}
}

// What is exported, imported elsewhere and exported again is the same to the
// byte, in every form.
func TestExport_ImportedElsewhere_GivesTheSame(t *testing.T) {
	for _, mediaType := range []string{ndjsonType, csvType} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			t.Run(mediaType+" "+encoding, func(t *testing.T) {
				from, to := newStreamBench(t, Options{}), newStreamBench(t, Options{})
				from.store(odd()...)
				accept := []string{"Accept: " + mediaType, "Accept-Encoding: " + encoding}
				resp, text, err := from.export("", accept...)
				if err != nil || resp.Header.Get("Content-Encoding") != strings.TrimPrefix(encoding, "identity") {
					t.Fatalf("got %v, %v", resp.Header, err)
				}
				s := to.importText("", text, "Content-Type: "+mediaType, "Content-Encoding: "+encoding).summary(t)
				if !s.Complete || s.Written != int64(len(odd())) {
					t.Fatalf("got %+v", s)
				}
				if got := to.stored(); !equalRows(got, from.stored()) {
					t.Errorf("the rows differ")
				}
				if again := to.wholeExport("", accept...); again != text {
					t.Errorf("got  %q\nwant %q", again, text)
				}
			})
		}
	}
}

func equalRows(a, b map[int64]models.Employee) bool {
	if len(a) != len(b) {
		return false
	}
	for id, e := range a {
		other := b[id]
		if !bytes.Equal(encodeEmployee(&e), encodeEmployee(&other)) {
			return false
		}
	}
	return true
}

func TestExport_OfSeveralPages_IsInTheOrderOfIDs(t *testing.T) {
	const n = 2*exportPageRows + 17
	for _, n := range []int{n, 2 * exportPageRows} {
		b := newStreamBench(t, Options{})
		for i := range n {
			b.store(models.Employee{ID: int64(n - i), Department: 1})
		}
		lines := strings.Split(b.wholeExport("?summary=false"), "\n")
		if len(lines) != n+1 {
			t.Fatalf("got %d lines, want %d", len(lines)-1, n)
		}
		for i, line := range lines[:n] {
			if want := fmt.Sprintf(`{"id":%d,`, i+1); !strings.HasPrefix(line, want) {
				t.Fatalf("line %d: got %s", i+1, line)
			}
		}
	}
}

func TestExport_BadRequests(t *testing.T) {
	for _, c := range []struct {
		query, header string
		status        int
		code, where   string
	}{
		{"", "Accept: application/json", 406, "not_acceptable", ""},
		{"", "Accept: text/html, application/xml;q=0.9", 406, "not_acceptable", ""},
		{"?page_size=10", "Accept: */*", 400, "invalid_parameter", "page_size invalid"},
		{"?salary=1&summary=maybe&id=x", "Accept: */*", 400, "invalid_parameter", "id invalid, salary invalid, summary invalid"},
		{"?city=a&city=b", "Accept: */*", 400, "invalid_parameter", "city repeated"},
		{"?filter=first", "Accept: */*", 400, "invalid_parameter", "filter syntax"},
		{"?city=%zz", "Accept: */*", 400, "invalid_parameter", ""},
		{"", "X-Durability: disk", 400, "invalid_header", "X-Durability unsupported"},
		{"", "X-Backend-Compare: sql", 400, "invalid_header", "X-Backend-Compare unsupported"},
		{"", "X-Backend: oracle", 400, "unknown_backend", ""},
		{"", "X-Backend: ndb", 503, "unavailable", ""},
	} {
		b := newStreamBench(t, Options{})
		resp, text, err := b.export(c.query, c.header)
		var p problemView
		if err != nil || json.Unmarshal([]byte(text), &p) != nil || resp.StatusCode != c.status || p.Code != c.code || p.where() != c.where {
			t.Errorf("%s %s: got %d %s, %v", c.query, c.header, resp.StatusCode, text, err)
		}
		if resp.Header.Get("Trailer") != "" || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("got %v", resp.Header)
		}
	}
}

func TestExport_Head(t *testing.T) {
	b := newStreamBench(t, Options{})
	b.store(models.Employee{ID: 1, Department: 1})
	resp, err := b.server.Client().Do(b.request("HEAD", "/v1/employees:export", nil, "Accept: text/csv"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), csvType) {
		t.Errorf("got %d %v", resp.StatusCode, resp.Header)
	}
}

// pagesStore gives rows that it makes, without end or up to a number.
type pagesStore struct {
	memstore.Store
	last   int64                                                   // ID
	before func(ctx context.Context, q models.EmployeeQuery) error // of each page; may be nil
}

func (p *pagesStore) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	if p.before != nil {
		if err := p.before(ctx, q); err != nil {
			return models.EmployeePage{}, err
		}
	}
	page := models.EmployeePage{Employees: make([]models.Employee, min(int64(q.Limit), p.last-afterID(q)))}
	id := afterID(q)
	for i := range page.Employees {
		id++
		page.Employees[i] = models.Employee{ID: id, First: textPtr(fmt.Sprint("First ", id)), City: textPtr("Trondheim"), Started: datePtr("2020-01-02"), Department: 1}
	}
	if id < p.last {
		page.Next = models.Cursor{id}
	}
	return page, nil
}

func afterID(q models.EmployeeQuery) int64 {
	if q.After == nil {
		return 0
	}
	return q.After[0].(int64)
}

func newPagesBench(t *testing.T, p *pagesStore, opts Options) *streamBench {
	t.Helper()
	return newStreamBenchOver(t, p, &p.Store, opts)
}

func TestExport_WaitsForARoadThatCannotServe(t *testing.T) {
	var calls atomic.Int64
	b := newPagesBench(t, &pagesStore{last: 3 * exportPageRows, before: func(context.Context, models.EmployeeQuery) error {
		switch calls.Add(1) {
		case 2, 3:
			return store.ErrUnavailable
		case 5:
			return context.DeadlineExceeded
		}
		return nil
	}}, Options{})
	if got := strings.Count(b.wholeExport("?summary=false"), "\n"); got != 3*exportPageRows {
		t.Errorf("got %d rows", got)
	}
}

// An export that fails on its way is cut off, and its last line says why.
func TestExport_ThatFails_IsNoWholeOne(t *testing.T) {
	for name, failure := range map[string]error{"down": store.ErrUnavailable, "bug": errors.New("a bug")} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			var calls atomic.Int64
			b := newPagesBench(t, &pagesStore{last: 3 * exportPageRows, before: func(context.Context, models.EmployeeQuery) error {
				if calls.Add(1) > 2 {
					return failure
				}
				return nil
			}}, Options{StreamPatience: firstStreamPause})
			_, text, err := b.export("", "Accept-Encoding: "+encoding)
			if err == nil {
				t.Fatalf("%s %s: got no error", name, encoding)
			}
			z, err := rowformat.NewReader(encoding, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(z)
			if err != nil {
				t.Errorf("%s %s: %v", name, encoding, err)
			}
			lines := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
			var end struct {
				Complete bool
				Rows     int
				Error    problemView
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"down": "unavailable", "bug": "internal"}[name]
			if end.Complete || end.Rows != 2*exportPageRows || end.Rows != len(lines)-1 || end.Error.Code != want || end.Error.RequestID == "" {
				t.Errorf("%s %s: got %+v after %d lines", name, encoding, end, len(lines)-1)
			}
			_ = z.Close()
		}
	}
}

func TestExport_OfAClientThatLeaves_Ends(t *testing.T) {
	reading := make(chan struct{})
	b := newPagesBench(t, &pagesStore{last: 1 << 40, before: func(ctx context.Context, q models.EmployeeQuery) error {
		if afterID(q) == 0 {
			return nil
		}
		close(reading)
		<-ctx.Done() // nothing more is found
		return ctx.Err()
	}}, Options{})
	conn := b.dial()
	if _, err := io.WriteString(conn, "GET /v1/employees:export HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-reading
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	b.server.Close()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the export ended after %v", took)
	}
}

func TestExport_OfAClientThatDoesNotRead_Ends(t *testing.T) {
	b := newPagesBench(t, &pagesStore{last: 1 << 40}, Options{StreamIdle: 100 * time.Millisecond})
	conn := b.dial()
	if _, err := io.WriteString(conn, "GET /v1/employees:export HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	begun := time.Now()
	b.server.Close() // waits for it
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the export ended after %v", took)
	}
}

// A client that reads slowly, but reads, gets all.
func TestExport_OfAClientThatReadsSlowly(t *testing.T) {
	const n = 60_000
	b := newPagesBench(t, &pagesStore{last: n}, Options{StreamIdle: 500 * time.Millisecond, RequestTimeout: 100 * time.Millisecond})
	resp, err := b.server.Client().Do(b.request("GET", "/v1/employees:export", nil, "Accept-Encoding: identity"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReaderSize(resp.Body, 64)
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	got := 0
	for ; ; got++ {
		if got%2000 == 0 {
			<-pause.C
		}
		if _, err := lines.ReadString('\n'); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
	}
	if got != n+1 {
		t.Errorf("got %d lines", got)
	}
}

func TestExport_EndsWhenTheGatewayStops(t *testing.T) {
	var b *streamBench
	b = newPagesBench(t, &pagesStore{last: 1 << 40, before: func(_ context.Context, q models.EmployeeQuery) error {
		if afterID(q) == 2*exportPageRows {
			close(b.stop)
		}
		return nil
	}}, Options{})
	_, text, err := b.export("", "Accept-Encoding: identity")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if last := lines[len(lines)-1]; err == nil || !strings.HasPrefix(last, `{"complete":false,"rows":`) || !strings.Contains(last, `"code":"stopping"`) {
		t.Errorf("got %v and %s", err, last)
	}
}

func TestExport_TakesLittleMemoryHoweverLongItIs(t *testing.T) {
	const n, most = 100_000, 8 << 20
	before := heapInUse()
	var peak atomic.Uint64
	b := newPagesBench(t, &pagesStore{last: n, before: func(context.Context, models.EmployeeQuery) error {
		peak.Store(max(peak.Load(), heapInUse()))
		return nil
	}}, Options{})
	resp, err := b.server.Client().Do(b.request("GET", "/v1/employees:export", nil, "Accept-Encoding: zstd"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	z, err := rowformat.NewReader("zstd", resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	bytes, err := io.Copy(io.Discard, z)
	if err != nil || bytes < most {
		t.Errorf("got %d bytes, %v", bytes, err)
	}
	if peak := peak.Load(); peak > before+most {
		t.Errorf("got %d MiB in use, %d before", peak>>20, before>>20)
	}
}

func TestStreams_AreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := newStreamBench(t, Options{Metrics: registry})
	b.importText("?on_error=continue", rowsFrom(1, 10)+"x\n")
	b.wholeExport("")
	const want = `
# HELP ndbgate_stream_rows_total Rows of imports (written, skipped, failed, unknown) and exports (read).
# TYPE ndbgate_stream_rows_total counter
ndbgate_stream_rows_total{backend="sql",outcome="failed"} 1
ndbgate_stream_rows_total{backend="sql",outcome="read"} 10
ndbgate_stream_rows_total{backend="sql",outcome="written"} 10
# HELP ndbgate_streams Imports and exports that run now.
# TYPE ndbgate_streams gauge
ndbgate_streams 0
`
	b.server.Close() // waits for the end of both
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "ndbgate_stream_rows_total", "ndbgate_streams"); err != nil {
		t.Error(err)
	}
}
