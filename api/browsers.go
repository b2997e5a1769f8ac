package api

import (
	"net/http"
	"strings"

	"github.com/rs/cors"
)

// harden sets the headers that keep browsers and caches from doing more with an
// answer than it is for. Handlers may say otherwise.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			h.Set("Cache-Control", "no-store") // it may be somebody's data
		}
		if r.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000") // a year
		}
		next.ServeHTTP(w, r)
	})
}

// corsMaxAge is for how many seconds a browser remembers what it may send.
const corsMaxAge = 600

// allowOrigins lets pages of other origins call. Their browsers send no cookies
// and no certificates, only what the page itself puts into Authorization. Requests
// that ask what may be sent (preflights) are left to answerPreflights.
func allowOrigins(origins []string) func(http.Handler) http.Handler {
	if len(origins) == 0 {
		return func(next http.Handler) http.Handler { return next }
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{
			"Accept", authorizationHeader, "Content-Encoding", "Content-Type", "If-Match", "If-None-Match", idempotencyHeader, "Prefer",
			"Traceparent", "Tracestate", backendHeader, compareHeader, durabilityHeader, "X-Request-Id",
		},
		ExposedHeaders: exposedHeaders,
		MaxAge:         corsMaxAge,

		// They have a rate too, and what is refused must be readable for the page.
		OptionsPassthrough: true,
	}).Handler
}

func (s *server) isPreflight(r *http.Request) bool {
	return len(s.origins) > 0 && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// answerPreflights ends preflights, which have no credentials, where allowOrigins has
// said what may be sent.
func (s *server) answerPreflights(next http.Handler) http.Handler {
	if len(s.origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isPreflight(r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// exposedHeaders are those of answers that pages of other origins may read beside
// the few that they always may.
var exposedHeaders = []string{
	"Accept-Encoding", "Accept-Patch", "Accept-Post", "Allow", "ETag", replayedHeader, "Location", "Preference-Applied", "RateLimit",
	"RateLimit-Policy", "Retry-After", "Server-Timing", authenticateHeader, backendHeader, compareHeader, durabilityHeader, "X-Request-Id",
}
