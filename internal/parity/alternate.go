package parity

import (
	"context"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Alternate returns a store whose calls take the roads to one table in turn, so
// that a suite for one road tests what they do together. Safe for concurrent use.
func Alternate(roads ...store.Employees) store.Employees { return &alternating{roads: roads} }

type alternating struct {
	roads []store.Employees
	calls atomic.Uint64
}

func (a *alternating) next() store.Employees {
	return a.roads[(a.calls.Add(1)-1)%uint64(len(a.roads))]
}

func (a *alternating) Get(ctx context.Context, id int64) (models.Employee, error) {
	return a.next().Get(ctx, id)
}

func (a *alternating) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	return a.next().List(ctx, q)
}

func (a *alternating) Count(ctx context.Context, f models.Filter) (int64, error) {
	return a.next().(store.Queries).Count(ctx, f)
}

func (a *alternating) Explain(ctx context.Context, q models.EmployeeQuery) (store.AccessPath, error) {
	return a.next().(store.Queries).Explain(ctx, q)
}

func (a *alternating) Create(ctx context.Context, e models.Employee) error {
	return a.next().Create(ctx, e)
}

func (a *alternating) Save(ctx context.Context, e models.Employee, pre store.Precondition) (bool, error) {
	return a.next().Save(ctx, e, pre)
}

func (a *alternating) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	return a.next().Patch(ctx, id, p, opts)
}

func (a *alternating) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	return a.next().Delete(ctx, id, pre)
}
