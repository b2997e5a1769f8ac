package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

const (
	randomBatches    = 150
	randomBatchIDs   = 12
	randomBatchItems = 8
)

// testRandom does batches on the store and on a map and compares.
func (s *batchSuite) testRandom(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("run again with -storetest.seed=%d", seed)
	r := &randomBatch{
		random:     random{Rand: rand.New(rand.NewPCG(seed, 1)), suite: &s.suite, rows: map[int64]models.Employee{}},
		batchSuite: s,
	}
	r.ids = s.newIDs(t, randomBatchIDs)
	ctx := testContext(t)
	for step := range randomBatches {
		switch r.IntN(3) {
		case 0:
			r.all(ctx, t)
		case 1:
			r.each(ctx, t)
		case 2:
			r.get(ctx, t)
		}
		if t.Failed() {
			t.Fatalf("at batch %d", step)
		}
	}
}

type randomBatch struct {
	random
	*batchSuite
}

// some are different IDs in any order.
func (r *randomBatch) some() []int64 {
	ids := make([]int64, 0, randomBatchItems)
	for _, i := range r.Perm(len(r.ids))[:1+r.IntN(randomBatchItems)] {
		ids = append(ids, r.ids[i])
	}
	return ids
}

func (r *randomBatch) get(ctx context.Context, t *testing.T) {
	ids := append(r.some(), r.some()...)
	for i, item := range r.batchSuite.store.GetMany(ctx, ids) {
		row, ok := r.rows[ids[i]]
		if !ok {
			wantKind(t, item.Err, store.ErrNotFound)
			continue
		}
		wantKind(t, item.Err, nil)
		wantEqual(t, item.Employee, row)
	}
}

// change is what a batch does to an item: nil is a delete.
type change func(row *models.Employee) (*models.Employee, error)

var errBadText = errors.New("text that cannot be stored")

// drawn is a batch: what it does to each item, and the calls that do it.
type drawn struct {
	ids     []int64
	changes []change
	all     func(context.Context) ([]models.Employee, error)
	each    func(context.Context) []store.ItemResult
}

// draw makes a batch of any kind.
func (r *randomBatch) draw() drawn {
	d := drawn{ids: r.some()}
	switch r.IntN(3) {
	case 0:
		r.drawCreates(&d)
	case 1:
		r.drawPatches(&d)
	case 2:
		r.drawDeletes(&d)
	}
	return d
}

func (r *randomBatch) drawCreates(d *drawn) {
	var employees []models.Employee
	for _, id := range d.ids {
		e := r.odd(r.employee(id))
		employees = append(employees, e)
		d.add(e.Last, func(row *models.Employee) (*models.Employee, error) {
			if row != nil {
				return nil, store.ErrConflict
			}
			return &e, nil
		})
	}
	d.all = func(ctx context.Context) ([]models.Employee, error) {
		return nil, r.batchSuite.store.CreateAll(ctx, employees)
	}
	d.each = func(ctx context.Context) []store.ItemResult { return r.batchSuite.store.CreateEach(ctx, employees) }
}

func (r *randomBatch) drawPatches(d *drawn) {
	var updates []models.EmployeeUpdate
	for _, id := range d.ids {
		patch := models.EmployeePatch{Values: r.odd(r.employee(id))}
		for _, p := range models.EmployeeProperties() {
			if r.IntN(3) == 0 {
				patch.Set = append(patch.Set, p)
			}
		}
		updates = append(updates, models.EmployeeUpdate{ID: id, Patch: patch})
		last := patch.Values.Last
		if !patch.Sets("last") {
			last = nil
		}
		d.add(last, func(row *models.Employee) (*models.Employee, error) {
			if row == nil {
				return nil, store.ErrNotFound
			}
			merged, err := patch.Merge(*row)
			if err != nil {
				return nil, store.ErrInvalid
			}
			return &merged, nil
		})
	}
	returnRows := r.IntN(2) == 0
	d.all = func(ctx context.Context) ([]models.Employee, error) {
		return r.batchSuite.store.PatchAll(ctx, updates, returnRows)
	}
	d.each = func(ctx context.Context) []store.ItemResult {
		return r.batchSuite.store.PatchEach(ctx, updates, returnRows)
	}
}

func (r *randomBatch) drawDeletes(d *drawn) {
	for range d.ids {
		d.add(nil, func(row *models.Employee) (*models.Employee, error) {
			if row == nil {
				return nil, store.ErrNotFound
			}
			return nil, nil
		})
	}
	d.all = func(ctx context.Context) ([]models.Employee, error) {
		return nil, r.batchSuite.store.DeleteAll(ctx, d.ids)
	}
	d.each = func(ctx context.Context) []store.ItemResult { return r.batchSuite.store.DeleteEach(ctx, d.ids) }
}

// badText is one that no column can store.
const badText = "😀"

// add takes the change of one item, which writes the text last. That is looked at
// before anything else.
func (d *drawn) add(last *string, then change) {
	if last != nil && *last == badText {
		then = func(*models.Employee) (*models.Employee, error) { return nil, errBadText }
	}
	d.changes = append(d.changes, then)
}

// odd gives few employees a bad text.
func (r *randomBatch) odd(e models.Employee) models.Employee {
	if r.IntN(40) == 0 {
		e.Last = ptr(badText)
	}
	return e
}

func (r *randomBatch) all(ctx context.Context, t *testing.T) {
	d := r.draw()
	after := make([]*models.Employee, len(d.ids))
	blamed, kind := -1, error(nil)
	for i, id := range d.ids {
		var err error
		after[i], err = d.changes[i](r.row(id))
		// A bad text is found in all items before anything else.
		if err != nil && (blamed < 0 || err == errBadText && kind != errBadText) {
			blamed, kind = i, err
		}
	}
	got, err := d.all(ctx)
	if blamed >= 0 {
		wantBlamed(t, err, blamed, kindOf(kind))
	} else {
		wantKind(t, err, nil)
		for i, id := range d.ids {
			r.put(id, after[i])
			if got != nil {
				wantEqual(t, got[i], *after[i])
			}
		}
	}
	r.check(t)
}

func (r *randomBatch) each(ctx context.Context, t *testing.T) {
	d := r.draw()
	for i, item := range d.each(ctx) {
		after, err := d.changes[i](r.row(d.ids[i]))
		wantKind(t, item.Err, kindOf(err))
		if err == nil {
			r.put(d.ids[i], after)
			if item.Employee.ID != 0 {
				wantEqual(t, item.Employee, *after)
			}
		}
	}
	r.check(t)
}

func kindOf(err error) error {
	if err == errBadText {
		return store.ErrInvalid
	}
	return err
}

func (r *randomBatch) put(id int64, row *models.Employee) {
	if row == nil {
		delete(r.rows, id)
		return
	}
	row.ID = id
	r.rows[id] = *row
}

// check compares all rows.
func (r *randomBatch) check(t *testing.T) {
	t.Helper()
	var rows []models.Employee
	for _, row := range r.rows {
		rows = append(rows, row)
	}
	r.wantRows(t, r.ids, rows)
}
