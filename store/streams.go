package store

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
)

// Streams are the writes of which streams are made beside Batches.CreateEach:
// imports of any length, some hundred employees at a time.
type Streams interface {
	// SaveEach creates or replaces each employee, as so many calls of Save
	// without a precondition, of which a road may do some together: element i of
	// the result is for employee i, and has only an error. All else is as with
	// Batches.CreateEach: the IDs are all different, one that fails is no reason
	// for another one to fail, and the slice is not kept.
	SaveEach(ctx context.Context, employees []models.Employee) []ItemResult
}

var _ Streams = Unavailable{}

// SaveEach returns ErrUnavailable for each.
func (u Unavailable) SaveEach(_ context.Context, employees []models.Employee) []ItemResult {
	return FailedItems(len(employees), u.err())
}
