package parity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// planted is a road with one fault.
type planted struct {
	store.Backend
	get    func(e models.Employee, err error) (models.Employee, error)
	list   func(q models.EmployeeQuery, found []models.Employee) []models.Employee
	save   func(e models.Employee) models.Employee
	patch  func(p *models.EmployeePatch, err error) error
	delete func(err error) error

	createAll  func(employees []models.Employee) []models.Employee
	createEach func(results []store.ItemResult) []store.ItemResult
	createOnce func(err error) error
	deleteAll  func(err error) error
}

func (p *planted) Get(ctx context.Context, id int64) (models.Employee, error) {
	e, err := p.Backend.Get(ctx, id)
	if p.get != nil {
		return p.get(e, err)
	}
	return e, err
}

func (p *planted) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	found, err := p.Backend.List(ctx, q)
	if p.list != nil {
		found.Employees = p.list(q, found.Employees)
	}
	return found, err
}

func (p *planted) Save(ctx context.Context, e models.Employee, pre store.Precondition) (bool, error) {
	if p.save != nil {
		e = p.save(e)
	}
	return p.Backend.Save(ctx, e, pre)
}

func (p *planted) Patch(ctx context.Context, id int64, patch models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	e, err := p.Backend.Patch(ctx, id, patch, opts)
	if p.patch != nil {
		err = p.patch(&patch, err)
	}
	return e, err
}

func (p *planted) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	err := p.Backend.Delete(ctx, id, pre)
	if p.delete != nil {
		return p.delete(err)
	}
	return err
}

func (p *planted) CreateAll(ctx context.Context, employees []models.Employee) error {
	if p.createAll != nil {
		employees = p.createAll(employees)
	}
	return p.Backend.CreateAll(ctx, employees)
}

func (p *planted) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	results := p.Backend.CreateEach(ctx, employees)
	if p.createEach != nil {
		return p.createEach(results)
	}
	return results
}

func (p *planted) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	err := p.Backend.CreateOnce(ctx, e, a)
	if p.createOnce != nil {
		return p.createOnce(err)
	}
	return err
}

func (p *planted) DeleteAll(ctx context.Context, ids []int64) error {
	err := p.Backend.DeleteAll(ctx, ids)
	if p.deleteAll != nil {
		return p.deleteAll(err)
	}
	return err
}

// SaveEach implements store.Streams, which a store.Backend has by the way.
func (p *planted) SaveEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	return p.Backend.(store.Streams).SaveEach(ctx, employees)
}

// sound is twins of one table each, on which both roads are the same.
func sound() [2]Twin {
	a, b := &memstore.Store{}, &memstore.Store{}
	return [2]Twin{{NDB: a, SQL: a}, {NDB: b, SQL: b}}
}

// faulty has a fault on one road.
func faulty(fault planted) [2]Twin {
	twins := sound()
	for i := range twins {
		road := fault
		road.Backend = twins[i].NDB
		twins[i].NDB = &road
	}
	return twins
}

const selfTestSeed = 1

func TestFind_SameRoads_FindsNothing(t *testing.T) {
	Run(t, sound(), Config{Steps: 5000})
}

// Every planted fault is found, with a history that needs no more than it has to.
func TestFind_PlantedFault_IsFoundAndShortened(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute under the race detector, which has nothing to find in one goroutine")
	}
	for name, c := range map[string]struct {
		fault planted
		steps int // of the shortest history, at most
		shows string
	}{
		"a text loses a space at its end": {planted{save: func(e models.Employee) models.Employee {
			if e.City != nil && strings.HasSuffix(*e.City, " ") {
				trimmed := strings.TrimSuffix(*e.City, " ")
				e.City = &trimmed
			}
			return e
		}}, 2, ` \\"`},
		"empty text reads as null": {planted{get: func(e models.Employee, err error) (models.Employee, error) {
			if e.First != nil && *e.First == "" {
				e.First = nil
			}
			return e, err
		}}, 2, `"first":""`},
		"an ID beyond 2^53 loses its last bit": {planted{list: func(_ models.EmployeeQuery, found []models.Employee) []models.Employee {
			for i := range found {
				found[i].ID = int64(float64(found[i].ID))
			}
			return found
		}}, 2, "9007199254740993"},
		"a page begins a row too late": {planted{list: func(q models.EmployeeQuery, found []models.Employee) []models.Employee {
			if q.After != nil && len(found) > 0 {
				return found[1:]
			}
			return found
		}}, 6, "page_token"},
		"an empty patch of no row succeeds": {planted{patch: func(p *models.EmployeePatch, err error) error {
			if len(p.Set) == 0 {
				return nil
			}
			return err
		}}, 1, "not.found"},
		"a delete of no row succeeds": {planted{delete: func(error) error { return nil }}, 1, "not.found"},
		"of all that is wrong only one is told": {planted{patch: func(_ *models.EmployeePatch, err error) error {
			return onlyFirst(err)
		}}, 1, "charset"},
		"an error has another kind": {planted{get: func(e models.Employee, err error) (models.Employee, error) {
			if err != nil {
				return e, store.ErrUnavailable
			}
			return e, nil
		}}, 1, "503"},
		"a batch forgets its last item": {planted{createAll: func(employees []models.Employee) []models.Employee {
			if len(employees) > 2 {
				return employees[:len(employees)-1]
			}
			return employees
		}}, 1, "batchCreate"},
		"a batch blames the next item": {planted{deleteAll: func(err error) error {
			if failed, ok := errors.AsType[*store.BatchError](err); ok {
				return &store.BatchError{Index: max(0, failed.Index-1), Err: failed.Err}
			}
			return err
		}}, 2, "batchDelete"},
		"of many rows one that exists is no error": {planted{createEach: func(results []store.ItemResult) []store.ItemResult {
			for i := range results {
				if errors.Is(results[i].Err, store.ErrConflict) {
					results[i].Err = nil
				}
			}
			return results
		}}, 2, "partial|:import"},
		"a key is forgotten": {planted{createOnce: func(err error) error {
			if _, ok := errors.AsType[*store.AnsweredError](err); ok {
				return nil
			}
			return err
		}}, 3, "done again|key_reused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Find(t.Context(), faulty(c.fault), Config{Seed: selfTestSeed, Steps: 20_000, MaxDifferences: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Differences) != 1 {
				t.Fatalf("got no difference in %d steps", found.Steps)
			}
			d := found.Differences[0]
			if d.Steps() > c.steps || !regexp.MustCompile(c.shows).MatchString(d.String()) {
				t.Errorf("got a history of %d steps, want at most %d that show %q:\n%s", d.Steps(), c.steps, c.shows, d)
			}
		})
	}
}

// onlyFirst leaves one of several bad properties.
func onlyFirst(err error) error {
	var broken *models.ValidationError
	if errors.As(err, &broken) && len(broken.Fields) > 1 {
		return fmt.Errorf("%w: %w", store.ErrInvalid, &models.ValidationError{Fields: broken.Fields[:1]})
	}
	return err
}

func TestGenerator_SameSeed_SameSteps(t *testing.T) {
	steps := func(seed uint64) (all []string) {
		g := newGenerator(rand.New(rand.NewPCG(seed, 0)), true)
		for range 1000 {
			all = append(all, g.next().String())
		}
		return all
	}
	if !slices.Equal(steps(7), steps(7)) {
		t.Error("the same seed gave other steps")
	}
	if slices.Equal(steps(7), steps(8)) {
		t.Error("another seed gave the same steps")
	}
}
