package api

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// hookStore runs a hook in place of Get and Delete.
type hookStore struct {
	memstore.Store
	hook func(context.Context) error
}

func (s *hookStore) Get(ctx context.Context, _ int64) (models.Employee, error) {
	return models.Employee{}, s.hook(ctx)
}

func (s *hookStore) Delete(ctx context.Context, _ int64, _ store.Precondition) error {
	return s.hook(ctx)
}

func TestStoreErrors_BecomeProblemsWithoutTheirCause(t *testing.T) {
	const secret = "Error 1234: password hunter2"
	cases := []struct {
		kind   error
		status int
		code   string
		logged bool
	}{
		{store.ErrNotFound, 404, "not_found", false},
		{store.ErrConflict, 409, "already_exists", false},
		{store.ErrPreconditionFailed, 412, "precondition_failed", false},
		{store.ErrInvalid, 400, "invalid_value", false},
		{store.ErrUnavailable, 503, "unavailable", true},
		{store.ErrUnknownOutcome, 504, "outcome_unknown", true},
		{fmt.Errorf("%w: %w", store.ErrUnknownOutcome, context.DeadlineExceeded), 504, "outcome_unknown", true},
		{context.DeadlineExceeded, 504, "timeout", true},
		{errors.New("a bug"), 500, "internal", true},
	}
	for _, c := range cases {
		t.Run(c.code, func(t *testing.T) {
			b := newBenchOver(t, &hookStore{hook: func(context.Context) error { return fmt.Errorf("%w: %s", c.kind, secret) }}, nil)
			w := b.do(request{method: "DELETE", path: "/v1/employees/1"})
			if p := problemOf(t, w); w.Code != c.status || p.Code != c.code {
				t.Errorf("got %d %s, want %d %s", w.Code, p.Code, c.status, c.code)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the client sees the cause: %s", w.Body)
			}
			if got := strings.Contains(b.log.String(), secret); got != c.logged {
				t.Errorf("cause logged: got %t, want %t", got, c.logged)
			}
			if got := w.Header().Get("Retry-After") != ""; got != (c.status == 503) {
				t.Errorf("Retry-After: got %t", got)
			}
		})
	}
}

func TestInvalid_WithFields_NamesThem(t *testing.T) {
	refusal := fmt.Errorf("%w: %w", store.ErrInvalid, models.Invalid("first", "charset", "must be storable"))
	b := newBenchOver(t, &hookStore{hook: func(context.Context) error { return refusal }}, nil)
	w := b.do(request{method: "DELETE", path: "/v1/employees/1"})
	if p := problemOf(t, w); w.Code != 422 || p.where() != "/first charset" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestCreate_OutcomeUnknown_TellsWhereToLook(t *testing.T) {
	b := newBenchOver(t, &createStore{}, nil)
	w := b.do(request{method: "POST", path: "/v1/employees", body: `{"id":7}`})
	if w.Code != 504 || w.Header().Get("Location") != "/v1/employees/7" {
		t.Errorf("got %d, Location %q", w.Code, w.Header().Get("Location"))
	}
}

type createStore struct{ memstore.Store }

func (*createStore) Create(context.Context, models.Employee) error { return store.ErrUnknownOutcome }

func TestDeadline_BoundsEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBenchOver(t, &hookStore{hook: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}, nil)
		begun := time.Now()
		w := b.do(request{method: "GET", path: "/v1/employees/1"})
		if p := problemOf(t, w); w.Code != 504 || p.Code != "timeout" || time.Since(begun) != defaultRequestTimeout {
			t.Errorf("got %d %s after %v", w.Code, p.Code, time.Since(begun))
		}
	})
}

func TestClientLeaves_RequestGoesOnAndIsLogged(t *testing.T) {
	for _, method := range []string{"GET", "DELETE"} {
		var seen error
		b := newBenchOver(t, &hookStore{hook: func(ctx context.Context) error {
			seen = ctx.Err()
			return fmt.Errorf("%w: connection lost", store.ErrUnknownOutcome)
		}}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, "/v1/employees/1", nil))
		if seen != nil {
			t.Errorf("%s: the store's context has ended: %v", method, seen)
		}
		for _, want := range []string{`"level":"ERROR"`, `"status":504`, "connection lost"} {
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("%s: log has no %s: %s", method, want, b.log)
			}
		}
	}
}

func TestPanic_Is500WithStackInTheLog(t *testing.T) {
	b := newBenchOver(t, &hookStore{hook: func(context.Context) error { panic("boom") }}, nil)
	w := b.do(request{method: "GET", path: "/v1/employees/1"})
	if p := problemOf(t, w); w.Code != 500 || p.Code != "internal" || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(b.log.String(), "boom") || !strings.Contains(b.log.String(), "failure_test.go") {
		t.Errorf("log: %s", b.log)
	}
}

func TestRequestID_IsTakenWhereHarmless(t *testing.T) {
	b := newBench(t)
	for given, taken := range map[string]bool{
		"abc-1.2_X": true, strings.Repeat("a", 128): true, "": false, strings.Repeat("a", 129): false, "a b": false, "a\nb": false, "é": false,
	} {
		w := b.do(request{method: "GET", path: "/v1/employees", headers: []string{"X-Request-Id:" + given}})
		if got := w.Header().Get("X-Request-Id"); (got == given) != taken || got == "" {
			t.Errorf("%q: got %q", given, got)
		}
	}
}

func TestAccessLog_HoldsNoQueryAndNoBody(t *testing.T) {
	b := newBench(t)
	b.do(request{method: "POST", path: "/v1/employees", body: `{"id":1,"first":"Classified"}`})
	b.do(request{method: "GET", path: "/v1/employees?first=Classified"})
	b.do(request{method: "POST", path: "/v1/employees", body: `{"first":1,"last":"Classified"}`})
	if strings.Contains(b.log.String(), "Classified") {
		t.Errorf("log: %s", b.log)
	}
	for _, want := range []string{`"route":"/v1/employees"`, `"status":201`, `"status":400`, `"backend":"sql"`, `"request_id":"`} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("log has no %s: %s", want, b.log)
		}
	}
}

func TestMetrics_LabelsAreBounded(t *testing.T) {
	backends := store.NewRegistry("sql")
	backends.Add("sql", &memstore.Store{})
	registry := prometheus.NewRegistry()
	b := &bench{t: t, router: New(backends, Options{Metrics: registry})}
	for i := range 20 {
		b.do(request{method: fmt.Sprintf("M%d", i), path: "/v1/employees"})
		b.do(request{method: "GET", path: fmt.Sprintf("/v1/employees/%d", i+1)})
		b.do(request{method: "GET", path: fmt.Sprintf("/nothing/%d", i)})
		b.do(request{method: "GET", path: "/v1/employees", headers: []string{fmt.Sprintf("X-Backend: b%d", i)}})
	}
	if got, err := testutil.GatherAndCount(registry, "ndbgate_http_request_duration_seconds"); err != nil || got != 4 {
		t.Errorf("series: got %d, %v, want 4", got, err)
	}
}
