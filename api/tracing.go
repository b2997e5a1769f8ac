package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/tracing"
)

// joinTrace puts the trace that the client sent into ctx, and begins the span of
// the request where there is a tracer. More than one header traceparent is none.
func (s *server) joinTrace(ctx context.Context, r *http.Request, begun time.Time) (context.Context, tracing.Span) {
	var remote tracing.Context
	if parents := r.Header["Traceparent"]; len(parents) == 1 {
		remote = tracing.Parse(parents[0], strings.Join(r.Header["Tracestate"], ","))
	}
	// The route is known at the end only, and other methods are without end.
	return tracing.Join(ctx, s.tracer, remote, tracing.Start{Name: "HTTP", Kind: tracing.Server, At: begun})
}

// errServer is the outcome of a span whose request the gateway could not serve.
var errServer = errors.New("the gateway could not serve the request")

// endSpan ends the span of a request, if there is one.
func endSpan(span tracing.Span, r *http.Request, info *requestInfo, route string, status int) {
	if span == nil {
		return
	}
	method := labelOf(r.Method)
	span.Rename(method + " " + route)
	span.Set(
		slog.String("http.request.method", method),
		slog.String("http.route", route),
		slog.Int("http.response.status_code", status),
		slog.String("ndbgate.backend", info.road),
		slog.String("ndbgate.request_id", info.id),
	)
	if info.problem != "" {
		span.Set(slog.String("error.type", string(info.problem)))
	}
	var err error
	if status >= http.StatusInternalServerError {
		err = errServer
	}
	span.End(time.Time{}, err)
}

// isSlow tells whether a request took long for what it does: batches and streams,
// the methods with a colon, may take their time.
func (s *server) isSlow(route string, elapsed time.Duration) bool {
	return s.slowRequest > 0 && elapsed >= s.slowRequest && !strings.Contains(route, ":")
}
