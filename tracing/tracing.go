// Package tracing carries the trace of a request through the roads: W3C trace
// context (https://www.w3.org/TR/trace-context/) in, spans out. It knows no
// exporter; the module otel has one. A context without a trace costs one look
// into it.
package tracing

import (
	"context"
	"log/slog"
	"time"
)

// Tracer makes spans. Safe for concurrent use.
type Tracer interface {
	// Start begins a span below the one that ctx carries or, where it carries
	// none, below remote; a remote that is zero makes a root. It returns nil where
	// the span is not to be recorded.
	Start(ctx context.Context, remote Context, s Start) Span
}

// Start says what begins.
type Start struct {
	Name string    // of few values, such as "GET /v1/employees/{id}"
	Kind Kind      // whether it serves or asks
	At   time.Time // zero means now
}

// Kind tells which end of a call a span is.
type Kind int

const (
	Server Kind = iota // it answers a request
	Client             // it sends one
)

// Span is something that takes time. Used by one goroutine at a time.
type Span interface {
	Context() Context            // names the span for the next system
	Rename(name string)          // where the name is known only later
	Set(attrs ...slog.Attr)      // adds attributes; names as in OpenTelemetry's conventions
	End(at time.Time, err error) // ends it once, at that time, zero meaning now; nil is success
}

// trace is what a context carries.
type trace struct {
	tracer  Tracer // nil: the trace context is passed on, and no spans are made
	span    Span   // nil: none, or none that is recorded
	context Context
}

type traceKey struct{}

func traceOf(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// Join puts a request with this remote context, which may be zero, into ctx. Span
// is nil where tracer is, or where the request is not recorded. Without a tracer
// and a remote context ctx comes back as it is.
func Join(ctx context.Context, tracer Tracer, remote Context, s Start) (context.Context, Span) {
	if tracer == nil {
		if !remote.Valid() {
			return ctx, nil
		}
		return context.WithValue(ctx, traceKey{}, &trace{context: remote}), nil
	}
	span := tracer.Start(ctx, remote, s)
	t := &trace{tracer: tracer, span: span, context: remote}
	if span != nil {
		t.context = span.Context()
	}
	return context.WithValue(ctx, traceKey{}, t), span
}

// Begin starts a span below the one of ctx, or returns nil where that is not
// recorded.
func Begin(ctx context.Context, s Start) Span {
	t := traceOf(ctx)
	if t == nil || t.span == nil {
		return nil
	}
	return t.tracer.Start(ctx, t.context, s)
}

// Of returns the trace context that ctx carries; the zero one is none.
func Of(ctx context.Context) Context {
	if t := traceOf(ctx); t != nil {
		return t.context
	}
	return Context{}
}
