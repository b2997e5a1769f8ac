package storetest

import (
	"context"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var seedFlag = flag.Uint64("storetest.seed", 0, "seed of the random operations; 0 takes another one each time")

const (
	randomSteps = 600
	randomIDs   = 6
)

func newRandom(t *testing.T, s *suite) *random {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("run again with -storetest.seed=%d", seed)
	r := &random{Rand: rand.New(rand.NewPCG(seed, 0)), suite: s, rows: map[int64]models.Employee{}}
	for range randomIDs {
		r.ids = append(r.ids, s.newID(t))
	}
	return r
}

// testRandomOperations does the same on the store and on a map and compares.
func (s *suite) testRandomOperations(t *testing.T) {
	r := newRandom(t, s)
	ctx := testContext(t)
	for step := range randomSteps {
		r.step(ctx, t)
		if t.Failed() {
			t.Fatalf("at step %d", step)
		}
	}
}

type random struct {
	*rand.Rand
	*suite
	ids  []int64
	rows map[int64]models.Employee // what should be stored
}

func (r *random) step(ctx context.Context, t *testing.T) {
	id := pick(r, r.ids)
	switch r.IntN(6) {
	case 0:
		r.get(ctx, t, id)
	case 1:
		r.create(ctx, t, id)
	case 2:
		r.save(ctx, t, id)
	case 3:
		r.patch(ctx, t, id)
	case 4:
		r.delete(ctx, t, id)
	case 5:
		r.list(ctx, t)
	}
}

func pick[T any](r *random, choices []T) T { return choices[r.IntN(len(choices))] }

func (r *random) row(id int64) *models.Employee {
	if e, ok := r.rows[id]; ok {
		return &e
	}
	return nil
}

func (r *random) get(ctx context.Context, t *testing.T, id int64) {
	got, err := r.store.Get(ctx, id)
	if row := r.row(id); row != nil {
		wantKind(t, err, nil)
		wantEqual(t, got, *row)
	} else {
		wantKind(t, err, store.ErrNotFound)
	}
}

func (r *random) create(ctx context.Context, t *testing.T, id int64) {
	e := r.employee(id)
	err := r.store.Create(ctx, e)
	if r.row(id) != nil {
		wantKind(t, err, store.ErrConflict)
		return
	}
	wantKind(t, err, nil)
	r.rows[id] = e
}

func (r *random) save(ctx context.Context, t *testing.T, id int64) {
	e, pre, row := r.employee(id), r.precondition(), r.row(id)
	created, err := r.store.Save(ctx, e, pre)
	if !pre.HoldsFor(row) {
		wantKind(t, err, store.ErrPreconditionFailed)
		return
	}
	wantKind(t, err, nil)
	wantEqual(t, created, row == nil)
	r.rows[id] = e
}

func (r *random) patch(ctx context.Context, t *testing.T, id int64) {
	patch := models.EmployeePatch{Values: r.employee(id)}
	for _, p := range models.EmployeeProperties() {
		if r.IntN(3) == 0 {
			patch.Set = append(patch.Set, p)
		}
	}
	opts := store.PatchOptions{Precondition: r.precondition(), ReturnRow: r.IntN(2) == 0}
	row := r.row(id)
	got, err := r.store.Patch(ctx, id, patch, opts)
	switch {
	case row == nil:
		wantKind(t, err, store.ErrNotFound)
		return
	case !opts.Precondition.HoldsFor(row):
		wantKind(t, err, store.ErrPreconditionFailed)
		return
	}
	merged, errMerge := patch.Merge(*row)
	if errMerge != nil {
		wantInvalid(t, err, "ended", "not_before_started")
		return
	}
	wantKind(t, err, nil)
	if opts.ReturnRow {
		wantEqual(t, got, merged)
	}
	r.rows[id] = merged
}

func (r *random) delete(ctx context.Context, t *testing.T, id int64) {
	pre, row := r.precondition(), r.row(id)
	err := r.store.Delete(ctx, id, pre)
	switch {
	case row == nil:
		wantKind(t, err, store.ErrNotFound)
	case !pre.HoldsFor(row):
		wantKind(t, err, store.ErrPreconditionFailed)
	default:
		wantKind(t, err, nil)
		delete(r.rows, id)
	}
}

func (r *random) list(ctx context.Context, t *testing.T) {
	after := r.ids[0] - 1 + r.Int64N(randomIDs)
	q := models.EmployeeQuery{After: models.Cursor{after}, Limit: randomIDs}
	// An ID keeps the rows of others out.
	matches := []models.Filter{match("id", pick(r, r.ids))}
	sample := r.employee(pick(r, r.ids))
	for _, p := range models.EmployeeProperties() {
		if value := p.Value(&sample); value != nil && r.IntN(4) == 0 {
			matches = append(matches, match(p.Name, value))
		}
	}
	q.Filter = models.And(matches...)
	want := []models.Employee{}
	for _, id := range r.ids {
		if row := r.row(id); row != nil && id > after && holds(q.Filter, row) == yes {
			want = append(want, *row)
		}
	}
	r.wantListed(t, q, want...)
}

// employee is a valid one out of few values, so that they often meet.
func (r *random) employee(id int64) models.Employee {
	texts := []*string{nil, ptr(""), ptr("a"), ptr("A"), ptr("b  "), ptr(strings.Repeat("ø", 64))}
	e := models.Employee{
		ID: id, First: pick(r, texts), Last: pick(r, texts), City: pick(r, texts),
		Started:    pick(r, []*models.Date{nil, date("1000-01-01"), date("2001-02-03"), date("2020-02-29")}),
		Ended:      pick(r, []*models.Date{nil, date("2001-02-03"), date("2020-02-29"), date("9999-12-31")}),
		Department: pick(r, []int32{1, 2, 2147483647}),
	}
	if e.Validate() != nil { // ended before started
		e.Ended = nil
	}
	return e
}

func (r *random) precondition() store.Precondition {
	switch department := pick(r, []int32{1, 2}); r.IntN(6) {
	case 0:
		return absent
	case 1:
		return present
	case 2:
		return store.Precondition{Matches: func(e *models.Employee) bool { return e.Department == department }}
	default:
		return store.Precondition{}
	}
}
