package sqlstore

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/tracing"
)

// traced begins the span of a statement and returns the statement with the trace
// in a comment, where the request of ctx is traced and sampled; otherwise it
// returns query and nil. Such a statement is like no other, so it is prepared
// anew, which costs it one more round trip. The comment's form is
// that of https://google.github.io/sqlcommenter/spec/.
func (c *conn) traced(ctx context.Context, query string) (string, tracing.Span) {
	current := tracing.Of(ctx)
	if !current.Sampled || !current.Valid() {
		return query, nil
	}
	verb, _, _ := strings.Cut(query, " ")
	span := tracing.Begin(ctx, tracing.Start{Name: "sql " + verb, Kind: tracing.Client})
	if span != nil {
		current = span.Context()
		span.Set(
			slog.String("db.system.name", "mysql"),
			slog.String("db.operation.name", verb),
			slog.String("db.query.text", query), // with placeholders: no values
			slog.String("server.address", c.node.address),
		)
	}
	return query + " /*traceparent='" + current.Traceparent() + "'*/", span
}

// endSpan ends the span of a statement, if there is one.
func endSpan(span tracing.Span, err error) {
	if span != nil {
		span.End(time.Time{}, err)
	}
}
