// Package memstore is the contract of store in its shortest form: a mutex and
// maps. Tests of the HTTP side use it; nothing outlives the process.
package memstore

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// Store keeps employees in memory. The zero value is ready for use. It is
// safe for concurrent use.
type Store struct {
	mu      sync.Mutex // guards all below
	rows    map[int64]models.Employee
	answers map[answerKey]models.KeptAnswer
}

var _ store.Backend = (*Store)(nil)

// Get implements store.Employees.
func (s *Store) Get(ctx context.Context, id int64) (models.Employee, error) {
	if err := ctx.Err(); err != nil {
		return models.Employee{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.rows[id]
	if !ok {
		return models.Employee{}, store.ErrNotFound
	}
	return e, nil
}

// Create implements store.Employees.
func (s *Store) Create(ctx context.Context, e models.Employee) error {
	if err := checkCharset(&e, models.EmployeeProperties()); err != nil {
		return err
	}
	return s.write(ctx, e.ID, func(row *models.Employee) (*models.Employee, error) {
		if row != nil {
			return nil, store.ErrConflict
		}
		return &e, nil
	})
}

// Save implements store.Employees.
func (s *Store) Save(ctx context.Context, e models.Employee, pre store.Precondition) (created bool, err error) {
	if err := checkCharset(&e, models.EmployeeProperties()); err != nil {
		return false, err
	}
	err = s.write(ctx, e.ID, func(row *models.Employee) (*models.Employee, error) {
		if !pre.HoldsFor(row) {
			return nil, store.ErrPreconditionFailed
		}
		created = row == nil
		return &e, nil
	})
	return created, err
}

// Patch implements store.Employees.
func (s *Store) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	if err := checkCharset(&p.Values, p.Set); err != nil {
		return models.Employee{}, err
	}
	var result models.Employee
	err := s.write(ctx, id, func(row *models.Employee) (*models.Employee, error) {
		if err := checkStored(row, opts.Precondition); err != nil {
			return nil, err
		}
		merged, err := p.Merge(*row)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		merged.ID = id
		if opts.ReturnRow {
			result = merged
		}
		return &merged, nil
	})
	return result, err
}

// Delete implements store.Employees.
func (s *Store) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	return s.write(ctx, id, func(row *models.Employee) (*models.Employee, error) {
		return nil, checkStored(row, pre)
	})
}

func checkStored(row *models.Employee, pre store.Precondition) error {
	if row == nil {
		return store.ErrNotFound
	}
	if !pre.HoldsFor(row) {
		return store.ErrPreconditionFailed
	}
	return nil
}

// checkCharset refuses what utf8mb3, the character set of the original table,
// cannot store: characters of four bytes.
func checkCharset(e *models.Employee, set []models.Property) error {
	broken := &models.ValidationError{}
	for _, p := range set {
		text, _ := p.Value(e).(string)
		if !storable(text) {
			broken.Fields = append(broken.Fields, columnrule.Broken(p.Name, columnrule.Charset))
		}
	}
	if len(broken.Fields) > 0 {
		return fmt.Errorf("%w: %w", store.ErrInvalid, broken)
	}
	return nil
}

func storable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0xFFFF })
}

// write replaces the row of id by what change makes of it: nil means none, and
// an error leaves all as it was.
func (s *Store) write(ctx context.Context, id int64, change func(row *models.Employee) (*models.Employee, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var row *models.Employee
	if e, ok := s.rows[id]; ok {
		row = &e
	}
	changed, err := change(row)
	switch {
	case err != nil:
		return err
	case changed == nil:
		delete(s.rows, id)
	default:
		if s.rows == nil {
			s.rows = map[int64]models.Employee{}
		}
		s.rows[id] = *changed
	}
	return nil
}

// Ping always succeeds.
func (s *Store) Ping(context.Context) error { return nil }

// Status shows one node that is always up.
func (s *Store) Status() store.Status {
	return store.Status{Up: true, Nodes: []store.NodeStatus{{Address: "memory", Up: true}}}
}

// Close forgets nothing; the store can still be used.
func (s *Store) Close() error { return nil }
