package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/ndbgate/ndbgate/access"
	"github.com/ndbgate/ndbgate/tracing"
)

// requestInfo collects what the access log and the metrics tell of a request.
// One goroutine, that of the request, uses it.
type requestInfo struct {
	id      string
	client  string        // who calls, as in key:billing; empty without access control
	grant   *access.Grant // of the client; nil without access control
	road    string        // the backend taken, if any
	problem code          // of the answer, if it is one
	cause   error         // what went wrong, for the log alone
}

type infoKey struct{}

// infoOf returns the info that observe put into the context.
func infoOf(ctx context.Context) *requestInfo {
	return ctx.Value(infoKey{}).(*requestInfo)
}

// observe is the outermost middleware: it gives the request its ID, and logs
// and counts how it ended.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		info := &requestInfo{id: requestID(r)}
		ctx, span := s.joinTrace(context.WithValue(r.Context(), infoKey{}, info), r, begun)
		r = r.WithContext(ctx)
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		wrapped.Header().Set("X-Request-Id", info.id)
		// Deferred, so that an answer that is cut off is logged too.
		defer func() {
			status, elapsed, route := finalStatus(wrapped), time.Since(begun), routeOf(ctx)
			s.metrics.observe(r.Method, route, info, status, elapsed)
			s.logRequest(r, info, route, status, wrapped.BytesWritten(), elapsed)
			endSpan(span, r, info, route, status)
		}()
		next.ServeHTTP(wrapped, r)
	})
}

// finalStatus is what net/http has sent or will send.
func finalStatus(w middleware.WrapResponseWriter) int {
	if w.Status() == 0 {
		return http.StatusOK
	}
	return w.Status()
}

func (s *server) logRequest(r *http.Request, info *requestInfo, route string, status, bytes int, elapsed time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", info.id),
		slog.String("method", r.Method),
		slog.String("path", withoutKeys(r.URL.Path)), // no query: it holds people's data
		slog.String("route", route),
		slog.String("backend", info.road),
		slog.Int("status", status),
		slog.Int("bytes", bytes),
		slog.Float64("duration_ms", milliseconds(elapsed)),
		slog.String("remote", r.RemoteAddr),
		slog.String("client", info.client),
	}
	if trace := tracing.Of(r.Context()); trace.Valid() {
		attrs = append(attrs, slog.String("trace_id", trace.Trace()))
	}
	if s.isSlow(route, elapsed) {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Bool("slow", true))
	}
	if info.cause != nil && status >= http.StatusInternalServerError {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", withoutKeys(info.cause.Error())))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// routeOf is the pattern that the router matched: few, so fit for a label.
func routeOf(ctx context.Context) string {
	if route := chi.RouteContext(ctx).RoutePattern(); route != "" {
		return route
	}
	return "unmatched"
}

// requestID takes the client's ID where it is harmless, which a key is not, else
// makes one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) < 1 || len(id) > 128 || strings.ContainsFunc(id, notInRequestID) || strings.Contains(id, keyMark) {
		return rand.Text()
	}
	return id
}

func notInRequestID(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
}

// recoverPanics turns a bug into a 500 and a log entry with the stack.
func (s *server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			x := &exchange{w: w, r: r, ctx: r.Context(), begun: time.Now()}
			s.logPanic(r.Context(), v)
			if wrapped, ok := w.(middleware.WrapResponseWriter); ok && wrapped.Status() != 0 {
				// Half an answer is out: cut the connection, so that the client
				// does not take it for a whole one.
				panic(http.ErrAbortHandler)
			}
			s.finish(x, fmt.Errorf("panic: %v", v))
		}()
		next.ServeHTTP(w, r)
	})
}

// logPanic is called where v was recovered, so that the stack is still there.
func (s *server) logPanic(ctx context.Context, v any) {
	s.log.ErrorContext(ctx, "panic", "request_id", infoOf(ctx).id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
}

func routeNotFound(*exchange) error {
	return newProblem(codeRouteNotFound, "see /docs for the paths of this service")
}

// methodNotAllowed answers 405 with the methods that the path does take.
func methodNotAllowed(routes chi.Routes) handler {
	known := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	return func(x *exchange) error {
		var allowed []string
		for _, method := range known {
			if !routes.Match(chi.NewRouteContext(), method, pathOf(x.r)) {
				continue
			}
			allowed = append(allowed, method)
			if method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
		if len(allowed) == 0 {
			return routeNotFound(x)
		}
		list := strings.Join(allowed, ", ")
		return newProblem(codeMethodNotAllowed, "this path takes "+list).withHeader("Allow", list)
	}
}

// pathOf is the path as the router matches it.
func pathOf(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}
