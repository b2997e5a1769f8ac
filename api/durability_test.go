package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// diskStore is a memstore that can be asked to wait for the disk.
type diskStore struct {
	memstore.Store
	wait  func(context.Context) error
	waits int
	err   error // of every write, where set
	check error // of CheckDurable
}

func (s *diskStore) CheckDurable() error { return s.check }

func (s *diskStore) WaitDurable(ctx context.Context) error {
	s.waits++
	return s.wait(ctx)
}

func (s *diskStore) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	if s.err != nil {
		return s.err
	}
	return s.Store.Delete(ctx, id, pre)
}

func onDiskAtOnce(context.Context) error { return nil }

const durableDisk = "X-Durability: disk"

func TestDurability_Disk_AnswerSaysSo(t *testing.T) {
	const body = `{"id":1,"first":"Ada"}`
	steps := []struct {
		request
		status int
		etag   bool
	}{
		{request{"POST", "/v1/employees", body, nil}, 201, true},
		{request{"PUT", "/v1/employees/1", body, nil}, 200, true},
		{request{"PATCH", "/v1/employees/1", `{"first":"B"}`, nil}, 200, true},
		{request{"PATCH", "/v1/employees/1", `{"first":"C"}`, []string{"Prefer: return=minimal"}}, 204, false},
		{request{"PUT", "/v1/employees/1", body, []string{"If-Match: *", "Prefer: return=minimal"}}, 204, true},
		{request{"DELETE", "/v1/employees/1", "", nil}, 204, false},
		{request{"PUT", "/v1/employees/1", body, nil}, 201, true},
	}
	for level, waits := range map[string]int{"disk": 1, "memory": 0, "": 0} {
		s := &diskStore{wait: onDiskAtOnce}
		b := newBenchOver(t, s, &s.Store)
		for _, step := range steps {
			s.waits = 0
			q := step.request
			if level != "" {
				q.headers = append([]string{"X-Durability: " + level}, q.headers...)
			}
			w := b.do(q)
			if w.Code != step.status || w.Header().Get("X-Durability") != level || s.waits != waits {
				t.Errorf("%s %s: got %d, X-Durability %q and %d waits, want %d, %q and %d",
					level, step.method, w.Code, w.Header().Get("X-Durability"), s.waits, step.status, level, waits)
			}
			if got := w.Header().Get("ETag") != ""; got != step.etag {
				t.Errorf("%s %s: has an ETag: got %t, want %t", level, step.method, got, step.etag)
			}
		}
	}
}

// The wait would fail: better nothing is written.
func TestDurability_CannotWaitNow_NothingIsWritten(t *testing.T) {
	for _, q := range []request{
		{"POST", "/v1/employees", `{"id":2}`, nil},
		{"PUT", "/v1/employees/1", `{}`, nil},
		{"PATCH", "/v1/employees/1", `{"first":"B"}`, nil},
		{"DELETE", "/v1/employees/1", "", nil},
	} {
		s := &diskStore{wait: onDiskAtOnce, check: fmt.Errorf("%w: not connected", store.ErrUnavailable)}
		b := newBenchOver(t, s, &s.Store)
		b.seed()
		before := b.all()
		q.headers = []string{durableDisk}
		w := b.do(q)
		if p := problemOf(t, w); w.Code != http.StatusServiceUnavailable || p.Code != "unavailable" || w.Header().Get("Retry-After") == "" ||
			!strings.Contains(p.Detail, "leave out X-Durability: disk") || strings.Contains(p.Detail, "another backend") {
			t.Errorf("%s: got %d %s", q.method, w.Code, w.Body)
		}
		if after := b.all(); s.waits != 0 || !maps.Equal(after, before) {
			t.Errorf("%s: got %d waits and %v, want nothing done", q.method, s.waits, after)
		}
	}
}

// A write that is refused, or of which nobody knows, is not waited for.
func TestDurability_NothingWritten_NoWait(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		q    request
		code string
	}{
		{"precondition", nil, request{"PUT", "/v1/employees/1", `{}`, []string{`If-Match: "x"`}}, "precondition_failed"},
		{"not there", nil, request{"PATCH", "/v1/employees/9", `{}`, nil}, "not_found"},
		{"there", nil, request{"POST", "/v1/employees", `{"id":1}`, nil}, "already_exists"},
		{"broken rule", nil, request{"PUT", "/v1/employees/1", `{"department":0}`, nil}, "validation_failed"},
		{"unknown outcome", store.ErrUnknownOutcome, request{"DELETE", "/v1/employees/1", "", nil}, "outcome_unknown"},
		{"unavailable", store.ErrUnavailable, request{"DELETE", "/v1/employees/1", "", nil}, "unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &diskStore{wait: onDiskAtOnce, err: c.err}
			b := newBenchOver(t, s, &s.Store)
			b.seed()
			c.q.headers = append(c.q.headers, durableDisk)
			w := b.do(c.q)
			if p := problemOf(t, w); p.Code != c.code || s.waits != 0 || w.Header().Get("X-Durability") != "" {
				t.Errorf("got %s, %d waits and X-Durability %q, want %s and no wait", p.Code, s.waits, w.Header().Get("X-Durability"), c.code)
			}
		})
	}
}

// The row is committed: no answer may sound as if it were not, whatever kind of
// error ended the wait.
func TestDurability_WaitFails_TellsThatTheWriteIsDone(t *testing.T) {
	ended := map[string]error{
		"deadline":       fmt.Errorf("wait for disk: %w", context.DeadlineExceeded),
		"unavailable":    fmt.Errorf("%w: lost", store.ErrUnavailable),
		"unknown":        store.ErrUnknownOutcome,
		"conflict":       store.ErrConflict,
		"not found":      store.ErrNotFound,
		"a problem":      newProblem(codeUnavailable, "x"),
		"without a kind": errors.New("lost"),
	}
	for name, err := range ended {
		for _, q := range []request{
			{"POST", "/v1/employees", `{"id":2}`, nil},
			{"POST", "/v1/employees", `{}`, nil},
			{"PUT", "/v1/employees/2", `{}`, nil},
			{"PATCH", "/v1/employees/1", `{"first":"B"}`, []string{"Prefer: return=minimal"}},
			{"DELETE", "/v1/employees/1", "", nil},
		} {
			t.Run(name+"/"+q.method, func(t *testing.T) {
				s := &diskStore{wait: func(context.Context) error { return err }}
				b := newBenchOver(t, s, &s.Store)
				b.seed()
				before := b.all()
				q.headers = append(q.headers, durableDisk)
				w := b.do(q)
				p := problemOf(t, w)
				if w.Code != http.StatusGatewayTimeout || p.Code != "not_durable_yet" || !strings.Contains(p.Detail, "committed") || !strings.Contains(p.Detail, "do not repeat it") {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
				if w.Header().Get("X-Durability") != "memory" || w.Header().Get("Retry-After") != "" {
					t.Errorf("headers: got %v, want X-Durability: memory and no Retry-After", w.Header())
				}
				if got := strings.HasPrefix(w.Header().Get("Location"), "/v1/employees/"); got != (q.method == "POST") {
					t.Errorf("Location: got %q", w.Header().Get("Location"))
				}
				if s.waits != 1 {
					t.Errorf("got %d waits, want 1", s.waits)
				}
				if after := b.all(); maps.Equal(after, before) {
					t.Error("nothing was written")
				}
				if !strings.Contains(b.log.String(), "committed, but not known to be on disk: ") {
					t.Errorf("the log lacks the cause: %s", b.log)
				}
			})
		}
	}
}

func TestDurability_WaitsNoLongerThanTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &diskStore{wait: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		b := newBenchOver(t, s, &s.Store)
		begun := time.Now()
		w := b.do(request{"PUT", "/v1/employees/1", `{}`, []string{durableDisk}})
		if p := problemOf(t, w); p.Code != "not_durable_yet" || time.Since(begun) != defaultRequestTimeout {
			t.Errorf("got %s after %v, want not_durable_yet after %v", p.Code, time.Since(begun), defaultRequestTimeout)
		}
	})
}

func TestDurability_ServerTimingTellsTheWaitApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &diskStore{wait: func(context.Context) error {
			<-time.After(1500 * time.Millisecond)
			return nil
		}}
		w := newBenchOver(t, s, &s.Store).do(request{"PUT", "/v1/employees/1", `{}`, []string{durableDisk}})
		want := `backend;desc="sql";dur=0.000, disk;dur=1500.000, total;dur=1500.000`
		if got := w.Header().Get("Server-Timing"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// The assigned ID is taken: another one is tried, and the wait is for that.
func TestDurability_AssignedIDTaken_WaitsOnce(t *testing.T) {
	s := &takenDisk{takenStore: takenStore{taken: 2}}
	w := newBenchOver(t, s, nil).do(request{"POST", "/v1/employees", `{}`, []string{durableDisk}})
	if w.Code != 201 || s.waits != 1 || len(s.seen) != 3 {
		t.Errorf("got %d after %d tries and %d waits, want 201 after 3 and 1", w.Code, len(s.seen), s.waits)
	}
}

type takenDisk struct {
	takenStore
	waits int
}

func (s *takenDisk) WaitDurable(context.Context) error {
	s.waits++
	return nil
}
