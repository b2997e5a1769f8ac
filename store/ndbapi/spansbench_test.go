package ndbapi_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/tracing"
)

// freeSpans is a tracer whose spans cost nothing.
type freeSpans struct{}

func (freeSpans) Start(context.Context, tracing.Context, tracing.Start) tracing.Span {
	return freeSpans{}
}
func (freeSpans) Context() tracing.Context { return tracing.Context{} }
func (freeSpans) Rename(string)            {}
func (freeSpans) Set(...slog.Attr)         {}
func (freeSpans) End(time.Time, error)     {}

// BenchmarkSpans is a read of a cluster in this process: without spans, with those
// of requests that are not traced, and with recorded ones, without what the tracer
// itself costs.
func BenchmarkSpans(b *testing.B) {
	traced, _ := tracing.Join(context.Background(), freeSpans{}, tracing.Context{}, tracing.Start{})
	for _, bench := range []struct {
		name  string
		trace *ndb.Trace
		ctx   context.Context
	}{
		{"none", nil, context.Background()},
		{"not-traced", ndbapi.Spans(), context.Background()},
		{"recorded", ndbapi.Spans(), traced},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := openOn(b, startCluster(b), quiet, func(cfg *ndbapi.Config) { cfg.Trace = bench.trace })
			if err := s.Create(b.Context(), models.Employee{ID: 7, Department: 1}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Get(bench.ctx, 7); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
