package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/tracing"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// keptSpans is a tracer that keeps a line for each span that has ended.
type keptSpans struct{ lines []string }

type keptSpan struct {
	all    *keptSpans
	name   string
	parent tracing.Context
	attrs  []string
}

func (k *keptSpans) Start(_ context.Context, remote tracing.Context, s tracing.Start) tracing.Span {
	return &keptSpan{all: k, name: s.Name, parent: remote}
}

func (s *keptSpan) Context() tracing.Context {
	return tracing.Context{TraceID: s.parent.TraceID, SpanID: [8]byte{9}, Sampled: true}
}
func (s *keptSpan) Rename(name string) { s.name = name }
func (s *keptSpan) Set(attrs ...slog.Attr) {
	for _, a := range attrs {
		if a.Key != "ndbgate.request_id" {
			s.attrs = append(s.attrs, a.String())
		}
	}
}

func (s *keptSpan) End(_ time.Time, err error) {
	s.all.lines = append(s.all.lines, fmt.Sprintf("%s below %s: %s: %t", s.name, s.parent.Trace(), strings.Join(s.attrs, " "), err == nil))
}

// traced answers one request of a gateway with a tracer, and returns its log.
func traced(t *testing.T, opts Options, path string, headers http.Header) (log string) {
	t.Helper()
	b := newBench(t)
	var kept strings.Builder
	opts.Logger = slog.New(slog.NewJSONHandler(&kept, nil))
	backends := store.NewRegistry("sql")
	backends.Add("sql", b.rows)
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Header = headers
	New(backends, opts).ServeHTTP(httptest.NewRecorder(), r)
	return kept.String()
}

func TestTrace_OfARequest(t *testing.T) {
	for _, test := range []struct {
		name    string
		path    string
		headers http.Header
		span    string
		logged  string
	}{
		{
			"of the client", "/v1/employees/1",
			http.Header{"Traceparent": {traceparent}},
			"GET /v1/employees/{id} below 0af7651916cd43dd8448eb211c80319c: http.request.method=GET http.route=/v1/employees/{id} " +
				"http.response.status_code=404 ndbgate.backend=sql error.type=not_found: true",
			`"trace_id":"0af7651916cd43dd8448eb211c80319c"`,
		},
		{
			"two parents are none", "/nowhere",
			http.Header{"Traceparent": {traceparent, traceparent}},
			"GET unmatched below : http.request.method=GET http.route=unmatched http.response.status_code=404 ndbgate.backend= error.type=route_not_found: true",
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var kept keptSpans
			log := traced(t, Options{Tracer: &kept}, test.path, test.headers)
			if !slices.Equal(kept.lines, []string{test.span}) {
				t.Errorf("got spans\n%s\nwant\n%s", strings.Join(kept.lines, "\n"), test.span)
			}
			for name, log := range map[string]string{"with a tracer": log, "without one": traced(t, Options{}, test.path, test.headers)} {
				if strings.Contains(log, "trace_id") != (test.logged != "") || !strings.Contains(log, test.logged) {
					t.Errorf("%s: got the log %s, want %s in it", name, log, test.logged)
				}
			}
		})
	}
}

func TestSlowRequest_IsWarnedOf(t *testing.T) {
	for _, test := range []struct {
		name string
		path string
		slow time.Duration
		want bool
	}{
		{"no limit", "/v1/employees/1", 0, false},
		{"quick", "/v1/employees/1", time.Hour, false},
		{"slow", "/v1/employees/1", time.Nanosecond, true},
		{"a stream", "/v1/employees:export", time.Nanosecond, false},
	} {
		log := traced(t, Options{SlowRequest: test.slow}, test.path, http.Header{})
		if got := strings.Contains(log, `"level":"WARN","msg":"request"`) && strings.Contains(log, `"slow":true`); got != test.want {
			t.Errorf("%s: got the log %s", test.name, log)
		}
	}
}
