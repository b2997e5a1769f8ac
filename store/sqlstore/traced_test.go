package sqlstore_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/tracing"
)

// spans is a tracer that keeps what ended.
type spans struct{ ended []string }

type span struct {
	all  *spans
	name string
}

func (s *spans) Start(_ context.Context, _ tracing.Context, start tracing.Start) tracing.Span {
	return &span{s, start.Name}
}

func (s *span) Context() tracing.Context {
	return tracing.Context{TraceID: [16]byte{1}, SpanID: [8]byte{2}, Sampled: true}
}
func (s *span) Rename(string)    {}
func (s *span) Set(...slog.Attr) {}
func (s *span) End(_ time.Time, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	s.all.ended = append(s.all.ended, s.name+" "+outcome)
}

func TestTrace_GoesOnInAComment(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	for _, test := range []struct {
		name, header, want string
		tracer             tracing.Tracer
	}{
		{name: "no trace"},
		{name: "not sampled", header: parent + "00"},
		{name: "sampled", header: parent + "01", want: " /*traceparent='" + parent + "01'*/"},
		{name: "own spans", tracer: &spans{}, want: " /*traceparent='00-01000000000000000000000000000000-0200000000000000-01'*/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := startServer(t)
			s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
			ctx, _ := tracing.Join(t.Context(), test.tracer, tracing.Parse(test.header, ""), tracing.Start{})
			if err := s.Create(ctx, employee(1)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(ctx, 1); err != nil {
				t.Fatal(err)
			}
			for _, verb := range []string{"INSERT", "SELECT"} {
				var got []string
				for _, request := range server.requests() {
					if strings.HasPrefix(request, "EXECUTE "+verb) && strings.Contains(request, "employee") {
						got = append(got, request)
					}
				}
				if len(got) != 1 || strings.Contains(got[0], "traceparent") != (test.want != "") || !strings.HasSuffix(got[0], test.want) {
					t.Errorf("got %q, want one that ends with %q", got, test.want)
				}
			}
			if tracer, ok := test.tracer.(*spans); ok {
				if got, want := strings.Join(tracer.ended, ", "), "sql INSERT done, sql SELECT done"; got != want {
					t.Errorf("got spans %s, want %s", got, want)
				}
			}
		})
	}
}
