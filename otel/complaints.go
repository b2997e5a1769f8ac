package main

import (
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"golang.org/x/time/rate"
)

const (
	// complaintInterval is how long the log is spared after an export that failed: a
	// collector that is down fails every few seconds.
	complaintInterval = time.Minute
	maxComplaint      = 500 // bytes; a collector may answer with a page
)

// logComplaints has OpenTelemetry, whose log belongs to the process, complain to
// this one.
func logComplaints(logger *slog.Logger) {
	logger = logger.With("component", "opentelemetry")
	sometimes := rate.Sometimes{Interval: complaintInterval}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		sometimes.Do(func() {
			text := err.Error()
			logger.Warn("spans are lost", "error", text[:min(len(text), maxComplaint)], "silent_for", complaintInterval.String())
		})
	}))
	otel.SetLogger(logr.New(complaints{logger}))
}

// complaints gets warnings of OpenTelemetry, mostly of its variables. It logs no
// more than the fixed text: errors and values quote the variables, which may hold
// passwords and tokens.
type complaints struct{ logger *slog.Logger }

// maxVerbosity is that of OpenTelemetry's warnings
// (go.opentelemetry.io/otel/internal/global); more verbose is what it does.
const maxVerbosity = 1

// Init implements logr.LogSink.
func (complaints) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (complaints) Enabled(verbosity int) bool { return verbosity <= maxVerbosity }

// Info implements logr.LogSink.
func (c complaints) Info(_ int, text string, _ ...any) { c.logger.Warn(text) }

// Error implements logr.LogSink.
func (c complaints) Error(_ error, text string, _ ...any) { c.logger.Warn("failed: " + text) }

// WithValues implements logr.LogSink.
func (c complaints) WithValues(...any) logr.LogSink { return c }

// WithName implements logr.LogSink.
func (c complaints) WithName(string) logr.LogSink { return c }
