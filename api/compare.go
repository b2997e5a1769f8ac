package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ndbgate/ndbgate/store"
)

// Results of a comparison.
const (
	resultAgree   = "agree"   // status, ETag and body are the same
	resultDiffer  = "differ"  // at least one of them is not
	resultFailed  = "failed"  // a road has not answered: its status is 500 or more
	resultSkipped = "skipped" // the other road was not asked
)

// Reasons why a comparison is skipped.
const (
	reasonBusy = "busy" // too many comparisons run already
	reasonSame = "same" // the road by default is the one to compare with
)

// comparison is a read that a second road answers too, at the same time and
// under the same deadline. The chosen road's answer waits for the other, since
// it tells of it in its headers, but no longer than to the deadline.
type comparison struct {
	s     *server
	road  string // the other one
	begun time.Time
	done  chan struct{} // closed once theirs is whole

	theirs *exchange
	answer *recorder // of theirs

	// Of conclude.
	concluded bool
	took      time.Duration // by the other road
	late      bool          // it still runs
}

// answer is what is compared.
type answer struct {
	status int
	etag   string
	body   []byte
}

func (a answer) equals(b answer) bool {
	return a.status == b.status && a.etag == b.etag && bytes.Equal(a.body, b.body)
}

// compare answers a read while the road that X-Backend-Compare names answers it
// too.
func (s *server) compare(x *exchange, h handler) error {
	name, rows, err := s.comparedRoad(x)
	if err != nil {
		return err
	}
	if name == x.road {
		s.skip(x, name, reasonSame)
		return h(x)
	}
	select {
	case s.comparing <- struct{}{}:
	default:
		s.skip(x, name, reasonBusy)
		return h(x)
	}
	ctx, cancel := context.WithCancel(x.ctx)
	c := s.newComparison(ctx, x, name, rows)
	go c.run(h) // ends by the deadline, as its call of the store does, or with cancel
	// A handler that refuses the request, or panics, has not waited for it.
	defer func() {
		cancel()
		<-c.done
	}()
	x.comparison = c
	// Here and not in onRoad, so that the problem of x is compared too.
	s.finish(x, h(x))
	if c.late {
		// The answer need not wait until the other road has ended. Some writers
		// of tests cannot do it; every real one can.
		_ = http.NewResponseController(x.w).Flush()
	}
	return nil
}

// comparedRoad finds the backend that X-Backend-Compare names. The chosen one
// is wrong, unless it was drawn: then the client could not know.
func (s *server) comparedRoad(x *exchange) (name string, rows store.Employees, err error) {
	name, err = onlyValue(x.r.Header, compareHeader)
	if err != nil {
		return "", nil, err
	}
	_, backend, ok := s.backends.Lookup(name)
	drawn := x.r.Header.Get(backendHeader) == "" && len(s.backends.Defaults()) > 1
	switch {
	case name == "" || !ok:
		return "", nil, s.unknownBackend(compareHeader)
	case name == x.road && !drawn:
		return "", nil, refuseHeader(compareHeader, "same", "must name another backend than "+name+", which answers")
	default:
		return name, backend, nil
	}
}

func (s *server) skip(x *exchange, name, reason string) {
	s.metrics.comparisons.WithLabelValues(x.road, name, resultSkipped).Inc()
	x.w.Header().Set(compareHeader, fmt.Sprintf("%s; result=%s; reason=%s", name, resultSkipped, reason))
}

// newComparison takes a slot of s.comparing, which run gives back.
func (s *server) newComparison(ctx context.Context, x *exchange, name string, rows store.Employees) *comparison {
	c := &comparison{s: s, road: name, begun: time.Now(), done: make(chan struct{}), answer: &recorder{header: http.Header{}}}
	// Its own info, so that the log and the metrics of the request tell of the
	// chosen road alone.
	info := &requestInfo{id: infoOf(x.r.Context()).id, road: name}
	r := x.r.WithContext(context.WithValue(x.r.Context(), infoKey{}, info))
	c.theirs = &exchange{w: c.answer, r: r, ctx: ctx, store: rows, road: name, begun: c.begun, places: s.places[name]}
	return c
}

// run has the other road answer.
func (c *comparison) run(h handler) {
	defer close(c.done)
	defer func() { <-c.s.comparing }()
	defer c.theirs.leavePlace() // after a panic
	defer func() {
		if v := recover(); v != nil {
			c.s.logPanic(c.theirs.r.Context(), v)
			*c.answer = recorder{header: http.Header{}}
			c.s.finish(c.theirs, fmt.Errorf("panic: %v", v))
		}
	}()
	c.s.finish(c.theirs, h(c.theirs))
}

// conclude waits for the other road and puts the result into the header of the
// answer.
func (c *comparison) conclude(x *exchange, ours answer) {
	select {
	case <-c.done:
	case <-x.ctx.Done():
	}
	theirs := answer{status: http.StatusGatewayTimeout}
	var cause error
	select {
	case <-c.done:
		theirs = c.answer.answer()
		c.took, cause = c.theirs.spent, infoOf(c.theirs.r.Context()).cause
	default:
		c.late = true
		c.took, cause = time.Since(c.begun), context.Cause(x.ctx)
	}
	c.concluded = true
	result := verdict(ours, theirs)
	x.w.Header().Set(compareHeader, fmt.Sprintf("%s; result=%s; dur=%.3f; status=%d", c.road, result, milliseconds(c.took), theirs.status))
	c.s.metrics.comparisons.WithLabelValues(x.road, c.road, result).Inc()
	c.s.metrics.comparedSeconds.WithLabelValues(x.road, c.road).Observe(c.took.Seconds())
	c.log(x, result, ours, theirs, cause)
}

func verdict(ours, theirs answer) string {
	switch {
	case ours.status >= http.StatusInternalServerError || theirs.status >= http.StatusInternalServerError:
		return resultFailed
	case ours.equals(theirs):
		return resultAgree
	default:
		return resultDiffer
	}
}

// log tells of what is not well, without anybody's data: a digest finds equal
// answers, and an ETag is one too.
func (c *comparison) log(x *exchange, result string, ours, theirs answer, cause error) {
	if result == resultAgree {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", infoOf(x.r.Context()).id),
		slog.String("route", routeOf(x.r.Context())),
		slog.String("backend", x.road),
		slog.String("compared", c.road),
		slog.Int("status", ours.status),
		slog.Int("compared_status", theirs.status),
	}
	if result == resultFailed {
		if theirs.status >= http.StatusInternalServerError { // of ours the access log tells
			attrs = append(attrs, slog.String("error", cause.Error()))
		}
		c.s.log.LogAttrs(x.ctx, slog.LevelWarn, "comparison failed", attrs...)
		return
	}
	attrs = append(attrs,
		slog.String("digest", digestOf(ours.body)), slog.String("compared_digest", digestOf(theirs.body)),
		slog.String("etag", ours.etag), slog.String("compared_etag", theirs.etag))
	c.s.log.LogAttrs(x.ctx, slog.LevelWarn, "answers differ", attrs...)
}

// recorder keeps an answer that is only compared.
type recorder struct {
	header http.Header
	status int
	body   []byte
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}

func (r *recorder) answer() answer {
	return answer{status: r.status, etag: r.header.Get("ETag"), body: r.body}
}
