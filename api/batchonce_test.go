package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// batch sends a batch with a key, unless the headers have another one.
func (b *onceBench) batch(kind, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do(request{"POST", "/v1/employees:batch" + kind, body, append([]string{someKey}, headers...)})
}

// manyEmployees is a body that creates n employees, each third with an id.
func manyEmployees(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = `{"first":"Ada"}`
		if i%3 == 0 {
			items[i] = fmt.Sprintf(`{"id":%d}`, 1000+i)
		}
	}
	return `{"employees":[` + strings.Join(items, ",") + `]}`
}

func TestBatchOnce_SentAgain_SameAnswerOnce(t *testing.T) {
	const minimal, whole = "Prefer: return=minimal", "Prefer: return=representation"
	for name, c := range map[string]struct {
		kind, body string
		headers    []string
		rows       int // afterwards, of which there are 3 before
		changed    string
	}{
		"create":                      {"Create", `{"employees":[{"first":"A"},{"id":9},{"first":"B"}]}`, nil, 6, `{"employees":[{"first":"A"}]}`},
		"create with ids":             {"Create", `{"employees":[{"id":7},{"id":8}]}`, nil, 5, `{"employees":[{"id":7}]}`},
		"create, minimal":             {"Create", `{"employees":[{},{}]}`, []string{minimal}, 5, `{"employees":[{}]}`},
		"create, whole":               {"Create", `{"employees":[{},{}]}`, []string{whole}, 5, `{"employees":[{}]}`},
		"create many":                 {"Create", manyEmployees(900), nil, 903, `{"employees":[{}]}`},
		"update":                      {"Update", `{"updates":[{"id":1,"first":"A"},{"id":2,"department":5}]}`, nil, 3, `{"updates":[{"id":1,"first":"B"}]}`},
		"update, minimal":             {"Update", `{"updates":[{"id":3,"first":"A"}]}`, []string{minimal}, 3, `{"updates":[{"id":1,"first":"B"}]}`},
		"update, whole, which cannot": {"Update", `{"updates":[{"id":3,"first":"A"}]}`, []string{whole}, 3, `{"updates":[{"id":1,"first":"B"}]}`},
		"delete":                      {"Delete", `{"ids":[1,3]}`, nil, 1, `{"ids":[2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newOnceBench(t)
			if w := b.do(request{"POST", "/v1/employees:batchCreate", `{"employees":[{"id":1},{"id":2},{"id":3}]}`, nil}); w.Code != http.StatusOK {
				t.Fatalf("seed: got %d %s", w.Code, w.Body)
			}
			first := b.batch(c.kind, c.body, c.headers...)
			if first.Code != http.StatusOK {
				t.Fatalf("got %d %s", first.Code, first.Body)
			}
			b.wantRows(c.rows)
			before := b.all()
			b.wantReplayed(b.batch(c.kind, c.body, c.headers...), first)
			b.wantProblem(b.batch(c.kind, c.changed, c.headers...), http.StatusUnprocessableEntity, "idempotency_key_reused")
			b.wantProblem(b.post(aPerson), http.StatusUnprocessableEntity, "idempotency_key_reused")
			b.wantReplayed(b.batch(c.kind, c.body, c.headers...), first)
			if after := b.all(); len(after) != len(before) {
				t.Errorf("got %d employees, want the %d from before", len(after), len(before))
			}
			if strings.HasPrefix(name, "update, whole") && first.Header().Get("Preference-Applied") != "" {
				t.Errorf("Preference-Applied: got %q, which is not true", first.Header().Get("Preference-Applied"))
			}
		})
	}
}

func TestBatchOnce_ItemFails_TheKeyIsFree(t *testing.T) {
	b := newOnceBench(t)
	b.seed()
	for _, c := range []struct {
		kind, body string
		status     int
		code       string
	}{
		{"Create", `{"employees":[{"id":5},{"id":1}]}`, 409, "already_exists"},
		{"Update", `{"updates":[{"id":1,"first":"A"},{"id":99,"first":"A"}]}`, 404, "not_found"},
		{"Delete", `{"ids":[1,99]}`, 404, "not_found"},
		{"Create", `{"employees":[{"id":5,"department":0}]}`, 422, "validation_failed"},
		{"Create", `{"employees":[{"id":5},{"id":1}]}`, 409, "already_exists"},
	} {
		b.wantProblem(b.batch(c.kind, c.body), c.status, c.code)
		b.wantRows(1)
	}
	first := b.batch("Delete", `{"ids":[1]}`)
	if first.Code != http.StatusOK {
		t.Fatalf("got %d %s", first.Code, first.Body)
	}
	b.wantReplayed(b.batch("Delete", `{"ids":[1]}`), first)
	b.wantRows(0)
}

func TestBatchOnce_AssignedIDTaken_KeepsThoseOfTheLastTry(t *testing.T) {
	b := newOnceBench(t)
	tries := 0
	b.hooked.hook = func(_ context.Context, create func() error) error {
		if tries++; tries < 3 {
			return &store.BatchError{Index: 1, Err: store.ErrConflict}
		}
		return create()
	}
	const body = `{"employees":[{"first":"A"},{"first":"B"},{"id":7},{"first":"C"}]}`
	first := b.batch("Create", body)
	if first.Code != http.StatusOK || tries != 3 {
		t.Fatalf("got %d %s after %d tries", first.Code, first.Body, tries)
	}
	b.wantReplayed(b.batch("Create", body), first)
	b.wantRows(4)
}

func TestBatchOnce_UnknownOutcome_IsLearntByTheNextTry(t *testing.T) {
	const body = `{"employees":[{"first":"A"},{"first":"B"}]}`
	for name, done := range map[string]bool{"done": true, "not done": false} {
		t.Run(name, func(t *testing.T) {
			b := newOnceBench(t)
			b.hooked.hook = func(_ context.Context, create func() error) error {
				var err error
				if done {
					err = create()
				}
				return errors.Join(store.ErrUnknownOutcome, err)
			}
			w := b.batch("Create", body)
			b.wantProblem(w, http.StatusGatewayTimeout, "outcome_unknown")
			if p := problemOf(t, w); !strings.Contains(p.Detail, "Idempotency-Key") {
				t.Errorf("got %q", p.Detail)
			}
			b.hooked.hook = nil
			again := b.batch("Create", body)
			if again.Code != http.StatusOK || (again.Header().Get("Idempotency-Replayed") != "") != done {
				t.Errorf("got %d %v", again.Code, again.Header())
			}
			b.wantRows(2)
		})
	}
}

func TestBatchOnce_Disk_ReplaysWait(t *testing.T) {
	b := newOnceBench(t)
	const body = `{"employees":[{"id":1}]}`
	first := b.batch("Create", body)
	w := b.batch("Create", body, durableDisk)
	b.wantReplayed(w, first)
	if w.Header().Get("X-Durability") != "disk" || b.hooked.disk != 1 {
		t.Errorf("got X-Durability %q after %d waits", w.Header().Get("X-Durability"), b.hooked.disk)
	}
	b.hooked.wait = func(context.Context) error { return context.DeadlineExceeded }
	again := b.batch("Create", body, durableDisk)
	b.wantProblem(again, http.StatusGatewayTimeout, "not_durable_yet")
	if p := problemOf(t, again); !strings.Contains(p.Detail, "Idempotency-Key") {
		t.Errorf("got %q", p.Detail)
	}
}

// A batch that only reads can be sent again as it is.
func TestBatchOnce_Get_PassesTheKeyOver(t *testing.T) {
	b := newOnceBench(t)
	b.seed()
	for _, body := range []string{`{"ids":[1]}`, `{"ids":[1,2]}`} {
		if w := b.batch("Get", body); w.Code != http.StatusOK || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
}

func TestBatchBody_AssignedRuns(t *testing.T) {
	for _, c := range []struct {
		ids      []int64
		assigned []int
		want     string
	}{
		{[]int64{5}, nil, ""},
		{[]int64{5, 100, 101, 7, 102}, []int{1, 2, 4}, "100+3"},
		{[]int64{100, 200, 201, 300}, []int{0, 1, 2, 3}, "100+1 200+2 300+1"},
	} {
		b := batchOf(c.ids, c.assigned)
		if got := b.assignedRuns(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.ids, got, c.want)
		}
		other := batchOf(make([]int64, len(c.ids)), c.assigned)
		if err := other.reassignRuns(c.want); err != nil {
			t.Errorf("%q: %v", c.want, err)
		}
		for _, i := range c.assigned {
			if other.ids[i] != c.ids[i] || other.employees[i].ID != c.ids[i] {
				t.Errorf("%q: got the ids %v, want %v", c.want, other.ids, c.ids)
			}
		}
	}
	for _, runs := range []string{"", "1", "1+", "+2", "1+3", "1+1", "1+0 1+2", "1+-1", "1+2 5+1", "a+2"} {
		if err := batchOf(make([]int64, 2), []int{0, 1}).reassignRuns(runs); err == nil {
			t.Errorf("%q: got no error", runs)
		}
	}
}

func batchOf(ids []int64, assigned []int) *batchBody {
	b := newCreateBatch()
	b.ids, b.assigned = slices.Clone(ids), assigned
	for _, id := range ids {
		b.employees = append(b.employees, models.Employee{ID: id})
	}
	return b
}
