package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Direct is a store in this process. It does not own the store.
type Direct struct {
	Store   store.Employees
	Timeout time.Duration // of one operation
}

// Open returns a session, which holds nothing.
func (d *Direct) Open(context.Context) (Session, error) {
	return &directSession{road: d.Store, timeout: d.Timeout, patch: models.EmployeePatch{Set: names()}}, nil
}

// Close does nothing.
func (d *Direct) Close() error { return nil }

// names are the properties that an update changes.
func names() []models.Property {
	var set []models.Property
	for _, name := range []string{"first", "last"} {
		p, ok := models.EmployeeProperty(name)
		if !ok {
			panic("target: no property " + name)
		}
		set = append(set, p)
	}
	return set
}

type directSession struct {
	road    store.Employees
	timeout time.Duration
	patch   models.EmployeePatch
}

func (s *directSession) Insert(ctx context.Context, e *models.Employee) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return storeError(s.road.Create(ctx, *e))
}

func (s *directSession) Select(ctx context.Context, id int64, e *models.Employee) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	found, err := s.road.Get(ctx, id)
	if err != nil {
		return storeError(err)
	}
	if found.ID != id {
		return &Error{Protocol, fmt.Errorf("got the row %d, want %d", found.ID, id)}
	}
	if e != nil {
		*e = found
	}
	return nil
}

func (s *directSession) Update(ctx context.Context, id int64, first, last string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.patch.Values.First, s.patch.Values.Last = &first, &last
	_, err := s.road.Patch(ctx, id, s.patch, store.PatchOptions{})
	return storeError(err)
}

func (s *directSession) Delete(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return storeError(s.road.Delete(ctx, id, store.Precondition{}))
}

func (s *directSession) List(ctx context.Context, city string, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	property, _ := models.EmployeeProperty("city")
	found, err := s.road.List(ctx, models.EmployeeQuery{Filter: models.Compare(property, models.OpEqual, city), Limit: limit})
	return len(found.Employees), storeError(err)
}

// Rows implements Ranges.
func (s *directSession) Rows(ctx context.Context, first, last int64, limit int) ([]models.Employee, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	page, err := s.road.List(ctx, models.EmployeeQuery{
		Filter: models.And(
			models.Compare(models.EmployeeKey, models.OpGreaterOrEqual, first),
			models.Compare(models.EmployeeKey, models.OpLessOrEqual, last)),
		Fields: append([]models.Property{models.EmployeeKey}, s.patch.Set...), Limit: limit,
	})
	return page.Employees, storeError(err)
}

// InsertAll implements Batches.
func (s *directSession) InsertAll(ctx context.Context, rows []models.Employee) error {
	batches, ok := s.road.(store.Batches)
	if !ok {
		return errNoBatches
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeouts*s.timeout)
	defer cancel()
	return storeError(batches.CreateAll(ctx, rows))
}

// DeleteAny implements Batches.
func (s *directSession) DeleteAny(ctx context.Context, ids []int64) error {
	batches, ok := s.road.(store.Batches)
	if !ok {
		return errNoBatches
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeouts*s.timeout)
	defer cancel()
	for _, item := range batches.DeleteEach(ctx, ids) {
		if item.Err != nil && !errors.Is(item.Err, store.ErrNotFound) {
			return storeError(item.Err)
		}
	}
	return nil
}

// batchTimeouts is how many timeouts of an operation a batch has, as in the
// gateway.
const batchTimeouts = 6

var errNoBatches = &Error{Other, errors.New("the store has no batches")}

func (s *directSession) Close() {}

// storeKinds are the kinds of the errors of package store. The first that fits
// counts: an unknown outcome may have a context's error beside it.
var storeKinds = []struct {
	err  error
	kind string
}{
	{store.ErrNotFound, NotFound},
	{store.ErrConflict, Conflict},
	{store.ErrInvalid, Invalid},
	{store.ErrUnknownOutcome, UnknownOutcome},
	{store.ErrUnavailable, Unavailable},
	{context.DeadlineExceeded, Timeout},
	{context.Canceled, Timeout},
}

func storeError(err error) error {
	if err == nil {
		return nil
	}
	for _, k := range storeKinds {
		if errors.Is(err, k.err) {
			return &Error{k.kind, err}
		}
	}
	return &Error{Other, err}
}
