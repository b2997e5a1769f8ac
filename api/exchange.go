package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ndbgate/ndbgate/store"
)

// exchange is one request with its answer, and the road that it takes.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // carries the deadline
	store store.Employees // nil where the request takes no road
	road  string          // the backend's name
	spent time.Duration   // in the store
	begun time.Time

	bodyRead bool // to its end
}

// handler answers one exchange or returns what went wrong; see toProblem.
type handler func(x *exchange) error

// plain adapts a handler that takes no road.
func (s *server) plain(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{w: w, r: r, ctx: r.Context(), begun: time.Now()}
		s.finish(x, h(x))
	}
}

// onRoad adapts a handler that takes a road. The deadline ends it, and nothing
// else: net/http takes a client that has closed its sending side for one that
// has left, and a write that is cut off ends with an unknown outcome and a
// broken connection to the database.
func (s *server) onRoad(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.requestTimeout)
		defer cancel()
		x := &exchange{w: w, r: r, ctx: ctx, begun: time.Now()}
		w.Header().Set("Vary", "X-Backend")
		if err := s.chooseRoad(x); err != nil {
			s.finish(x, err)
			return
		}
		s.finish(x, h(x))
	}
}

// chooseRoad finds the backend that the header X-Backend names.
func (s *server) chooseRoad(x *exchange) error {
	names := x.r.Header.Values("X-Backend")
	if len(names) > 1 {
		return newProblem(codeInvalidHeader, "the header X-Backend must be given once", headerFault("X-Backend", "repeated", "must be given once"))
	}
	var wanted string
	if len(names) == 1 {
		wanted = names[0]
	}
	name, backend, ok := s.backends.Lookup(wanted)
	if !ok {
		return newProblem(codeUnknownBackend, "X-Backend must be one of: "+strings.Join(s.backends.Names(), ", "))
	}
	x.store, x.road = backend, name
	infoOf(x.r.Context()).road = name
	x.w.Header().Set("X-Backend", name)
	return nil
}

// finish writes the problem where the handler returned an error.
func (s *server) finish(x *exchange, err error) {
	if err == nil {
		return
	}
	infoOf(x.r.Context()).cause = err
	x.problem(toProblem(err))
}

// timed counts the time until the returned function is called as spent in the
// store.
func (x *exchange) timed() (done func()) {
	begun := time.Now()
	return func() { x.spent += time.Since(begun) }
}

// send writes the answer: body may be nil.
func (x *exchange) send(status int, contentType string, body []byte) {
	h := x.w.Header()
	if x.road != "" {
		h.Set("Server-Timing", serverTiming(x.road, x.spent, time.Since(x.begun)))
	}
	if x.r.ContentLength != 0 && !x.bodyRead {
		// net/http would wait for the rest of the body before it answers.
		h.Set("Connection", "close")
	}
	if body != nil {
		h.Set("Content-Type", contentType)
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.w.WriteHeader(status)
	// An error means that the client has left; there is nobody to tell.
	_, _ = x.w.Write(body)
}

func serverTiming(road string, spent, total time.Duration) string {
	return fmt.Sprintf("backend;desc=%q;dur=%.3f, total;dur=%.3f", road, milliseconds(spent), milliseconds(total))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// json writes v with a newline at its end, for people at a terminal.
func (x *exchange) json(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	x.send(status, "application/json", append(body, '\n'))
	return nil
}

func (x *exchange) empty(status int) error {
	x.send(status, "", nil)
	return nil
}

func (x *exchange) problem(p *problem) {
	p.RequestID = infoOf(x.r.Context()).id
	h := x.w.Header()
	for _, stale := range []string{"ETag", "Preference-Applied"} {
		h.Del(stale)
	}
	h.Set("Cache-Control", "no-store")
	for name, value := range p.headers {
		h.Set(name, value)
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic("api: a problem that cannot be encoded: " + err.Error())
	}
	x.send(p.Status, "application/problem+json", append(body, '\n'))
}
