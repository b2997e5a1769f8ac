package program

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/tracing"
)

// OpenTracer opens what makes the spans of a gateway of this version. It tells the
// logger of spans that are lost. Stop is called once, when no more spans begin, and
// sends what is left until its context ends. Where the environment switches spans
// off, both are nil.
type OpenTracer func(ctx context.Context, version string, logger *slog.Logger) (t tracing.Tracer, stop func(context.Context) error, err error)

// flushTimeout is how much longer the end of the program takes where nobody takes
// its last spans.
const flushTimeout = 5 * time.Second

// startTracing opens the tracer, if the program has one, for cfg. End is never nil
// where there is no error, and sends the last spans.
func (p *process) startTracing(ctx context.Context, cfg *Config, logger *slog.Logger) (end func(), err error) {
	if p.tracer == nil {
		return func() {}, nil
	}
	var stop func(context.Context) error
	if cfg.tracer, stop, err = p.tracer(ctx, thisBuild().version, logger); err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	logger.Info("tracing", "on", cfg.tracer != nil)
	if cfg.tracer == nil {
		return func() {}, nil
	}
	return func() {
		// The context has ended, but there are spans of requests until then.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := stop(ctx); err != nil {
			logger.Warn("the last spans were lost", "error", err.Error())
		}
	}, nil
}

// callTrace is what the native road tells of its calls: spans where there is a
// tracer, else nothing, which costs nothing.
func (c *Config) callTrace() *ndb.Trace {
	if c.tracer == nil {
		return nil
	}
	return ndbapi.Spans()
}
