// Package api is the HTTP side of the gateway: routes, strict decoding,
// validation, problems and the choice of the road. It knows stores only by
// their contract.
package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/store"
)

// Options of New. The zero value of a field means its default.
type Options struct {
	Logger         *slog.Logger          // access log and causes of failures; default: none
	Metrics        prometheus.Registerer // default: none
	IDs            *store.IDs            // default: a new source on the system's clock
	RequestTimeout time.Duration         // deadline of one request; default 10 s
	MaxBodyBytes   int64                 // longest request body; default 64 KiB
}

// New returns the handler of the public listener.
func New(backends *store.Registry, opts Options) http.Handler { panic("being written") }
