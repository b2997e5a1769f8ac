package memstore

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Streams = (*Store)(nil)

// SaveEach implements store.Streams.
func (s *Store) SaveEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	return each(len(employees), func(i int) (models.Employee, error) {
		_, err := s.Save(ctx, employees[i], store.Precondition{})
		return models.Employee{}, err
	})
}
