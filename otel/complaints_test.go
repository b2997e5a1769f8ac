package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
)

func TestComplaints_WrongVariable_IsLoggedWithoutItsValue(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization hunter2-s3cret")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:hunter2-s3cret@[")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "a=b,hunter2-s3cret")
	var log strings.Builder
	_, stop, err := openTracer(t.Context(), "test", slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"failed: parse headers", "failed: parse url", "OTEL_RESOURCE_ATTRIBUTES is wrong"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("got the log %s, want %q in it", &log, want)
		}
	}
	if strings.Contains(log.String(), "hunter2") || strings.Contains(log.String(), "spans are lost") {
		t.Errorf("got a secret, or a loss of spans, in the log %s", &log)
	}
}

func TestComplaints_LostSpans_AreLoggedOnceInAWhile(t *testing.T) {
	var log strings.Builder
	logLostSpans(slog.New(slog.NewJSONHandler(&log, nil)))
	for range 3 {
		otel.Handle(errors.New("nobody listens" + strings.Repeat("!", 10_000)))
	}
	if got := strings.Count(log.String(), "nobody listens"); got != 1 || len(log.String()) > 1000 {
		t.Errorf("got %d lines, %d bytes", got, len(log.String()))
	}
}
