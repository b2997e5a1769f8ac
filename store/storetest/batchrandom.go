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

// newBatch draws a kind of batch: what it does to each item, and the calls that
// do it.
func (r *randomBatch) newBatch() (ids []int64, changes []change, all func(context.Context) ([]models.Employee, error), each func(context.Context) []store.ItemResult) {
	ids = r.some()
	returnRows := r.IntN(2) == 0
	switch r.IntN(3) {
	case 0:
		var employees []models.Employee
		for _, id := range ids {
			e := r.odd(r.employee(id))
			employees = append(employees, e)
			changes = append(changes, func(row *models.Employee) (*models.Employee, error) {
				if row != nil {
					return nil, store.ErrConflict
				}
				return &e, nil
			})
		}
		return ids, withTextChecks(changes, employees), func(ctx context.Context) ([]models.Employee, error) {
			return nil, r.batchSuite.store.CreateAll(ctx, employees)
		}, func(ctx context.Context) []store.ItemResult { return r.batchSuite.store.CreateEach(ctx, employees) }
	case 1:
		var updates []models.EmployeeUpdate
		var values []models.Employee
		for _, id := range ids {
			patch := models.EmployeePatch{Values: r.odd(r.employee(id))}
			var written models.Employee
			for _, p := range models.EmployeeProperties() {
				if r.IntN(3) == 0 {
					patch.Set = append(patch.Set, p)
					if p.Name == "last" {
						written.Last = patch.Values.Last
					}
				}
			}
			updates, values = append(updates, models.EmployeeUpdate{ID: id, Patch: patch}), append(values, written)
			changes = append(changes, func(row *models.Employee) (*models.Employee, error) {
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
		return ids, withTextChecks(changes, values), func(ctx context.Context) ([]models.Employee, error) {
			return r.batchSuite.store.PatchAll(ctx, updates, returnRows)
		}, func(ctx context.Context) []store.ItemResult {
			return r.batchSuite.store.PatchEach(ctx, updates, returnRows)
		}
	default:
		for range ids {
			changes = append(changes, func(row *models.Employee) (*models.Employee, error) {
				if row == nil {
					return nil, store.ErrNotFound
				}
				return nil, nil
			})
		}
		return ids, changes, func(ctx context.Context) ([]models.Employee, error) {
			return nil, r.batchSuite.store.DeleteAll(ctx, ids)
		}, func(ctx context.Context) []store.ItemResult { return r.batchSuite.store.DeleteEach(ctx, ids) }
	}
}

// odd gives few employees a text that no column can store.
func (r *randomBatch) odd(e models.Employee) models.Employee {
	if r.IntN(40) == 0 {
		e.Last = ptr("😀")
	}
	return e
}

// withTextChecks puts the look at the text before each change.
func withTextChecks(changes []change, values []models.Employee) []change {
	for i, then := range changes {
		if last := values[i].Last; last != nil && *last == "😀" {
			changes[i] = func(*models.Employee) (*models.Employee, error) { return nil, errBadText }
		} else {
			changes[i] = then
		}
	}
	return changes
}

func (r *randomBatch) all(ctx context.Context, t *testing.T) {
	ids, changes, all, _ := r.newBatch()
	after := make([]*models.Employee, len(ids))
	blamed, kind := -1, error(nil)
	for i, id := range ids {
		var err error
		after[i], err = changes[i](r.row(id))
		// A bad text is found in all items before anything else.
		if err != nil && (blamed < 0 || err == errBadText && kind != errBadText) {
			blamed, kind = i, err
		}
	}
	got, err := all(ctx)
	if blamed >= 0 {
		wantBlamed(t, err, blamed, kindOf(kind))
	} else {
		wantKind(t, err, nil)
		for i, id := range ids {
			r.put(id, after[i])
			if got != nil {
				wantEqual(t, got[i], *after[i])
			}
		}
	}
	r.check(t)
}

func (r *randomBatch) each(ctx context.Context, t *testing.T) {
	ids, changes, _, each := r.newBatch()
	for i, item := range each(ctx) {
		after, err := changes[i](r.row(ids[i]))
		wantKind(t, item.Err, kindOf(err))
		if err == nil {
			r.put(ids[i], after)
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
