package api

import (
	"net/http"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

// Units of limits.
const (
	UnitBytes    = "bytes"
	UnitSeconds  = "seconds"
	unitRequests = "requests"
	unitItems    = "items"
)

// Limit is one entry of GET /v1/limits.
type Limit struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Backend string  `json:"backend,omitempty"` // that it holds for; empty: it is one of the gateway
	Setting string  `json:"setting,omitempty"` // that changes it; empty: none does
	Code    code    `json:"code,omitempty"`    // of the problem beyond it; empty: there is none, or it depends
}

type limitList struct {
	Limits []Limit `json:"limits"`
}

// listLimits tells every limit of the gateway. It asks no database.
func (s *server) listLimits(x *exchange) error {
	if err := checkNoQuery(x.r); err != nil {
		return err
	}
	x.w.Header().Set("Cache-Control", "no-store")
	return x.json(http.StatusOK, limitList{s.limits()})
}

// limits lists them from whole requests down to their parts, and those of the
// server around at the end.
func (s *server) limits() []Limit {
	var all []Limit
	if s.rates != nil {
		all = append(all,
			Limit{Name: "client_rate", Value: float64(s.rates.perSecond), Unit: "requests per second", Setting: "rate-limit", Code: codeRateLimited},
			Limit{Name: "client_burst", Value: float64(s.rates.burst), Unit: unitRequests, Setting: "rate-burst", Code: codeRateLimited})
	}
	for _, name := range s.backends.Names() {
		all = append(all, Limit{Name: "in_flight", Value: float64(s.places[name].max), Unit: unitRequests, Backend: name, Setting: "max-in-flight", Code: codeOverloaded})
	}
	all = append(all,
		Limit{Name: "comparisons", Value: float64(cap(s.comparing)), Unit: unitRequests, Setting: "max-comparisons"},
		Limit{Name: "streams", Value: float64(cap(s.streams)), Unit: unitRequests, Setting: "max-streams", Code: codeTooManyStreams},
		Limit{Name: "items_in_work", Value: float64(s.items.max), Unit: unitItems, Setting: "max-items", Code: codeUnavailable})
	all = append(all, s.timeLimits()...)
	all = append(all, s.sizeLimits()...)
	return append(all, s.moreLimits...)
}

func (s *server) timeLimits() []Limit {
	in := func(name string, d time.Duration, setting string, beyond code) Limit {
		return Limit{Name: name, Value: d.Seconds(), Unit: UnitSeconds, Setting: setting, Code: beyond}
	}
	return []Limit{
		in("request_time", s.requestTimeout, "request-timeout", ""),
		in("batch_time", s.batchTimeout, "request-timeout", ""),
		in("stream_idle_time", s.streamIdle, "", codeBodyTimeout),
		in("stream_patience", s.streamPatience, "", codeUnavailable),
		in("idempotency_lifetime", s.keyLifetime, "idempotency-lifetime", ""),
	}
}

func (s *server) sizeLimits() []Limit {
	of := func(name string, value int64, unit string, beyond code) Limit {
		return Limit{Name: name, Value: float64(value), Unit: unit, Code: beyond}
	}
	return []Limit{
		of("url", maxURLBytes, UnitBytes, codeURLTooLong),
		of("headers", maxHeaderBytes, UnitBytes, codeHeadersTooLarge),
		of("idempotency_key", models.MaxIdempotencyKeyBytes, UnitBytes, codeInvalidHeader),
		of("body", s.maxBodyBytes, UnitBytes, codeBodyTooLarge),
		of("batch_body", s.maxBatchBytes, UnitBytes, codeBodyTooLarge),
		of("batch_item", maxItemBytes, UnitBytes, codeBodyTooLarge),
		of("batch_items", models.MaxBatchItems, unitItems, ""),
		of("stream_line", maxLineBytes, UnitBytes, codeBodyTooLarge),
		of("listed_faults", maxListedFaults, "faults", ""),
		of("listed_lines", maxListedErrors, "lines", ""),
		of("page", maxPageSize, "employees", codeInvalidParameter),
		of("page_token", maxPageToken, UnitBytes, codeInvalidParameter),
		of("order_terms", int64(len(models.EmployeeProperties())), "properties", codeInvalidParameter),
		of("filter", maxFilterBytes, UnitBytes, codeInvalidParameter),
		of("filter_depth", maxFilterDepth, "levels", codeInvalidParameter),
		of("filter_terms", maxFilterTerms, "comparisons", codeInvalidParameter),
	}
}
