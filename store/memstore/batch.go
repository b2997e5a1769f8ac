package memstore

import (
	"context"
	"fmt"
	"maps"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Batches = (*Store)(nil)

// GetMany implements store.Batches.
func (s *Store) GetMany(ctx context.Context, ids []int64) []store.ItemResult {
	return each(len(ids), func(i int) (models.Employee, error) { return s.Get(ctx, ids[i]) })
}

// CreateAll implements store.Batches.
func (s *Store) CreateAll(ctx context.Context, employees []models.Employee) error {
	for i := range employees {
		if err := checkCharset(&employees[i], models.EmployeeProperties()); err != nil {
			return &store.BatchError{Index: i, Err: err}
		}
	}
	return s.all(ctx, len(employees), func(rows map[int64]models.Employee, i int) error {
		e := employees[i]
		if _, taken := rows[e.ID]; taken {
			return store.ErrConflict
		}
		rows[e.ID] = e
		return nil
	})
}

// PatchAll implements store.Batches.
func (s *Store) PatchAll(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) ([]models.Employee, error) {
	for i := range updates {
		if err := checkCharset(&updates[i].Patch.Values, updates[i].Patch.Set); err != nil {
			return nil, &store.BatchError{Index: i, Err: err}
		}
	}
	var patched []models.Employee
	err := s.all(ctx, len(updates), func(rows map[int64]models.Employee, i int) error {
		id, p := updates[i].ID, &updates[i].Patch
		row, ok := rows[id]
		if !ok {
			return store.ErrNotFound
		}
		merged, err := p.Merge(row)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		merged.ID = id
		rows[id] = merged
		if returnRows {
			patched = append(patched, merged)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return patched, nil
}

// DeleteAll implements store.Batches.
func (s *Store) DeleteAll(ctx context.Context, ids []int64) error {
	return s.all(ctx, len(ids), func(rows map[int64]models.Employee, i int) error {
		if _, ok := rows[ids[i]]; !ok {
			return store.ErrNotFound
		}
		delete(rows, ids[i])
		return nil
	})
}

// all does the change of n items to a copy of the rows, which takes their place
// if no item fails.
func (s *Store) all(ctx context.Context, n int, change func(rows map[int64]models.Employee, i int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make(map[int64]models.Employee, len(s.rows)+n)
	maps.Copy(rows, s.rows)
	for i := range n {
		if err := change(rows, i); err != nil {
			return &store.BatchError{Index: i, Err: err}
		}
	}
	s.rows = rows
	return nil
}

// CreateEach implements store.Batches.
func (s *Store) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	return each(len(employees), func(i int) (models.Employee, error) {
		return models.Employee{}, s.Create(ctx, employees[i])
	})
}

// PatchEach implements store.Batches.
func (s *Store) PatchEach(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) []store.ItemResult {
	return each(len(updates), func(i int) (models.Employee, error) {
		return s.Patch(ctx, updates[i].ID, updates[i].Patch, store.PatchOptions{ReturnRow: returnRows})
	})
}

// DeleteEach implements store.Batches.
func (s *Store) DeleteEach(ctx context.Context, ids []int64) []store.ItemResult {
	return each(len(ids), func(i int) (models.Employee, error) {
		return models.Employee{}, s.Delete(ctx, ids[i], store.Precondition{})
	})
}

func each(n int, do func(i int) (models.Employee, error)) []store.ItemResult {
	items := make([]store.ItemResult, n)
	for i := range items {
		items[i].Employee, items[i].Err = do(i)
	}
	return items
}
