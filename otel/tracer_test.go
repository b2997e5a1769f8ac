package main

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ndbgate/ndbgate/tracing"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"

func TestTracer_RequestAndCall(t *testing.T) {
	var kept tracetest.InMemoryExporter
	provider := sdk.NewTracerProvider(sdk.WithSyncer(&kept))
	begun := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	remote := tracing.Parse(parent+"01", "vendor=value")
	ctx, request := tracing.Join(t.Context(), newTracer(provider), remote, tracing.Start{Name: "HTTP", Kind: tracing.Server, At: begun})
	call := tracing.Begin(ctx, tracing.Start{Name: "ndb read", Kind: tracing.Client, At: begun.Add(time.Millisecond)})
	call.Set(slog.Int("ndb.round_trips", 1), slog.String("db.system.name", "ndb"))
	call.End(begun.Add(2*time.Millisecond), errors.New("of a row with secrets"))
	request.Rename("GET /v1/employees/{id}")
	request.End(begun.Add(3*time.Millisecond), nil)

	spans := kept.GetSpans()
	if len(spans) != 2 {
		t.Fatalf("got %d spans, want 2", len(spans))
	}
	inner, outer := spans[0], spans[1]
	if outer.Name != "GET /v1/employees/{id}" || outer.SpanKind != trace.SpanKindServer || !outer.Parent.IsRemote() ||
		outer.Parent.SpanID() != trace.SpanID(remote.SpanID) || outer.SpanContext.TraceID() != trace.TraceID(remote.TraceID) ||
		outer.SpanContext.TraceState().String() != "vendor=value" || outer.EndTime.Sub(outer.StartTime) != 3*time.Millisecond {
		t.Errorf("got the request %+v", outer)
	}
	if inner.SpanKind != trace.SpanKindClient || inner.Parent.SpanID() != outer.SpanContext.SpanID() || inner.Parent.IsRemote() ||
		inner.EndTime.Sub(inner.StartTime) != time.Millisecond || inner.Status.Code != codes.Error || inner.Status.Description != "" ||
		len(inner.Events) != 0 || len(inner.Attributes) != 2 || inner.Attributes[0].Value.AsInt64() != 1 {
		t.Errorf("got the call %+v", inner)
	}
}

func TestTracer_NotSampled_IsNotRecordedAndGoesOn(t *testing.T) {
	provider := sdk.NewTracerProvider()
	remote := tracing.Parse(parent+"00", "")
	ctx, request := tracing.Join(t.Context(), newTracer(provider), remote, tracing.Start{Name: "HTTP"})
	if request != nil || tracing.Of(ctx) != remote {
		t.Errorf("got span %v, context %v", request, tracing.Of(ctx))
	}
}

func TestNewProvider_Environment(t *testing.T) {
	for _, test := range []struct {
		name, value string
		off, fails  bool
	}{
		{name: "OTEL_TRACES_EXPORTER", value: "otlp"},
		{name: "OTEL_TRACES_EXPORTER", value: "none", off: true},
		{name: "OTEL_SDK_DISABLED", value: "True", off: true},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: "http/protobuf"},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: "grpc", fails: true},
		{name: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", value: "grpc", fails: true},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: "http/xml", fails: true},
		{name: "OTEL_TRACES_EXPORTER", value: "zipkin", fails: true},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			t.Setenv(test.name, test.value)
			provider, err := newProvider(t.Context(), "test")
			if (err != nil) != test.fails || (provider == nil) != (test.off || test.fails) {
				t.Errorf("got %v, %v", provider, err)
			}
			if provider != nil {
				if err := provider.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestNewProvider_ProtocolOfTraces_HasTheLastWord(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") // of other signals
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")
	provider, err := newProvider(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
