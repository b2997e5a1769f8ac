package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// sentSpan is a span as a collector gets it.
type sentSpan struct {
	*otlp.Span
	service map[string]any // attributes of what sent it
	attrs   map[string]any
}

// collect starts a collector of OTLP over HTTP. Each span that it gets goes into
// the channel.
func collect(t *testing.T) (url string, spans <-chan sentSpan) {
	t.Helper()
	got := make(chan sentSpan, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if contentType := r.Header.Get("Content-Type"); r.URL.Path != "/v1/traces" || contentType != "application/x-protobuf" {
			t.Errorf("got %s with %s", r.URL, contentType)
		}
		var export collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &export); err != nil {
			t.Error(err)
		}
		for _, from := range export.ResourceSpans {
			for _, scope := range from.ScopeSpans {
				for _, span := range scope.Spans {
					got <- sentSpan{span, valuesOf(from.Resource.Attributes), valuesOf(span.Attributes)}
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func valuesOf(attrs []*common.KeyValue) map[string]any {
	values := map[string]any{}
	for _, a := range attrs {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_IntValue:
			values[a.Key] = v.IntValue
		case *common.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		}
	}
	return values
}
