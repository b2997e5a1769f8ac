package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"golang.org/x/time/rate"
)

const (
	component = "opentelemetry" // of lines in the log

	// complaintInterval is how long the log is spared after an export that failed: a
	// collector that is down fails every few seconds.
	complaintInterval = time.Minute
	maxComplaint      = 500 // bytes; a collector may answer with a page
)

// logComplaints has OpenTelemetry, whose log belongs to the process, complain to
// this one. Until logLostSpans its errors are about variables that it reads, and quote
// them.
func logComplaints(logger *slog.Logger) {
	logger = logger.With("component", component)
	var once sync.Once // it reads them several times
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {
		once.Do(func() {
			logger.Warn("OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG or OTEL_RESOURCE_ATTRIBUTES is wrong, and counts as none")
		})
	}))
	otel.SetLogger(logr.New(complaints{logger}))
}

// logLostSpans logs errors from now on as what they are once a provider is made: of
// exports.
func logLostSpans(logger *slog.Logger) {
	logger = logger.With("component", component)
	sometimes := rate.Sometimes{Interval: complaintInterval}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		sometimes.Do(func() {
			text := err.Error()
			logger.Warn("spans are lost", "error", text[:min(len(text), maxComplaint)], "silent_for", complaintInterval.String())
		})
	}))
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
