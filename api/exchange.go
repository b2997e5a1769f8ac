package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/store"
)

// exchange is one request with its answer, and the road that it takes.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // carries the deadline
	store store.Employees // nil where the request takes no road
	road  string          // the backend's name
	spent time.Duration   // in the store, waitedForDisk included
	begun time.Time

	places *places // of the road
	placed bool    // it holds one of them

	bodyRead      bool // to its end
	asked         bool // the store was
	waitedForDisk time.Duration
	comparison    *comparison // nil where no other road is asked
	once          *once       // nil where the request has no idempotency key
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

// finish writes the problem where the handler returned an error.
func (s *server) finish(x *exchange, err error) {
	if err == nil {
		return
	}
	p, info := toProblem(err), infoOf(x.r.Context())
	info.cause, info.problem = err, p.Code
	x.problem(p)
}

// timed is called before the store is asked. It takes a place at the road, or
// returns a problem where none is left, and counts the time until done is called as
// spent in the store.
func (x *exchange) timed() (done func(), err error) {
	if err := x.takePlace(); err != nil {
		return nil, err
	}
	x.asked = true
	begun := time.Now()
	return func() {
		x.spent += time.Since(begun)
		x.leavePlace()
	}, nil
}

// send writes the answer: body may be nil.
func (x *exchange) send(status int, contentType string, body []byte) {
	h := x.w.Header()
	if x.comparison != nil && x.asked {
		x.comparison.conclude(x, answer{status: status, etag: h.Get("ETag"), body: body})
	}
	if x.road != "" {
		h.Set("Server-Timing", x.serverTiming())
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

// serverTiming lists what the exchange cost, in milliseconds.
func (x *exchange) serverTiming() string {
	text := make([]byte, 0, 128)
	text = append(text, `backend;desc="`...)
	text = append(text, x.road...)
	text = appendDuration(append(text, `";dur=`...), x.spent-x.waitedForDisk)
	if x.waitedForDisk > 0 {
		text = appendDuration(append(text, `, disk;dur=`...), x.waitedForDisk)
	}
	if x.comparison != nil && x.comparison.concluded {
		text = append(text, `, compare;desc="`...)
		text = append(text, x.comparison.road...)
		text = appendDuration(append(text, `";dur=`...), x.comparison.took)
	}
	return string(appendDuration(append(text, `, total;dur=`...), time.Since(x.begun)))
}

// appendDuration appends milliseconds with three decimals.
func appendDuration(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, milliseconds(d), 'f', 3, 64)
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
	for _, stale := range []string{"ETag", "Preference-Applied", replayedHeader} {
		h.Del(stale)
	}
	h.Set("Cache-Control", "no-store")
	for name, value := range p.headers {
		h.Set(name, value)
	}
	// A name that a client made up may be no UTF-8.
	body, err := json.Marshal(p, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("api: a problem that cannot be encoded: " + err.Error())
	}
	x.send(p.Status, "application/problem+json", append(withoutKeysInJSON(body), '\n'))
}
