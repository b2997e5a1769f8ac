package sqlstore

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Streams = (*Store)(nil)

// SaveEach implements store.Streams: INSERTs of many rows that replace what is
// there, each a transaction. Columns that the model lacks stay as they are.
func (s *Store) SaveEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	b := s.creation(employees)
	b.op = "save"
	columns := make([]string, 0, len(allProperties))
	for _, p := range allProperties {
		if column := s.columns.of(p); column != s.columns.primaryKey {
			columns = append(columns, column)
		}
	}
	replace := clause.OnConflict{DoUpdates: clause.AssignmentColumns(columns)}
	insert := b.step
	b.step = func(tx *gorm.DB, items []int) ([]error, error) { return insert(tx.Clauses(replace), items) }
	b.look = func(*gorm.DB, []int) ([]error, error) { return nil, nil } // no row is in the way
	b.single = func(ctx context.Context, i int) store.ItemResult {
		_, err := s.Save(ctx, employees[i], store.Precondition{})
		return store.ItemResult{Err: err}
	}
	return s.writeEach(ctx, b)
}
