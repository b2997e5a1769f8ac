package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// PatchAll implements store.Batches: UPDATEs of many rows in one transaction.
func (s *Store) PatchAll(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) ([]models.Employee, error) {
	p := s.patching(updates, returnRows)
	if err := s.writeAll(ctx, p.batch); err != nil || !returnRows {
		return nil, err
	}
	return p.rows, nil
}

// PatchEach implements store.Batches: UPDATEs of many rows, each a transaction.
func (s *Store) PatchEach(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) []store.ItemResult {
	p := s.patching(updates, returnRows)
	results := s.writeEach(ctx, p.batch)
	for i, row := range p.rows {
		if results[i].Err == nil && results[i].Employee.ID == 0 { // it was none of the singles
			results[i].Employee = row
		}
	}
	return results
}

// patching is a batch of patches.
type patching struct {
	*batch
	store   *Store
	updates []models.EmployeeUpdate
	rows    []models.Employee // of all items, as the changes left them; nil: nobody wants them
}

func (s *Store) patching(updates []models.EmployeeUpdate, returnRows bool) *patching {
	p := &patching{
		batch: &batch{op: "patch", size: len(updates), operationsPerRow: 2},
		store: s, updates: updates,
	}
	if returnRows {
		p.rows = make([]models.Employee, len(updates))
	}
	p.id = func(i int) int64 { return updates[i].ID }
	p.values = func(i int) (*models.Employee, []models.Property) {
		return &updates[i].Patch.Values, updates[i].Patch.Set
	}
	p.step, p.look = p.update, p.absent
	p.single = func(ctx context.Context, i int) store.ItemResult {
		row, err := s.Patch(ctx, updates[i].ID, updates[i].Patch, store.PatchOptions{ReturnRow: returnRows})
		return store.ItemResult{Employee: row, Err: err}
	}
	return p
}

// update changes the rows by as few statements as it can, and looks at them afterwards where that
// is wanted, or where a rule needs it: they are locked by then, and what breaks the
// rule is rolled back.
func (p *patching) update(tx *gorm.DB, items []int) ([]error, error) {
	changed := slices.DeleteFunc(slices.Clone(items), func(i int) bool { return len(p.store.columnsSet(&p.updates[i].Patch)) == 0 })
	found := int64(0)
	for _, group := range p.byDates(changed) {
		query, args := p.statement(tx, group)
		result := tx.Exec(query, args...)
		if result.Error != nil {
			return nil, result.Error
		}
		found += result.RowsAffected
	}
	if found == int64(len(items)) && !p.looksAtRows(items) {
		return nil, nil
	}
	rows, err := rowsOf(tx, p.batch, items)
	if err != nil {
		return nil, err
	}
	there := int64(0)
	for _, i := range changed {
		if _, ok := rows[p.updates[i].ID]; ok {
			there++
		}
	}
	if there != found {
		return nil, errSomeAbsent // a row that came behind the statement
	}
	return p.judge(items, rows), nil
}

// byDates groups the items by the dates that they set. A statement for all of them
// would write back the dates that an item leaves alone, and the server refuses that
// for one which is none of the calendar, though others could store it.
func (p *patching) byDates(items []int) [][]int {
	var groups [][]int
	place := map[string]int{} // in groups, by the names of the dates
	for _, i := range items {
		names := ""
		for _, property := range dateProperties {
			if p.updates[i].Patch.Sets(property.Name) {
				names += property.Name + " "
			}
		}
		at, ok := place[names]
		if !ok {
			at = len(groups)
			place[names], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// dateProperties are those that hold a date.
var dateProperties = slices.DeleteFunc(models.EmployeeProperties(), func(p models.Property) bool {
	_, isDate := p.Pointer(new(models.Employee)).(**models.Date)
	return !isDate
})

// looksAtRows tells whether the rows must be read.
func (p *patching) looksAtRows(items []int) bool {
	return p.rows != nil || slices.ContainsFunc(items, func(i int) bool { return p.updates[i].Patch.NeedsRow() })
}

// judge looks at the rows as the changes have left them.
func (p *patching) judge(items []int, rows map[int64]models.Employee) []error {
	verdicts := make([]error, len(items))
	for k, i := range items {
		row, ok := rows[p.updates[i].ID]
		if !ok {
			verdicts[k] = store.ErrNotFound
			continue
		}
		// What the patch sets is there already, so that this is only its check.
		if _, err := p.updates[i].Patch.Merge(row); err != nil {
			verdicts[k] = fmt.Errorf("%w: %w", store.ErrInvalid, err)
			continue
		}
		if p.rows != nil {
			p.rows[i] = row
		}
	}
	return verdicts
}

// columnsSet lists what a patch sets, but for the primary key, which never changes.
func (s *Store) columnsSet(patch *models.EmployeePatch) []models.Property {
	if !patch.Sets(s.columns.byColumn[s.columns.primaryKey].Name) {
		return patch.Set
	}
	return slices.DeleteFunc(slices.Clone(patch.Set), func(p models.Property) bool {
		return s.columns.of(p) == s.columns.primaryKey
	})
}
