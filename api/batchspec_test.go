package api

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

func (s *scriptedStore) GetMany(ctx context.Context, ids []int64) []store.ItemResult {
	if s.failure != nil {
		return store.FailedItems(len(ids), s.failure)
	}
	return s.Store.GetMany(ctx, ids)
}

func (s *scriptedStore) CreateAll(ctx context.Context, employees []models.Employee) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.CreateAll(ctx, employees)
}

func (s *scriptedStore) PatchAll(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) ([]models.Employee, error) {
	if s.failure != nil {
		return nil, s.failure
	}
	return s.Store.PatchAll(ctx, updates, returnRows)
}

func (s *scriptedStore) DeleteAll(ctx context.Context, ids []int64) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.DeleteAll(ctx, ids)
}
