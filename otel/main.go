// Command gateway-otel is the gateway that exports traces with OpenTelemetry, as
// the standard OTEL_… variables say.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/ndbgate/ndbgate/cmd/gateway/program"
	"github.com/ndbgate/ndbgate/tracing"
)

func main() { os.Exit(program.Main(openTracer)) }

// openTracer is a program.OpenTracer.
func openTracer(ctx context.Context, version string, logger *slog.Logger) (tracing.Tracer, func(context.Context) error, error) {
	logComplaints(logger)
	provider, err := newProvider(ctx, version)
	if err != nil || provider == nil {
		return nil, nil, err
	}
	logLostSpans(logger)
	return newTracer(provider), provider.Shutdown, nil
}
