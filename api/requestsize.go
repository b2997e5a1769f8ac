package api

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// maxURLBytes is more than the longest list that makes sense has: a filter of
	// maxFilterBytes with each byte escaped, a page token, and the simple filters.
	maxURLBytes = 20 << 10

	// maxHeaderBytes is the sum of all names and values of headers.
	maxHeaderBytes = 16 << 10

	// MaxRequestHeadBytes is what a server must read before the first byte of a body
	// so that all that is too long gets its problem, and not an answer of net/http:
	// more than both limits together.
	MaxRequestHeadBytes = 40 << 10
)

// limitSize refuses requests with too long URLs and headers.
func (s *server) limitSize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p *problem
		switch {
		case len(r.RequestURI) > maxURLBytes || len(r.URL.Path)+len(r.URL.RawQuery) > maxURLBytes:
			p = newProblem(codeURLTooLong, fmt.Sprintf("a URL may have %d bytes; shorten the query, or read by :batchGet", maxURLBytes))
		case headerBytes(r.Header) > maxHeaderBytes:
			p = newProblem(codeHeadersTooLarge, fmt.Sprintf("all headers together may have %d bytes", maxHeaderBytes))
		default:
			next.ServeHTTP(w, r)
			return
		}
		s.finish(&exchange{w: w, r: r, ctx: r.Context(), begun: time.Now()}, p)
	})
}

func headerBytes(h http.Header) int {
	sum := 0
	for name, values := range h {
		for _, value := range values {
			sum += len(name) + len(value)
		}
	}
	return sum
}
