package ndbapi

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Batches = (*Store)(nil)

// trainRows is how many rows of a batch go in one round trip: more are no faster,
// and take memory here and in the coordinator.
const trainRows = 512

var employeeType = reflect.TypeFor[models.Employee]()

// batch is what a batch of writes does to each of its items.
type batch struct {
	op   string // for errors
	size int
	id   func(i int) int64

	// fill sets row to what item i writes, with its ID, and returns the places of
	// the fields that count. The slice is good until the next call.
	fill func(i int, row *models.Employee) (set []int)

	// kind is what the operations do; see patch for updates.
	kind  batchKind
	patch func(i int) *models.EmployeePatch
	rows  []models.Employee // where updates put what they leave; nil: nowhere

	keep *models.KeptAnswer // in the same transaction; nil: none
}

type batchKind uint8

const (
	batchInsert batchKind = iota + 1
	batchUpdate
	batchDelete
	batchSave
)

func (s *Store) creation(employees []models.Employee) *batch {
	return &batch{
		op: "create", size: len(employees), kind: batchInsert,
		id: func(i int) int64 { return employees[i].ID },
		fill: func(i int, row *models.Employee) []int {
			*row = employees[i]
			return s.employees.shape.all
		},
	}
}

func (s *Store) patching(updates []models.EmployeeUpdate, rows []models.Employee) *batch {
	var set []int
	return &batch{
		op: "patch", size: len(updates), kind: batchUpdate, rows: rows,
		id: func(i int) int64 { return updates[i].ID },
		fill: func(i int, row *models.Employee) []int {
			*row = updates[i].Patch.Values
			row.ID = updates[i].ID
			set = s.appendChanged(set[:0], &updates[i].Patch)
			return set
		},
		patch: func(i int) *models.EmployeePatch { return &updates[i].Patch },
	}
}

func (s *Store) deletion(ids []int64) *batch {
	return &batch{
		op: "delete", size: len(ids), kind: batchDelete,
		id: func(i int) int64 { return ids[i] },
		fill: func(i int, row *models.Employee) []int {
			*row = models.Employee{ID: ids[i]}
			return s.employees.shape.key
		},
	}
}

// itemError says what was done to item i.
func (b *batch) itemError(i int, err error) error {
	return fmt.Errorf("%s employee %d: %w", b.op, b.id(i), err)
}

// sets tells whether a set of fields has any beside the key.
func (s *Store) sets(set []int) bool { return len(set) > len(s.employees.shape.key) }

// CreateAll implements store.Batches; see writeAll.
func (s *Store) CreateAll(ctx context.Context, employees []models.Employee) error {
	return s.writeAll(ctx, s.creation(employees))
}

// PatchAll implements store.Batches; see writeAll.
func (s *Store) PatchAll(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) ([]models.Employee, error) {
	var rows []models.Employee
	if returnRows {
		rows = make([]models.Employee, len(updates))
	}
	if err := s.writeAll(ctx, s.patching(updates, rows)); err != nil {
		return nil, err
	}
	return rows, nil
}

// DeleteAll implements store.Batches; see writeAll.
func (s *Store) DeleteAll(ctx context.Context, ids []int64) error {
	return s.writeAll(ctx, s.deletion(ids))
}

// GetMany implements store.Batches: trains of reads, one after another, in one
// session.
func (s *Store) GetMany(ctx context.Context, ids []int64) []store.ItemResult {
	results := make([]store.ItemResult, len(ids))
	done := 0
	err := s.with(ctx, "get many", 0, func(x *Session) error {
		for done < len(ids) {
			n := min(trainRows, len(ids)-done)
			if err := x.findMany(ctx, ids[done:done+n], results[done:done+n]); err != nil {
				return err
			}
			done += n
		}
		return nil
	})
	for i := done; i < len(ids); i++ {
		results[i] = store.ItemResult{Err: err}
	}
	return results
}

// findMany reads employees in one round trip.
func (x *Session) findMany(ctx context.Context, ids []int64, results []store.ItemResult) error {
	t, err := x.beginType(employeeType, reflect.Value{}, false)
	if err != nil {
		return err
	}
	for t.next(ctx) {
		t.err = t.findMany(ctx, ids, results)
	}
	return t.result(ctx)
}

func (t *tries) findMany(ctx context.Context, ids []int64, results []store.ItemResult) error {
	w := t.work
	row := models.Employee{}
	key := func(v *ndb.Values, id int64) error {
		row.ID = id
		return w.mapping.encode(v, w.mapping.key, reflect.ValueOf(&row).Elem())
	}
	if err := key(w.values, ids[0]); err != nil {
		return err
	}
	tx, err := t.client.Begin(ctx, w.values)
	if err != nil {
		return err
	}
	defer tx.Close()
	rows, ops := make([]ndb.Row, len(ids)), make([]*ndb.Operation, len(ids))
	for i, id := range ids {
		if err := key(w.values, id); err != nil {
			return err
		}
		ops[i] = tx.Read(w.values, w.mapping.read, &rows[i], ndb.CommittedRead)
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	for i, op := range ops {
		switch err := op.Err(); {
		case isClass(err, ndb.ClassNoDataFound):
			results[i] = store.ItemResult{Err: store.ErrNotFound}
		case err != nil:
			return err
		default:
			results[i] = store.ItemResult{}
			if err := w.decoder.decode(w.mapping, &rows[i], reflect.ValueOf(&results[i].Employee).Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}
