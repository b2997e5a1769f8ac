package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// saveTries bounds the tries of an upsert whose row is deleted under it.
const saveTries = 8

// Create implements store.Employees: one INSERT.
func (s *Store) Create(ctx context.Context, e models.Employee) error {
	return s.insert(ctx, "create", &e)
}

func (s *Store) insert(ctx context.Context, op string, e *models.Employee) error {
	c := call{op: op, id: e.ID, write: true, values: e, set: allProperties}
	return s.do(ctx, c, func(db *gorm.DB) error { return db.Create(e).Error })
}

// Save implements store.Employees: one statement, or with a precondition on the
// stored row's values a transaction.
func (s *Store) Save(ctx context.Context, e models.Employee, pre store.Precondition) (created bool, err error) {
	c := call{op: "save", id: e.ID, write: true, values: &e, set: allProperties}
	switch {
	case pre.Absent:
		err := s.insert(ctx, c.op, &e)
		if errors.Is(err, store.ErrConflict) {
			return false, c.error("", store.ErrPreconditionFailed, nil)
		}
		return err == nil, err
	case pre.Present:
		return false, s.do(ctx, c, func(db *gorm.DB) error {
			return s.update(db, &e, e.ID, allProperties, store.ErrPreconditionFailed)
		})
	case pre.Matches != nil:
		return false, s.change(ctx, c, func(tx *gorm.DB) error {
			row, err := lockRow(tx, e.ID)
			if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && !pre.HoldsFor(&row) {
				return store.ErrPreconditionFailed
			}
			if err != nil {
				return err
			}
			return s.update(tx, &e, e.ID, allProperties, store.ErrPreconditionFailed)
		})
	default:
		err := s.do(ctx, c, func(db *gorm.DB) (err error) {
			for i := range saveTries {
				if i > 0 {
					s.retries.Add(1)
				}
				created, err = s.upsert(db, &e)
				if errorNumber(err) != errRowGone {
					break
				}
			}
			return err
		})
		return created && err == nil, err
	}
}

// upsert inserts the row or replaces the one that is there. The count of
// affected rows does not tell an insert from a replace that changes nothing;
// LAST_INSERT_ID does, which only the replace sets, to a number never used
// before: some servers go on sending the last one.
func (s *Store) upsert(db *gorm.DB, e *models.Employee) (created bool, err error) {
	mark := s.saves.Add(1)
	columns := make([]string, 0, len(allProperties))
	for _, p := range allProperties {
		if column := s.columns.of(p); column != s.columns.primaryKey {
			columns = append(columns, column)
		}
	}
	id := clause.Column{Name: s.columns.primaryKey}
	updates := append(clause.AssignmentColumns(columns),
		clause.Assignment{Column: id, Value: gorm.Expr("IF(LAST_INSERT_ID(?), ?, ?)", mark, id, id)})
	result := gorm.WithResult()
	if err := db.Clauses(result, clause.OnConflict{DoUpdates: updates}).Create(e).Error; err != nil {
		return false, err
	}
	last, err := result.Result.LastInsertId()
	return last != mark, err
}

// Patch implements store.Employees: one UPDATE where nothing has to be known of
// the stored row, else a transaction.
func (s *Store) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	p.Set = slices.DeleteFunc(slices.Clone(p.Set), func(set models.Property) bool {
		return s.columns.of(set) == s.columns.primaryKey
	})
	c := call{op: "patch", id: id, write: true, values: &p.Values, set: p.Set}
	if len(p.Set) == 0 {
		return s.patchNothing(ctx, id, opts)
	}
	pre := opts.Precondition
	if !opts.ReturnRow && !pre.Absent && pre.Matches == nil && !p.NeedsRow() {
		return models.Employee{}, s.do(ctx, c, func(db *gorm.DB) error {
			return s.update(db, &p.Values, id, p.Set, store.ErrNotFound)
		})
	}
	var merged models.Employee
	err := s.change(ctx, c, func(tx *gorm.DB) error {
		row, err := lockRow(tx, id)
		if err != nil {
			return err
		}
		if !pre.HoldsFor(&row) {
			return store.ErrPreconditionFailed
		}
		if merged, err = p.Merge(row); err != nil {
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		return s.update(tx, &p.Values, id, p.Set, store.ErrNotFound)
	})
	if err != nil || !opts.ReturnRow {
		return models.Employee{}, err
	}
	return merged, nil
}

// patchNothing only looks at the row.
func (s *Store) patchNothing(ctx context.Context, id int64, opts store.PatchOptions) (models.Employee, error) {
	c := call{op: "patch", id: id}
	row, err := s.get(ctx, c)
	if err != nil {
		return models.Employee{}, err
	}
	if !opts.Precondition.HoldsFor(&row) {
		return models.Employee{}, c.error("", store.ErrPreconditionFailed, nil)
	}
	if !opts.ReturnRow {
		return models.Employee{}, nil
	}
	return row, nil
}

// Delete implements store.Employees: one DELETE, or with a precondition a
// transaction.
func (s *Store) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	c := call{op: "delete", id: id, write: true}
	if !pre.Absent && pre.Matches == nil {
		return s.do(ctx, c, func(db *gorm.DB) error { return deleteRow(db, id) })
	}
	return s.change(ctx, c, func(tx *gorm.DB) error {
		row, err := lockRow(tx, id)
		if err != nil {
			return err
		}
		if !pre.HoldsFor(&row) {
			return store.ErrPreconditionFailed
		}
		return deleteRow(tx, id)
	})
}

// change runs a transaction that reads before it writes.
func (s *Store) change(ctx context.Context, c call, body func(tx *gorm.DB) error) error {
	return s.do(ctx, c, func(db *gorm.DB) error {
		return db.Transaction(body)
	})
}

// lockRow reads a row and keeps it locked until the transaction ends.
func lockRow(tx *gorm.DB, id int64) (models.Employee, error) {
	return takeRow(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), id)
}

// update writes the properties of e in set into the row, or returns absent
// where there is no such row.
func (s *Store) update(db *gorm.DB, e *models.Employee, id int64, set []models.Property, absent error) error {
	result := db.Model(&models.Employee{}).Where(hasID(id)).UpdateColumns(s.columns.assignments(e, set))
	if result.Error == nil && result.RowsAffected == 0 {
		return absent
	}
	return result.Error
}

func deleteRow(db *gorm.DB, id int64) error {
	result := db.Where(hasID(id)).Delete(&models.Employee{})
	if result.Error == nil && result.RowsAffected == 0 {
		return store.ErrNotFound
	}
	return result.Error
}
