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

func (s *scriptedStore) CreateAllOnce(ctx context.Context, employees []models.Employee, a models.KeptAnswer) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.CreateAllOnce(ctx, employees, a)
}

func (s *scriptedStore) PatchAllOnce(ctx context.Context, updates []models.EmployeeUpdate, a models.KeptAnswer) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.PatchAllOnce(ctx, updates, a)
}

func (s *scriptedStore) DeleteAllOnce(ctx context.Context, ids []int64, a models.KeptAnswer) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.DeleteAllOnce(ctx, ids, a)
}
