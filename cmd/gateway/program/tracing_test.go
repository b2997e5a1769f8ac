package program

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store/memstore"
	"github.com/ndbgate/ndbgate/tracing"
)

// countingTracer is a tracer whose spans are all ended at once.
type countingTracer struct{ began chan tracing.Start }

func (c countingTracer) Start(_ context.Context, _ tracing.Context, s tracing.Start) tracing.Span {
	c.began <- s
	return nil
}

func TestServe_Tracer_MakesSpansAndIsStopped(t *testing.T) {
	tracer := countingTracer{make(chan tracing.Start, 1)}
	s := serveWith(t, process{
		open: opens(road{name: sqlName, backend: &memstore.Store{}}),
		tracer: func(_ context.Context, version string, _ *slog.Logger) (tracing.Tracer, func(context.Context) error, error) {
			return tracer, func(ctx context.Context) error {
				if end, ok := ctx.Deadline(); !ok || time.Until(end) > flushTimeout || ctx.Err() != nil {
					t.Errorf("got %v, %t as the end, and %v", end, ok, ctx.Err())
				}
				return errors.New("one was lost by " + version)
			}, nil
		},
	})
	if status, body := mustGet(t, s.public+"/v1/employees"); status != http.StatusOK {
		t.Errorf("got %d %s", status, body)
	}
	if got := <-tracer.began; got.Kind != tracing.Server {
		t.Errorf("got %v, want the span of a request", got)
	}
	s.stop()
	if got := s.log.wait(t, "the last spans were lost")["error"]; got != "one was lost by dev" {
		t.Errorf("got error %v", got)
	}
	if got := s.exitCode(t); got != exitOK {
		t.Errorf("got exit code %d, want 0", got)
	}
}

func TestServe_TracerSwitchedOff_Serves(t *testing.T) {
	s := serveWith(t, process{
		open: opens(road{name: sqlName, backend: &memstore.Store{}}),
		tracer: func(context.Context, string, *slog.Logger) (tracing.Tracer, func(context.Context) error, error) {
			return nil, nil, nil
		},
	})
	if status, body := mustGet(t, s.public+"/v1/employees"); status != http.StatusOK {
		t.Errorf("got %d %s", status, body)
	}
	s.stop()
	if got := s.exitCode(t); got != exitOK || !strings.Contains(s.log.text(), `"msg":"tracing","on":false`) {
		t.Errorf("got exit code %d and the log %s", got, s.log.text())
	}
}

func TestServe_TracerFails_SaysWhy(t *testing.T) {
	var stderr strings.Builder
	code := command(t.Context(), []string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"}, process{
		getenv: lookup(nil), stderr: &stderr,
		tracer: func(context.Context, string, *slog.Logger) (tracing.Tracer, func(context.Context) error, error) {
			return nil, nil, errors.New("unheard of")
		},
	})
	if code != exitFailure || !strings.HasSuffix(stderr.String(), "gateway: tracing: unheard of\n") {
		t.Errorf("got exit code %d and %q", code, stderr.String())
	}
}
