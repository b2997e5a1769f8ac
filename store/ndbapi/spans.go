package ndbapi

import (
	"context"
	"log/slog"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/tracing"
)

// Spans returns a Trace that makes a span of each call of the client whose
// request is traced: what it cost in round trips, who coordinated it, how often it
// was done again. A call of a request that is not traced costs a look into its
// context, and two at the clock.
func Spans() *ndb.Trace {
	return &ndb.Trace{Call: func(ctx context.Context, call ndb.Call) {
		span := tracing.Begin(ctx, tracing.Start{Name: "ndb " + call.Op.String(), Kind: tracing.Client, At: call.Start})
		if span == nil {
			return
		}
		attrs := []slog.Attr{
			slog.String("db.system.name", "ndb"),
			slog.String("db.operation.name", call.Op.String()),
			slog.Int("ndb.round_trips", call.RoundTrips),
			slog.Int("ndb.retries", call.Retries),
			slog.Int("ndb.operations", call.Operations),
		}
		if call.Table != nil {
			attrs = append(attrs, slog.String("db.collection.name", call.Table.Name()))
		}
		if call.Node != 0 {
			attrs = append(attrs, slog.Int("ndb.coordinator_node", call.Node))
		}
		if call.APINode != 0 {
			attrs = append(attrs, slog.Int("ndb.api_node", call.APINode))
		}
		span.Set(attrs...)
		span.End(call.Start.Add(call.Took), call.Err)
	}}
}
