package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ndbgate/ndbgate/tracing"
)

const scope = "github.com/ndbgate/ndbgate"

// newProvider makes what exports spans by OTLP over HTTP, as the standard OTEL_…
// variables of the environment say, or returns nil where they switch it off.
func newProvider(ctx context.Context, version string) (*sdk.TracerProvider, error) {
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return nil, nil
	case exporter != "" && exporter != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: expected otlp or none", exporter)
	}
	name := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL" // has the last word
	if os.Getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := os.Getenv(name); protocol {
	case "", "http/protobuf", "http/json":
	default:
		return nil, fmt.Errorf("%s=%s: expected http/protobuf or http/json", name, protocol)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "ndbgate"), attribute.String("service.version", version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word
		resource.WithTelemetrySDK(),
	)
	// A part of the variable that is no name=value is left out; WithResource, which reads
	// the variable too, complains of it.
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	return sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about)), nil
}

// tracer makes spans of OpenTelemetry. Safe for concurrent use.
type tracer struct{ tracer trace.Tracer }

func newTracer(provider trace.TracerProvider) tracer {
	return tracer{provider.Tracer(scope)}
}

// Start implements tracing.Tracer.
func (t tracer) Start(ctx context.Context, parent tracing.Context, s tracing.Start) tracing.Span {
	kind := trace.SpanKindClient
	if s.Kind == tracing.Server {
		kind = trace.SpanKindServer
	}
	if parent.Valid() {
		ctx = withParent(ctx, parent, kind == trace.SpanKindServer)
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kind)}
	if !s.At.IsZero() {
		options = append(options, trace.WithTimestamp(s.At))
	}
	_, inner := t.tracer.Start(ctx, s.Name, options...)
	if !inner.IsRecording() {
		return nil
	}
	return span{inner}
}

func withParent(ctx context.Context, parent tracing.Context, remote bool) context.Context {
	// A state that is not well-formed is left out, as the standard asks.
	state, _ := trace.ParseTraceState(parent.State)
	c := trace.SpanContextConfig{TraceID: parent.TraceID, SpanID: parent.SpanID, TraceState: state, Remote: remote}
	if parent.Sampled {
		c.TraceFlags = trace.FlagsSampled
	}
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(c))
}

// span is one that is recorded.
type span struct{ span trace.Span }

// Context implements tracing.Span.
func (s span) Context() tracing.Context {
	c := s.span.SpanContext()
	return tracing.Context{TraceID: c.TraceID(), SpanID: c.SpanID(), Sampled: c.IsSampled(), State: c.TraceState().String()}
}

// Rename implements tracing.Span.
func (s span) Rename(name string) { s.span.SetName(name) }

// Set implements tracing.Span.
func (s span) Set(attrs ...slog.Attr) {
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindInt64 {
			s.span.SetAttributes(attribute.Int64(a.Key, a.Value.Int64()))
			continue
		}
		s.span.SetAttributes(attribute.String(a.Key, a.Value.String()))
	}
}

// End implements tracing.Span. Errors may hold values of rows, so of them it tells
// only that there was one.
func (s span) End(at time.Time, err error) {
	if err != nil {
		s.span.SetStatus(codes.Error, "")
	}
	if at.IsZero() {
		s.span.End()
		return
	}
	s.span.End(trace.WithTimestamp(at))
}
