package ndbapi

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Streams = (*Store)(nil)

// SaveEach implements store.Streams; see writeEach. A write of NDB inserts or
// replaces, and does not tell which of the two it did: nobody asks.
func (s *Store) SaveEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	b := s.creation(employees)
	b.op, b.kind = "save", batchSave
	return s.writeEach(ctx, b, false)
}
