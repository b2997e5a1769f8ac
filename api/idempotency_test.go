package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// onceBench is a bench whose store does to CreateOnce what a test wants.
type onceBench struct {
	*bench
	hooked *onceHook
}

type onceHook struct {
	memstore.Store
	hook func(ctx context.Context, create func() error) error // nil: create
	late bool                                                 // it may create after the deadline
	made int                                                  // calls that create
	wait func(ctx context.Context) error                      // WaitDurable; nil: at once
	disk int                                                  // calls of it
}

func (s *onceHook) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	return s.run(ctx, func(ctx context.Context) error { return s.Store.CreateOnce(ctx, e, a) })
}

func (s *onceHook) CreateAllOnce(ctx context.Context, employees []models.Employee, a models.KeptAnswer) error {
	return s.run(ctx, func(ctx context.Context) error { return s.Store.CreateAllOnce(ctx, employees, a) })
}

func (s *onceHook) run(ctx context.Context, create func(ctx context.Context) error) error {
	s.made++
	createCtx := ctx
	if s.late {
		createCtx = context.WithoutCancel(ctx)
	}
	if s.hook != nil {
		return s.hook(ctx, func() error { return create(createCtx) })
	}
	return create(createCtx)
}

func (s *onceHook) WaitDurable(ctx context.Context) error {
	s.disk++
	if s.wait != nil {
		return s.wait(ctx)
	}
	return nil
}

func newOnceBench(t *testing.T) *onceBench {
	t.Helper()
	s := &onceHook{}
	return &onceBench{bench: newBenchOver(t, s, &s.Store), hooked: s}
}

const (
	someKey = "Idempotency-Key: 8e03978e"
	aPerson = `{"first":"Ada","city":"Oslo"}`
)

// post creates an employee with a key, unless the headers have another one.
func (b *onceBench) post(body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do(request{"POST", "/v1/employees", body, append([]string{someKey}, headers...)})
}

// wantReplayed fails where the answer is not the first one once more.
func (b *onceBench) wantReplayed(got, first *httptest.ResponseRecorder) {
	b.t.Helper()
	if got.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
		b.t.Errorf("Idempotency-Replayed: got %q after %q", got.Header().Get("Idempotency-Replayed"), first.Header().Get("Idempotency-Replayed"))
	}
	if got.Code != first.Code || got.Body.String() != first.Body.String() {
		b.t.Errorf("got %d %s, want %d %s", got.Code, got.Body, first.Code, first.Body)
	}
	for _, name := range []string{"Location", "ETag", "Content-Type", "Content-Length", "Preference-Applied"} {
		if got, want := got.Header().Get(name), first.Header().Get(name); got != want {
			b.t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func (b *onceBench) wantProblem(w *httptest.ResponseRecorder, status int, code string) {
	b.t.Helper()
	if p := problemOf(b.t, w); w.Code != status || p.Code != code || w.Header().Get("Idempotency-Replayed") != "" {
		b.t.Errorf("got %d %s, want %d %s", w.Code, w.Body, status, code)
	}
}

func (b *onceBench) wantRows(n int) {
	b.t.Helper()
	if all := b.all(); len(all) != n {
		b.t.Errorf("got %d employees, want %d", len(all), n)
	}
}

func TestOnce_SentAgain_SameAnswerOnce(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		headers []string
	}{
		"id assigned": {aPerson, nil},
		"id given":    {`{"id":7,"first":"Ada"}`, nil},
		"minimal":     {aPerson, []string{"Prefer: return=minimal"}},
		"the other":   {aPerson, []string{"Prefer: return=representation"}},
		"not needed":  {aPerson, []string{"If-None-Match: *"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newOnceBench(t)
			first := b.post(c.body, c.headers...)
			if first.Code != http.StatusCreated {
				t.Fatalf("got %d %s", first.Code, first.Body)
			}
			b.wantReplayed(b.post(c.body, c.headers...), first)
			b.wantRows(1)
			w := b.do(request{"PUT", first.Header().Get("Location"), `{"first":"Changed"}`, nil})
			if w.Code != http.StatusOK {
				t.Fatalf("change: got %d", w.Code)
			}
			b.wantReplayed(b.post(c.body, c.headers...), first)
			if w := b.do(request{method: "DELETE", path: first.Header().Get("Location")}); w.Code != http.StatusNoContent {
				t.Fatalf("delete: got %d", w.Code)
			}
			b.wantReplayed(b.post(c.body, c.headers...), first)
			b.wantRows(0)
		})
	}
}

func TestOnce_AnotherRequestWithTheKey_IsRefused(t *testing.T) {
	b := newOnceBench(t)
	first := b.post(aPerson)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"another body":        b.post(`{"first":"Ada"}`),
		"the same in letters": b.post(aPerson + " "),
		"with an id":          b.post(`{"id":7,"first":"Ada","city":"Oslo"}`),
		"minimal":             b.post(aPerson, "Prefer: return=minimal"),
		"whatever Prefer":     b.post(aPerson, "Prefer: return=representation"),
	} {
		t.Run(name, func(t *testing.T) { b.wantProblem(w, http.StatusUnprocessableEntity, "idempotency_key_reused") })
	}
	b.wantRows(1)
	for _, header := range []string{"X-Request-Id: other", "Prefer: handling=lenient", "X-Durability: memory", "Content-Type: application/json; charset=utf-8"} {
		b.wantReplayed(b.post(aPerson, header), first)
	}
	b.wantRows(1)
}

func TestOnce_AnotherKey_IsAnotherWrite(t *testing.T) {
	b := newOnceBench(t)
	for i := range 3 {
		if w := b.post(aPerson, fmt.Sprintf("Idempotency-Key: %d", i)); w.Code != http.StatusCreated || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("got %d %v", w.Code, w.Header())
		}
	}
	if w := b.post(aPerson, "Idempotency-Key: -"); w.Code != http.StatusCreated {
		t.Errorf("without a key: got %d", w.Code)
	}
	b.wantRows(4)
	if b.hooked.made != 3 {
		t.Errorf("got %d writes that keep their answer, want 3", b.hooked.made)
	}
}

// What was not done keeps nothing: the next request with the key is a new try.
func TestOnce_AfterAProblem_TheKeyIsFree(t *testing.T) {
	b := newOnceBench(t)
	b.seed()
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"first":`, 400, "malformed_json"},
		{`{"salary":1}`, 400, "invalid_body"},
		{`{"department":0}`, 422, "validation_failed"},
		{`{"city":"😀"}`, 422, "validation_failed"},
		{`{"id":1}`, 409, "already_exists"},
		{`{"id":1}`, 409, "already_exists"},
	} {
		b.wantProblem(b.post(c.body), c.status, c.code)
	}
	b.do(request{method: "DELETE", path: "/v1/employees/1"})
	first := b.post(`{"id":1}`)
	if first.Code != http.StatusCreated {
		t.Errorf("got %d %s", first.Code, first.Body)
	}
	b.wantReplayed(b.post(`{"id":1}`), first)
}

func TestOnce_Keys(t *testing.T) {
	long := strings.Repeat("k", models.MaxIdempotencyKeyBytes)
	for name, key := range map[string]string{
		"one character": "k", "a UUID": "8e03978e-40d5-43dd-bc93-6894a57f9324", "base64": "a+b/c==", "marks": "!#$%&'*+-./:;<=>?@[]^_`{|}~()",
		"a backslash": `a\b`, "the longest": long, "the longest in quotes": `"` + long + `"`, "anything in quotes": `"a, b \"c\" \\"`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newOnceBench(t)
			first := b.post(aPerson, "Idempotency-Key: "+key)
			if first.Code != http.StatusCreated {
				t.Fatalf("got %d %s", first.Code, first.Body)
			}
			b.wantReplayed(b.post(aPerson, "Idempotency-Key: "+key), first)
		})
	}
	for name, keys := range map[string][2]string{
		"quotes are no part of it":      {`abc`, `"abc"`},
		"nor are escapes":               {`a\b`, `"a\\b"`},
		"spaces around it are no part":  {`abc`, `  abc `},
		"nor around one that is quoted": {`abc`, ` "abc"	`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newOnceBench(t)
			first := b.post(aPerson, "Idempotency-Key: "+keys[0])
			b.wantReplayed(b.post(aPerson, "Idempotency-Key: "+keys[1]), first)
		})
	}
	for name, key := range map[string]string{
		"nothing": "", "empty quotes": `""`, "too long": long + "k", "too long in quotes": `"` + long + `k"`, "a space": "a b", "a comma": "a,b",
		"a quote": `a"b`, "no end": `"abc`, "only a quote": `"`, "more behind the end": `"abc";a=1`, "a bad escape": `"a\b"`, "an escape at the end": `"a\`,
		"a letter beyond ASCII": "é", "a control character": "a\x01b", "the same in quotes": "\"a\x01b\"", "DEL": "a\x7f",
	} {
		t.Run(name+" is none", func(t *testing.T) {
			b := newOnceBench(t)
			w := b.post(aPerson, "Idempotency-Key: "+key)
			b.wantProblem(w, http.StatusBadRequest, "invalid_header")
			if p := problemOf(t, w); p.where() != "Idempotency-Key key" {
				t.Errorf("got %s", w.Body)
			}
			b.wantRows(0)
		})
	}
	t.Run("two are none", func(t *testing.T) {
		b := newOnceBench(t)
		b.wantProblem(b.post(aPerson, "+Idempotency-Key: other"), http.StatusBadRequest, "invalid_header")
	})
}

// Methods that can be repeated as they are have no use for a key.
func TestOnce_OtherMethods_PassTheKeyOver(t *testing.T) {
	b := newOnceBench(t)
	for i, q := range []request{
		{"PUT", "/v1/employees/1", `{}`, nil},
		{"PUT", "/v1/employees/1", `{"first":"B"}`, nil},
		{"PATCH", "/v1/employees/1", `{"first":"C"}`, nil},
		{"GET", "/v1/employees/1", "", nil},
		{"DELETE", "/v1/employees/1", "", nil},
	} {
		q.headers = []string{someKey}
		if w := b.do(q); w.Code >= 400 || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("request %d: got %d %s", i, w.Code, w.Body)
		}
	}
	if b.hooked.made != 0 {
		t.Errorf("got %d answers kept", b.hooked.made)
	}
}

func TestOnce_Twin_WaitsForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOnceBench(t)
		b.hooked.hook = func(_ context.Context, create func() error) error {
			<-time.After(5 * time.Second)
			return create()
		}
		const twins = 5
		answers := make([]*httptest.ResponseRecorder, twins)
		begun := time.Now()
		var running sync.WaitGroup
		running.Go(func() { answers[0] = b.post(aPerson) })
		synctest.Wait()
		b.hooked.hook = nil
		for i := 1; i < twins; i++ {
			running.Go(func() { answers[i] = b.post(aPerson) })
		}
		running.Wait()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("got all answers after %v, want them with the first", took)
		}
		for _, w := range answers[1:] {
			b.wantReplayed(w, answers[0])
		}
		b.wantRows(1)
	})
}

func TestOnce_TwinOfOneThatFails_TakesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOnceBench(t)
		b.hooked.hook = func(context.Context, func() error) error {
			<-time.After(time.Second)
			return store.ErrUnavailable
		}
		var first, second *httptest.ResponseRecorder
		var running sync.WaitGroup
		running.Go(func() { first = b.post(aPerson) })
		synctest.Wait()
		b.hooked.hook = nil
		running.Go(func() { second = b.post(aPerson) })
		running.Wait()
		b.wantProblem(first, http.StatusServiceUnavailable, "unavailable")
		if second.Code != http.StatusCreated || second.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("got %d %v", second.Code, second.Header())
		}
		b.wantRows(1)
	})
}

// The twin came later, but its deadline is its own.
func TestOnce_TwinThatWaitsToItsDeadline_IsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOnceBench(t)
		ended := make(chan struct{})
		b.hooked.late = true
		b.hooked.hook = func(_ context.Context, create func() error) error {
			<-ended
			return create()
		}
		var first *httptest.ResponseRecorder
		var running sync.WaitGroup
		running.Go(func() { first = b.post(aPerson) })
		synctest.Wait()
		begun := time.Now()
		w := b.post(aPerson)
		b.wantProblem(w, http.StatusConflict, "idempotency_key_in_use")
		if took := time.Since(begun); took != defaultRequestTimeout || w.Header().Get("Retry-After") == "" {
			t.Errorf("got it after %v with Retry-After %q, want %v and one", took, w.Header().Get("Retry-After"), defaultRequestTimeout)
		}
		close(ended)
		running.Wait()
		b.hooked.hook = nil
		b.wantReplayed(b.post(aPerson), first)
	})
}

// At another gateway it waits in the database.
func TestOnce_KeyInUseElsewhere_IsToldSo(t *testing.T) {
	b := newOnceBench(t)
	b.hooked.hook = func(ctx context.Context, _ func() error) error {
		return fmt.Errorf("%w: %w", store.ErrKeyInUse, context.DeadlineExceeded)
	}
	w := b.post(aPerson)
	b.wantProblem(w, http.StatusConflict, "idempotency_key_in_use")
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// The next try learns what became of it.
func TestOnce_UnknownOutcome_IsLearntByTheNextTry(t *testing.T) {
	for name, done := range map[string]bool{"done": true, "not done": false} {
		t.Run(name, func(t *testing.T) {
			b := newOnceBench(t)
			b.hooked.hook = func(_ context.Context, create func() error) error {
				var err error
				if done {
					err = create()
				}
				return errors.Join(fmt.Errorf("%w: the cluster was lost", store.ErrUnknownOutcome), err)
			}
			w := b.post(aPerson)
			b.wantProblem(w, http.StatusGatewayTimeout, "outcome_unknown")
			if p := problemOf(t, w); !strings.Contains(p.Detail, "Idempotency-Key") || !strings.Contains(b.log.String(), "the cluster was lost") {
				t.Errorf("got the detail %q, and in the log %s", p.Detail, b.log)
			}
			b.hooked.hook = nil
			again := b.post(aPerson)
			if again.Code != http.StatusCreated || (again.Header().Get("Idempotency-Replayed") != "") != done {
				t.Errorf("got %d %v, want the answer of the first time: %v", again.Code, again.Header(), done)
			}
			if done && again.Header().Get("Location") != w.Header().Get("Location") {
				t.Errorf("got %q, and before %q", again.Header().Get("Location"), w.Header().Get("Location"))
			}
			b.wantRows(1)
		})
	}
}

func TestOnce_AssignedIDTaken_KeepsTheAnswerOfTheLastOne(t *testing.T) {
	b := newOnceBench(t)
	tries := 0
	b.hooked.hook = func(_ context.Context, create func() error) error {
		if tries++; tries < 3 {
			return store.ErrConflict
		}
		return create()
	}
	first := b.post(aPerson)
	if first.Code != http.StatusCreated || tries != 3 {
		t.Fatalf("got %d after %d tries", first.Code, tries)
	}
	b.wantReplayed(b.post(aPerson), first)
	b.wantRows(1)
}

func TestOnce_AnswerExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOnceBench(t)
		first := b.post(aPerson)
		<-time.After(24*time.Hour - time.Millisecond)
		b.wantReplayed(b.post(aPerson), first)
		<-time.After(time.Millisecond)
		second := b.post(aPerson)
		if second.Code != http.StatusCreated || second.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("got %d %v, want a new write", second.Code, second.Header())
		}
		b.wantReplayed(b.post(aPerson), second)
		b.wantRows(2)
	})
}

// A kept answer is about a write that may be in memory alone.
func TestOnce_Disk_ReplaysWait(t *testing.T) {
	b := newOnceBench(t)
	first := b.post(aPerson)
	w := b.post(aPerson, durableDisk)
	b.wantReplayed(w, first)
	if w.Header().Get("X-Durability") != "disk" || b.hooked.disk != 1 {
		t.Errorf("got X-Durability %q after %d waits", w.Header().Get("X-Durability"), b.hooked.disk)
	}
	b.wantProblem(b.post(`{}`, durableDisk), http.StatusUnprocessableEntity, "idempotency_key_reused")
	if b.hooked.disk != 1 {
		t.Errorf("got %d waits, want none for a key of another request", b.hooked.disk)
	}
}

func TestOnce_DiskNotInTime_CanBeWaitedForAgain(t *testing.T) {
	b := newOnceBench(t)
	b.hooked.wait = func(context.Context) error { return context.DeadlineExceeded }
	var location string
	for range 2 {
		w := b.post(aPerson, durableDisk)
		b.wantProblem(w, http.StatusGatewayTimeout, "not_durable_yet")
		if p := problemOf(t, w); !strings.Contains(p.Detail, "Idempotency-Key") || strings.Contains(p.Detail, "do not repeat") {
			t.Errorf("got %q", p.Detail)
		}
		b.wantRows(1)
		location = w.Header().Get("Location")
	}
	b.hooked.wait = nil
	w := b.post(aPerson, durableDisk)
	if w.Code != http.StatusCreated || w.Header().Get("Idempotency-Replayed") == "" || w.Header().Get("X-Durability") != "disk" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	if got := w.Header().Get("Location"); got == "" || location == "" {
		t.Errorf("Location: got %q, and before %q", got, location)
	}
}

func TestOnce_NoTable_OnlyTheHeaderIsRefused(t *testing.T) {
	b := newOnceBench(t)
	b.hooked.hook = func(context.Context, func() error) error {
		return fmt.Errorf("%w: %w: table is missing", store.ErrNoAnswers, store.ErrUnavailable)
	}
	w := b.post(aPerson)
	b.wantProblem(w, http.StatusNotImplemented, "idempotency_unavailable")
	if !strings.Contains(problemOf(t, w).Detail, "deploy/schema.sql") {
		t.Errorf("got %s", w.Body)
	}
	if w := b.post(aPerson, "Idempotency-Key: -"); w.Code != http.StatusCreated {
		t.Errorf("without a key: got %d %s", w.Code, w.Body)
	}
}

func TestOnce_RoadDown_IsUnavailable(t *testing.T) {
	b := newOnceBench(t)
	b.wantProblem(b.post(aPerson, "X-Backend: ndb"), http.StatusServiceUnavailable, "unavailable")
}

// A gateway of another version has written it.
func TestOnce_UnreadableAnswer_IsNoWrite(t *testing.T) {
	b := newOnceBench(t)
	b.hooked.hook = func(_ context.Context, create func() error) error {
		err := create()
		if answered, ok := errors.AsType[*store.AnsweredError](err); ok {
			answered.Answer.Answer = []byte("strange")
		}
		return err
	}
	b.post(aPerson)
	b.wantProblem(b.post(aPerson), http.StatusInternalServerError, "internal")
	b.wantRows(1)
}

func TestReply_DecodeIsTheReverseOfEncode(t *testing.T) {
	for _, r := range []reply{
		{status: 201, location: "/v1/employees/7", etag: `"x"`, body: []byte("{\"first\":\"Å\"}\n")},
		{status: 200, body: []byte("{}\n\nLocation: x\n")},
		{status: 204, etag: `"x"`},
		{status: 200, body: []byte{}},
		{status: 200},
	} {
		got, err := decodeReply(r.encode())
		if err != nil || !reflect.DeepEqual(*got, r) {
			t.Errorf("got %+v (%v), want %+v", got, err, r)
		}
	}
	for _, text := range []string{"", "x", "99\n", "600\n", "-200\n", "201\nLocation: /x", "201\nX-Other: 1\n", "201\n:\n"} {
		if r, err := decodeReply([]byte(text)); err == nil {
			t.Errorf("%q: got %+v", text, r)
		}
	}
}
