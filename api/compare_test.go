package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// newPair is a bench over two roads of which sql is the default; Options may
// have anything but a logger.
func newPair(t testing.TB, ndb, sql store.Backend, opts Options) *bench {
	t.Helper()
	backends := store.NewRegistry("sql")
	backends.Add("ndb", ndb)
	backends.Add("sql", sql)
	var log bytes.Buffer
	opts.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	return &bench{t: t, router: New(backends, opts), log: &log}
}

// holding is a store with those employees.
func holding(t testing.TB, employees ...models.Employee) *memstore.Store {
	t.Helper()
	rows := &memstore.Store{}
	for _, e := range employees {
		if err := rows.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

func named(id int64, first string) models.Employee {
	return models.Employee{ID: id, First: &first, Department: 1}
}

var anyDuration = regexp.MustCompile(`dur=[0-9]+\.[0-9]{3}`)

// withoutTimes makes durations comparable.
func withoutTimes(text string) string { return anyDuration.ReplaceAllString(text, "dur=T") }

const compareNDB = "X-Backend-Compare: ndb"

func TestCompare_TellsWhatTheOtherRoadSays(t *testing.T) {
	same, other := named(1, "Ada"), named(1, "Zoe")
	tag := etagOf(encodeEmployee(&same))
	down := store.Unavailable{Reason: "down"}
	fails := func(err error) store.Backend {
		return &hookStore{hook: func(context.Context) error { return err }}
	}
	cases := []struct {
		name     string
		ndb, sql store.Backend
		q        request
		status   int
		want     string // X-Backend-Compare
	}{
		{"same row", holding(t, same), holding(t, same), request{path: "/v1/employees/1"}, 200, "ndb; result=agree; dur=T; status=200"},
		{"another row", holding(t, other), holding(t, same), request{path: "/v1/employees/1"}, 200, "ndb; result=differ; dur=T; status=200"},
		{"no row there", holding(t), holding(t, same), request{path: "/v1/employees/1"}, 200, "ndb; result=differ; dur=T; status=404"},
		{"no row here", holding(t, same), holding(t), request{path: "/v1/employees/1"}, 404, "ndb; result=differ; dur=T; status=200"},
		{"no row at all", holding(t), holding(t), request{path: "/v1/employees/1"}, 404, "ndb; result=agree; dur=T; status=404"},
		{"both unchanged", holding(t, same), holding(t, same), request{path: "/v1/employees/1", headers: []string{"If-None-Match: " + tag}}, 304, "ndb; result=agree; dur=T; status=304"},
		{"one unchanged", holding(t, other), holding(t, same), request{path: "/v1/employees/1", headers: []string{"If-None-Match: " + tag}}, 304, "ndb; result=differ; dur=T; status=200"},
		{"both unchanged, but not the same", holding(t, other), holding(t, same), request{path: "/v1/employees/1", headers: []string{"If-None-Match: *"}}, 304, "ndb; result=differ; dur=T; status=304"},
		{"same list", holding(t, same, named(2, "B")), holding(t, same, named(2, "B")), request{path: "/v1/employees?page_size=1"}, 200, "ndb; result=agree; dur=T; status=200"},
		{"only another next page", holding(t, same), holding(t, same, named(2, "B")), request{path: "/v1/employees?page_size=1"}, 200, "ndb; result=differ; dur=T; status=200"},
		{"head", holding(t, same), holding(t, same), request{method: "HEAD", path: "/v1/employees/1"}, 200, "ndb; result=agree; dur=T; status=200"},
		{"other road down", down, holding(t, same), request{path: "/v1/employees/1"}, 200, "ndb; result=failed; dur=T; status=503"},
		{"other road broken", fails(errors.New("a bug")), holding(t, same), request{path: "/v1/employees/1"}, 200, "ndb; result=failed; dur=T; status=500"},
		{"chosen road down", holding(t, same), down, request{path: "/v1/employees/1"}, 503, "ndb; result=failed; dur=T; status=200"},
		{"both roads down", down, down, request{path: "/v1/employees/1"}, 503, "ndb; result=failed; dur=T; status=503"},
		{"same refusal", fails(store.ErrInvalid), fails(store.ErrInvalid), request{path: "/v1/employees/1"}, 400, "ndb; result=agree; dur=T; status=400"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newPair(t, c.ndb, c.sql, Options{})
			c.q.method = orGet(c.q.method)
			c.q.headers = append(c.q.headers, "X-Request-Id: r1")
			plain := b.do(c.q)
			c.q.headers = append(c.q.headers, compareNDB)
			w := b.do(c.q)
			if got := withoutTimes(w.Header().Get("X-Backend-Compare")); got != c.want || w.Code != c.status {
				t.Errorf("got %d and %q, want %d and %q", w.Code, got, c.status, c.want)
			}
			if got, want := withoutTimes(w.Header().Get("Server-Timing")), `backend;desc="sql";dur=T, compare;desc="ndb";dur=T, total;dur=T`; got != want {
				t.Errorf("Server-Timing: got %q, want %q", got, want)
			}
			if w.Header().Get("X-Backend") != "sql" || !bytes.Equal(w.Body.Bytes(), plain.Body.Bytes()) || w.Header().Get("ETag") != plain.Header().Get("ETag") {
				t.Errorf("got %v %s, want what the chosen road says: %v %s", w.Header(), w.Body, plain.Header(), plain.Body)
			}
		})
	}
}

func orGet(method string) string {
	if method == "" {
		return http.MethodGet
	}
	return method
}

// What the gateway refuses by itself asks no road and compares nothing.
func TestCompare_RefusedRequest_ComparesNothing(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := newPair(t, holding(t), holding(t), Options{Metrics: registry})
	w := b.do(request{method: "GET", path: "/v1/employees?page_size=0", headers: []string{compareNDB}})
	if got := w.Header().Get("X-Backend-Compare"); w.Code != 400 || got != "" {
		t.Errorf("got %d and %q, want 400 and nothing", w.Code, got)
	}
	if n, err := testutil.GatherAndCount(registry, "ndbgate_comparisons_total"); err != nil || n != 0 {
		t.Errorf("got %d series, %v, want none", n, err)
	}
}

func TestCompare_Difference_IsLoggedWithoutData(t *testing.T) {
	const id = "request-7"
	ours, theirs := named(1, "Secret"), named(1, "Hidden")
	b := newPair(t, holding(t, theirs), holding(t, ours), Options{})
	b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{compareNDB, "X-Request-Id: " + id}})
	b.do(request{method: "GET", path: "/v1/employees?first=Secret", headers: []string{compareNDB}})
	for _, want := range []string{
		`"level":"WARN"`, `"msg":"answers differ"`, `"request_id":"` + id + `"`, `"backend":"sql"`, `"compared":"ndb"`,
		`"digest":"` + digestOf(encodeEmployee(&ours)) + `"`, `"compared_digest":"` + digestOf(encodeEmployee(&theirs)) + `"`,
		`"route":"/v1/employees/{id}"`,
	} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, b.log)
		}
	}
	for _, data := range []string{"Secret", "Hidden"} {
		if strings.Contains(b.log.String(), data) {
			t.Errorf("the log has data of a row:\n%s", b.log)
		}
	}
}

func TestCompare_Failure_IsLoggedWithItsCause(t *testing.T) {
	b := newPair(t, store.Unavailable{Reason: "no management server"}, holding(t), Options{})
	b.do(request{method: "GET", path: "/v1/employees", headers: []string{compareNDB}})
	for _, want := range []string{`"msg":"comparison failed"`, "no management server", `"compared_status":503`} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, b.log)
		}
	}
	if strings.Contains(b.log.String(), `"level":"ERROR"`) {
		t.Errorf("a request that was answered well is logged as an error:\n%s", b.log)
	}
}

func TestCompare_Metrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := newPair(t, holding(t, named(1, "Ada"), named(2, "B")), holding(t, named(1, "Ada"), named(2, "C")), Options{Metrics: registry})
	for _, path := range []string{"/v1/employees/1", "/v1/employees/2", "/v1/employees/3", "/v1/employees/3"} {
		b.do(request{method: "GET", path: path, headers: []string{compareNDB}})
	}
	b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{"X-Backend: ndb", "X-Backend-Compare: sql"}})
	const want = `
# HELP ndbgate_comparisons_total Reads with X-Backend-Compare, by the backend that answered, the one compared with, and the result.
# TYPE ndbgate_comparisons_total counter
ndbgate_comparisons_total{backend="ndb",compared="sql",result="agree"} 1
ndbgate_comparisons_total{backend="sql",compared="ndb",result="agree"} 3
ndbgate_comparisons_total{backend="sql",compared="ndb",result="differ"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "ndbgate_comparisons_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "ndbgate_comparison_duration_seconds"); err != nil || n != 2 {
		t.Errorf("histograms: got %d, %v, want one for each pair", n, err)
	}
	// A problem of the road that is only compared is nobody's answer.
	const problems = `
# HELP ndbgate_http_problems_total Answers that were problems, by their code.
# TYPE ndbgate_http_problems_total counter
ndbgate_http_problems_total{backend="sql",code="not_found"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(problems), "ndbgate_http_problems_total"); err != nil {
		t.Error(err)
	}
}

// waitsUntil is a Get that takes as long as it is told, and no longer than its
// context.
func waitsUntil(d time.Duration) store.Backend {
	return &hookStore{hook: func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return store.ErrNotFound
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

func TestCompare_BothRoadsAreAskedAtOnce(t *testing.T) {
	cases := []struct {
		name      string
		ndb, sql  time.Duration
		took      time.Duration // the request
		want      string
		wantsCode int
	}{
		{"other slower", 3 * time.Second, time.Second, 3 * time.Second, "ndb; result=agree; dur=3000.000; status=404", 404},
		{"chosen slower", time.Second, 3 * time.Second, 3 * time.Second, "ndb; result=agree; dur=1000.000; status=404", 404},
		{"other silent", time.Hour, time.Second, defaultRequestTimeout, "ndb; result=failed; dur=10000.000; status=504", 404},
		{"chosen silent", time.Second, time.Hour, defaultRequestTimeout, "ndb; result=failed; dur=1000.000; status=404", 504},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newPair(t, waitsUntil(c.ndb), waitsUntil(c.sql), Options{})
				begun := time.Now()
				w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{compareNDB}})
				if got := w.Header().Get("X-Backend-Compare"); got != c.want || w.Code != c.wantsCode {
					t.Errorf("got %d and %q, want %d and %q", w.Code, got, c.wantsCode, c.want)
				}
				if took := time.Since(begun); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// A road that outstays the deadline, which it must not, holds up no answer; and
// the gateway does wait for it.
func TestCompare_OtherRoadOutstaysTheDeadline_AnswerLeavesInTime(t *testing.T) {
	release := make(chan struct{})
	stuck := &hookStore{hook: func(context.Context) error {
		<-release
		return store.ErrNotFound
	}}
	backends := store.NewRegistry("sql")
	backends.Add("ndb", stuck)
	backends.Add("sql", holding(t, named(1, "Ada")))
	server := httptest.NewServer(New(backends, Options{RequestTimeout: 50 * time.Millisecond}))
	defer server.Close()
	defer close(release) // before server.Close, which waits for the handler
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/employees/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Backend-Compare", "ndb")
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := withoutTimes(answer.Header.Get("X-Backend-Compare"))
	if want := "ndb; result=failed; dur=T; status=504"; answer.StatusCode != 200 || got != want {
		t.Errorf("got %d and %q, want 200 and %q", answer.StatusCode, got, want)
	}
}

func TestCompare_TooManyAtOnce_AreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		b := newPair(t, waitsUntil(time.Second), waitsUntil(0), Options{MaxComparisons: 2, Metrics: registry})
		results := make(chan string, 3)
		ask := func() {
			w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{compareNDB}})
			results <- fmt.Sprint(w.Code, " ", withoutTimes(w.Header().Get("X-Backend-Compare")))
		}
		for range 2 {
			go ask()
		}
		synctest.Wait()
		begun := time.Now()
		ask()
		if got, want := <-results, "404 ndb; result=skipped; reason=busy"; got != want || time.Since(begun) != 0 {
			t.Errorf("the third: got %q after %v, want %q at once", got, time.Since(begun), want)
		}
		for range 2 {
			if got, want := <-results, "404 ndb; result=agree; dur=T; status=404"; got != want {
				t.Errorf("the first two: got %q, want %q", got, want)
			}
		}
		ask()
		if got, want := <-results, "404 ndb; result=agree; dur=T; status=404"; got != want {
			t.Errorf("once there is room: got %q, want %q", got, want)
		}
		const want = `
# HELP ndbgate_comparisons_total Reads with X-Backend-Compare, by the backend that answered, the one compared with, and the result.
# TYPE ndbgate_comparisons_total counter
ndbgate_comparisons_total{backend="sql",compared="ndb",result="agree"} 3
ndbgate_comparisons_total{backend="sql",compared="ndb",result="skipped"} 1
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "ndbgate_comparisons_total"); err != nil {
			t.Error(err)
		}
	})
}

func TestCompare_PanicOnEitherRoad_IsItsFailureAlone(t *testing.T) {
	panics := &hookStore{hook: func(context.Context) error { panic("boom") }}
	b := newPair(t, panics, holding(t, named(1, "Ada")), Options{})
	w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{compareNDB}})
	if got := withoutTimes(w.Header().Get("X-Backend-Compare")); w.Code != 200 || got != "ndb; result=failed; dur=T; status=500" {
		t.Errorf("other road: got %d and %q", w.Code, got)
	}
	if !strings.Contains(b.log.String(), "boom") || !strings.Contains(b.log.String(), "compare_test.go") {
		t.Errorf("the log lacks the panic with its stack:\n%s", b.log)
	}
	w = b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{"X-Backend: ndb", "X-Backend-Compare: sql"}})
	if p := problemOf(t, w); w.Code != 500 || p.Code != "internal" {
		t.Errorf("chosen road: got %d %s, want 500", w.Code, w.Body)
	}
}

// A panic of the chosen road calls off the other one.
func TestCompare_ChosenPanics_OtherIsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := &hookStore{hook: func(context.Context) error { panic("boom") }}
		b := newPair(t, waitsUntil(time.Hour), panics, Options{})
		begun := time.Now()
		w := b.do(request{method: "GET", path: "/v1/employees/1", headers: []string{compareNDB}})
		if w.Code != 500 || time.Since(begun) != 0 {
			t.Errorf("got %d after %v, want 500 at once", w.Code, time.Since(begun))
		}
	})
}
