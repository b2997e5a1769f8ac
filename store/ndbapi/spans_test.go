package ndbapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/tracing"
)

// spans is a tracer that keeps a line for each span of a call that has ended.
type spans struct{ lines []string }

type span struct {
	all   *spans
	start tracing.Start
	attrs []string
}

func (s *spans) Start(_ context.Context, _ tracing.Context, start tracing.Start) tracing.Span {
	return &span{all: s, start: start}
}

func (s *span) Context() tracing.Context {
	return tracing.Context{TraceID: [16]byte{1}, SpanID: [8]byte{2}, Sampled: true}
}

func (s *span) Rename(string) {}

func (s *span) Set(attrs ...slog.Attr) {
	for _, a := range attrs {
		if a.Key == "ndb.coordinator_node" || a.Key == "ndb.api_node" {
			s.attrs = append(s.attrs, a.Key)
			continue
		}
		s.attrs = append(s.attrs, a.String())
	}
}

func (s *span) End(at time.Time, err error) {
	if at.Before(s.start.At) {
		s.attrs = append(s.attrs, "ended before it began")
	}
	s.all.lines = append(s.all.lines, fmt.Sprintf("%s: %s: %t", s.start.Name, strings.Join(s.attrs, " "), err == nil))
}

func TestSpans_TellWhatACallCost(t *testing.T) {
	s := openOn(t, startCluster(t), quiet, func(cfg *ndbapi.Config) { cfg.Trace = ndbapi.Spans() })
	must(t, s.Create(t.Context(), full(t, 7))) // not traced
	var got spans
	ctx, _ := tracing.Join(t.Context(), &got, tracing.Context{}, tracing.Start{Name: "request"})
	if _, err := s.Get(ctx, 7); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(ctx, full(t, 7)); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("got error %v", err)
	}
	const nodes = "ndb.coordinator_node ndb.api_node"
	want := []string{
		"ndb read: db.system.name=ndb db.operation.name=read ndb.round_trips=1 ndb.retries=0 ndb.operations=1 db.collection.name=employee " + nodes + ": true",
		"ndb insert: db.system.name=ndb db.operation.name=insert ndb.round_trips=1 ndb.retries=0 ndb.operations=1 db.collection.name=employee " + nodes + ": false",
	}
	if !slices.Equal(got.lines, want) {
		t.Errorf("got spans\n%s\nwant\n%s", strings.Join(got.lines, "\n"), strings.Join(want, "\n"))
	}
}
