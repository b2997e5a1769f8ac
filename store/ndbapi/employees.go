package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// with runs a call in a session of the pool, and says in its error what it was.
func (s *Store) with(ctx context.Context, op string, id int64, run func(x *Session) error) error {
	x, err := s.Session(ctx)
	if err == nil {
		defer x.Close()
		err = run(x)
	}
	switch {
	case err == nil:
		return nil
	case id == 0:
		return fmt.Errorf("%s: %w", op, err)
	default:
		return fmt.Errorf("%s employee %d: %w", op, id, err)
	}
}

// Get implements store.Employees: one read.
func (s *Store) Get(ctx context.Context, id int64) (models.Employee, error) {
	e := models.Employee{ID: id}
	if err := s.with(ctx, "get", id, func(x *Session) error { return x.Find(ctx, &e) }); err != nil {
		return models.Employee{}, err
	}
	return e, nil
}

// Create implements store.Employees: one insert.
func (s *Store) Create(ctx context.Context, e models.Employee) error {
	return s.with(ctx, "create", e.ID, func(x *Session) error { return x.Persist(ctx, &e) })
}

// Save implements store.Employees: one round trip, and two with a precondition on
// the stored row's values.
func (s *Store) Save(ctx context.Context, e models.Employee, pre store.Precondition) (created bool, err error) {
	err = s.with(ctx, "save", e.ID, func(x *Session) (err error) {
		switch {
		case pre.Absent:
			created = true
			return instead(x.Persist(ctx, &e), store.ErrConflict)
		case pre.Present:
			return instead(x.Update(ctx, &e), store.ErrNotFound)
		case pre.Matches != nil:
			row := models.Employee{ID: e.ID}
			return instead(x.change(ctx, &row, &e, s.employees.shape.all, holds(&row, pre)), store.ErrNotFound)
		default:
			created, err = x.Save(ctx, &e)
			return err
		}
	})
	return created && err == nil, err
}

// instead makes ErrPreconditionFailed of one kind of error.
func instead(err, kind error) error {
	if errors.Is(err, kind) {
		return store.ErrPreconditionFailed
	}
	return err
}

// holds checks the precondition against the stored row.
func holds(row *models.Employee, pre store.Precondition) func() error {
	return func() error {
		if !pre.HoldsFor(row) {
			return store.ErrPreconditionFailed
		}
		return nil
	}
}

// Delete implements store.Employees: one delete, or with a precondition on the
// stored row's values two round trips.
func (s *Store) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	row := models.Employee{ID: id}
	return s.with(ctx, "delete", id, func(x *Session) error {
		if !pre.Absent && pre.Matches == nil {
			return x.Delete(ctx, &row)
		}
		return x.change(ctx, &row, nil, nil, holds(&row, pre))
	})
}

// Patch implements store.Employees. One round trip: an update, which also checks
// the order of the dates and reads the row where that is asked. A precondition on
// the stored row's values takes two; so does a patch that the check refuses,
// because it knows less of strange dates than EmployeePatch.Merge.
func (s *Store) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	var patched models.Employee
	err := s.with(ctx, "patch", id, func(x *Session) (err error) {
		patched, err = s.patch(ctx, x, id, p, opts)
		return err
	})
	if err != nil || !opts.ReturnRow {
		return models.Employee{}, err
	}
	return patched, nil
}

func (s *Store) patch(ctx context.Context, x *Session, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	set := s.changed(&p)
	values := p.Values
	values.ID = id
	pre := opts.Precondition
	if len(set) == len(s.employees.shape.key) {
		row := models.Employee{ID: id}
		err := x.Find(ctx, &row)
		if err == nil {
			err = holds(&row, pre)()
		}
		return row, err
	}
	if !pre.Absent && pre.Matches == nil {
		row := values
		err := s.patchAtOnce(ctx, x, &row, set, &p, opts.ReturnRow)
		if !isConditionFalse(err) {
			return row, err
		}
	}
	row := models.Employee{ID: id}
	var merged models.Employee
	err := x.change(ctx, &row, &values, set, func() (err error) {
		if err := holds(&row, pre)(); err != nil {
			return err
		}
		if merged, err = p.Merge(row); err != nil {
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		merged.ID = id
		return nil
	})
	return merged, err
}

// changed lists the places of the fields of the key and of those that the patch
// sets. An ID in the patch is ignored.
func (s *Store) changed(p *models.EmployeePatch) []int {
	return s.appendChanged(make([]int, 0, len(s.employees.shape.key)+len(p.Set)), p)
}

func (s *Store) appendChanged(set []int, p *models.EmployeePatch) []int {
	shape := s.employees.shape
	set = append(set, shape.key...)
	for _, property := range p.Set {
		if i := shape.byName[property.Field]; !slices.Contains(set, i) {
			set = append(set, i)
		}
	}
	return set
}

func (s *Store) patchAtOnce(ctx context.Context, x *Session, row *models.Employee, set []int, p *models.EmployeePatch, read bool) error {
	return x.updateIf(ctx, row, set, conditionOf(p), read)
}

// conditionOf is what must hold for the stored row so that the patch may be
// applied; nil where nothing must.
func conditionOf(p *models.EmployeePatch) condition {
	if !p.NeedsRow() {
		return nil
	}
	return datesInOrder(p)
}

// datesInOrder holds where the date that a patch sets and the other one, which
// is stored, are in order. A stored 0000-00-00 is no date.
func datesInOrder(p *models.EmployeePatch) condition {
	return func(m *mapping) ndb.Filter {
		started, ended := m.columns[m.byName["Started"]], m.columns[m.byName["Ended"]]
		if p.Sets("ended") {
			return ndb.Or(ndb.IsNull(started), ndb.Le(started, asNDBDate(*p.Values.Ended)))
		}
		return ndb.Or(ndb.IsNull(ended), ndb.Ge(ended, asNDBDate(*p.Values.Started)), ndb.Eq(ended, ndb.Date{}))
	}
}
