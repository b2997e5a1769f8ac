package ndbapi

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var _ store.Queries = (*Store)(nil)

// List implements store.Employees; plan.go says how.
func (s *Store) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	page := models.EmployeePage{Employees: []models.Employee{}}
	err := s.with(ctx, "list", 0, func(x *Session) (err error) {
		page.Next, err = x.Query(ctx, &page.Employees, queryOf(&q))
		return err
	})
	if err != nil {
		return models.EmployeePage{}, err
	}
	return page, nil
}

func queryOf(q *models.EmployeeQuery) Query {
	query := Query{Filter: q.Filter, Order: q.Order, After: q.After, Limit: q.Limit}
	if q.Fields != nil {
		query.Fields = make([]string, len(q.Fields))
		for i, p := range q.Fields {
			query.Fields[i] = p.Field
		}
	}
	return query
}

// Count implements store.Queries.
func (s *Store) Count(ctx context.Context, f models.Filter) (count int64, err error) {
	err = s.with(ctx, "count", 0, func(x *Session) (err error) {
		count, err = x.Count(ctx, &models.Employee{}, f)
		return err
	})
	return count, err
}

// Explain implements store.Queries. The dictionary is all that may have to be
// asked.
func (s *Store) Explain(ctx context.Context, q models.EmployeeQuery) (path store.AccessPath, err error) {
	err = s.with(ctx, "explain", 0, func(x *Session) error {
		t, err := x.begin(&models.Employee{}, false)
		if err != nil {
			return err
		}
		query := queryOf(&q)
		for t.next(ctx) {
			var p *plan
			if p, t.err = t.work.mapping.plan(&query); t.err == nil {
				path = p.path()
			}
		}
		return t.result(ctx)
	})
	return path, err
}

// path tells people about the plan.
func (p *plan) path() store.AccessPath {
	path := store.AccessPath{Access: store.AccessTableScan, Order: store.OrderSort, Ranges: p.texts}
	switch {
	case p.none:
		path.Access, path.Order = store.AccessNone, store.OrderNone
		return path
	case p.key != nil:
		path.Access, path.Order = store.AccessKey, store.OrderNone
		return path
	case p.scan.Index != nil:
		path.Access, path.Index, path.Descending = store.AccessIndexRange, p.scan.Index.Name, isDescending(p)
		if len(p.scan.Ranges) == 0 {
			path.Access = store.AccessIndexScan
		}
	}
	if !p.filter.SelectsAll() {
		path.Filter = p.filter.String()
	}
	switch {
	case p.inOrder():
		path.Order = store.OrderIndex
	case p.sorted > 0:
		path.Order = store.OrderIndexSort
	}
	if p.then != nil {
		then := p.then.path()
		path.Then, path.MaxRows = &then, int64(p.maxRows)
	}
	return path
}

func isDescending(p *plan) bool { return p.sorted > 0 && p.order[0].descending }
