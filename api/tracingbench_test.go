package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
	"github.com/ndbgate/ndbgate/tracing"
)

// freeTracer is a tracer whose spans cost nothing; those of a tracer that is nil
// are not recorded.
type freeTracer struct{ span tracing.Span }

func (f freeTracer) Start(context.Context, tracing.Context, tracing.Start) tracing.Span {
	return f.span
}

type freeSpan struct{}

func (freeSpan) Context() tracing.Context { return tracing.Parse(traceparent, "") }
func (freeSpan) Rename(string)            {}
func (freeSpan) Set(...slog.Attr)         {}
func (freeSpan) End(time.Time, error)     {}

// BenchmarkTracing is a request over memstore: what it costs to look for a trace, to
// pass one on, and to record it, without what the tracer itself costs.
func BenchmarkTracing(b *testing.B) {
	for _, bench := range []struct {
		name   string
		tracer tracing.Tracer
		header http.Header
	}{
		{"off", nil, http.Header{}},
		{"off/traceparent", nil, http.Header{"Traceparent": {traceparent}}},
		{"on/not-recorded", freeTracer{}, http.Header{"Traceparent": {traceparent}}},
		{"on/recorded", freeTracer{freeSpan{}}, http.Header{"Traceparent": {traceparent}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			backends := store.NewRegistry("memory")
			backends.Add("memory", &memstore.Store{})
			router := New(backends, Options{Tracer: bench.tracer})
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/v1/employees/1", http.NoBody)
				r.Header = bench.header
				router.ServeHTTP(&discard{header: http.Header{}}, r)
			}
		})
	}
}
