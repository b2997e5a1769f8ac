package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Batches = (*Store)(nil)

// stepRows is how many rows of a batch go in one statement: more are no faster. It
// keeps the statement far below the 65,535 placeholders that the protocol allows.
const stepRows = 256

// batch is what a batch of writes does to each of its items.
type batch struct {
	op   string // for errors
	size int
	id   func(i int) int64

	// values are what item i stores; nothing where it deletes.
	values func(i int) (values *models.Employee, set []models.Property)

	// step does some items by as few statements as it can. Where it cannot tell which
	// of them fail it returns an error, and the transaction must be rolled back; else
	// element k of the verdicts is about items[k]: nil where it is done. A step with
	// an ErrInvalid among the verdicts must be rolled back too.
	step func(tx *gorm.DB, items []int) (verdicts []error, err error)

	// look tells without writing which of the items would fail for a row that is
	// there, or is not.
	look func(tx *gorm.DB, items []int) (verdicts []error, err error)

	// single does one item by the call for one employee.
	single func(ctx context.Context, i int) store.ItemResult

	once *once // keeps an answer in the same transaction; nil: none

	operationsPerRow int  // in NDB, without unique indexes
	autocommits      bool // a step is one statement, and so a transaction by itself
}

// CreateAll implements store.Batches: INSERTs of many rows in one transaction.
func (s *Store) CreateAll(ctx context.Context, employees []models.Employee) error {
	return s.writeAll(ctx, s.creation(employees))
}

// CreateEach implements store.Batches: INSERTs of many rows, each a transaction.
func (s *Store) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	return s.writeEach(ctx, s.creation(employees))
}

func (s *Store) creation(employees []models.Employee) *batch {
	b := &batch{op: "create", size: len(employees), operationsPerRow: 1, autocommits: true}
	b.id = func(i int) int64 { return employees[i].ID }
	b.values = func(i int) (*models.Employee, []models.Property) { return &employees[i], allProperties }
	b.step = func(tx *gorm.DB, items []int) ([]error, error) {
		rows := make([]models.Employee, len(items))
		for k, i := range items {
			rows[k] = employees[i]
		}
		return nil, tx.Create(rows).Error
	}
	b.look = func(tx *gorm.DB, items []int) ([]error, error) {
		return b.verdicts(tx, items, func(exists bool) error {
			if exists {
				return store.ErrConflict
			}
			return nil
		})
	}
	b.single = func(ctx context.Context, i int) store.ItemResult {
		return store.ItemResult{Err: s.Create(ctx, employees[i])}
	}
	return b
}

// DeleteAll implements store.Batches: DELETEs of many rows in one transaction.
func (s *Store) DeleteAll(ctx context.Context, ids []int64) error {
	return s.writeAll(ctx, s.deletion(ids))
}

// DeleteEach implements store.Batches: DELETEs of many rows, each a transaction.
func (s *Store) DeleteEach(ctx context.Context, ids []int64) []store.ItemResult {
	return s.writeEach(ctx, s.deletion(ids))
}

// errSomeAbsent says that a statement has not found all rows that it names.
var errSomeAbsent = fmt.Errorf("%w: rows came or went meanwhile", store.ErrUnavailable)

func (s *Store) deletion(ids []int64) *batch {
	b := &batch{op: "delete", size: len(ids), operationsPerRow: 1}
	b.id = func(i int) int64 { return ids[i] }
	b.values = func(int) (*models.Employee, []models.Property) { return nil, nil }
	b.step = func(tx *gorm.DB, items []int) ([]error, error) {
		deleted := tx.Where(hasIDIn(b, items)).Delete(&models.Employee{})
		if deleted.Error == nil && deleted.RowsAffected != int64(len(items)) {
			return nil, errSomeAbsent
		}
		return nil, deleted.Error
	}
	b.look = b.absent
	b.single = func(ctx context.Context, i int) store.ItemResult {
		return store.ItemResult{Err: s.Delete(ctx, ids[i], store.Precondition{})}
	}
	return b
}

// GetMany implements store.Batches: SELECTs of many rows, one after another.
func (s *Store) GetMany(ctx context.Context, ids []int64) []store.ItemResult {
	results := make([]store.ItemResult, len(ids))
	b := &batch{id: func(i int) int64 { return ids[i] }}
	for first := 0; first < len(ids); first += stepRows {
		items := span(first, min(first+stepRows, len(ids)))
		var found map[int64]models.Employee
		err := s.do(ctx, call{op: "get many"}, func(db *gorm.DB) (err error) {
			found, err = rowsOf(db, b, items)
			return err
		})
		if err != nil {
			return append(results[:first], store.FailedItems(len(ids)-first, err)...)
		}
		for _, i := range items {
			var ok bool
			if results[i].Employee, ok = found[ids[i]]; !ok {
				results[i].Err = store.ErrNotFound
			}
		}
	}
	return results
}

// span lists the integers from first on up to end.
func span(first, end int) []int {
	items := make([]int, 0, end-first)
	for i := first; i < end; i++ {
		items = append(items, i)
	}
	return items
}

// isOfItem tells whether an error of a step is due to one of its items.
func isOfItem(err error) bool {
	if errors.Is(err, errSomeAbsent) || isKind(err) {
		return true
	}
	v, ok := verdictOfError(err)
	return ok && (v.kind == store.ErrConflict || v.kind == store.ErrInvalid)
}
