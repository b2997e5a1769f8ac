// Package memstore is the contract of store in its shortest form: a mutex and
// a map. Tests of the HTTP side use it; it keeps nothing.
package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// Store keeps employees in memory. The zero value is ready for use.
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

// List implements store.Employees.
func (s *Store) List(ctx context.Context, q models.EmployeeQuery) ([]models.Employee, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []models.Employee{}
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		if e := s.rows[id]; id > q.AfterID && len(found) < q.Limit && matchesAll(&e, q.Matches) {
			found = append(found, e)
		}
	}
	return found, nil
}

func matchesAll(e *models.Employee, matches []models.Match) bool {
	for _, m := range matches {
		if !equal(m.Property.Value(e), m.Value) {
			return false
		}
	}
	return true
}

func equal(a, b any) bool {
	textA, okA := a.(string)
	textB, okB := b.(string)
	if okA && okB {
		return strings.EqualFold(folded(textA), folded(textB))
	}
	return a == b
}

// folded takes off what utf8mb3_general_ci passes over beside case: spaces at
// the end, and accents, here those of Western Europe.
func folded(text string) string { return withoutAccents.Replace(strings.TrimRight(text, " ")) }

var withoutAccents = strings.NewReplacer(
	"À", "A", "Á", "A", "Â", "A", "Ã", "A", "Ä", "A", "Å", "A", "à", "a", "á", "a", "â", "a", "ã", "a", "ä", "a", "å", "a",
	"È", "E", "É", "E", "Ê", "E", "Ë", "E", "è", "e", "é", "e", "ê", "e", "ë", "e",
	"Ì", "I", "Í", "I", "Î", "I", "Ï", "I", "ì", "i", "í", "i", "î", "i", "ï", "i",
	"Ò", "O", "Ó", "O", "Ô", "O", "Õ", "O", "Ö", "O", "ò", "o", "ó", "o", "ô", "o", "õ", "o", "ö", "o",
	"Ù", "U", "Ú", "U", "Û", "U", "Ü", "U", "ù", "u", "ú", "u", "û", "u", "ü", "u",
	"Ç", "C", "ç", "c", "Ñ", "N", "ñ", "n", "Ý", "Y", "ý", "y", "ÿ", "y", "ß", "s",
)

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
		if strings.ContainsFunc(text, func(r rune) bool { return r > 0xFFFF }) {
			broken.Fields = append(broken.Fields, columnrule.Broken(p.Name, columnrule.Charset))
		}
	}
	if len(broken.Fields) > 0 {
		return fmt.Errorf("%w: %w", store.ErrInvalid, broken)
	}
	return nil
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
