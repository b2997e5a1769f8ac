// Package storetest is the suite that every road to the rows passes.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Run tests the store that open returns against the contract of
// store.Employees. The table may hold other rows: the suite works on IDs that
// it draws at random and leaves none of them behind. The columns of the table
// must be those of the original one, with text in utf8mb3.
func Run(t *testing.T, open func(t *testing.T) store.Employees) {
	s := &suite{
		store: open(t),
		// 2^62 and above: far from what a gateway assigns. The last digits
		// count the employees of this run.
		nextID: 1<<62 + rand.Int64N(1<<40)*idsPerRun,
	}
	t.Run("Values", s.testValues)
	t.Run("Create", s.testCreate)
	t.Run("Get", s.testGet)
	t.Run("Save", s.testSave)
	t.Run("Patch", s.testPatch)
	t.Run("PatchDates", s.testPatchDates)
	t.Run("Delete", s.testDelete)
	t.Run("List", s.testList)
	t.Run("ListText", s.testListText)
	t.Run("Filters", s.testFilters)
	t.Run("IndexedText", s.testIndexedText)
	t.Run("Orders", s.testOrders)
	t.Run("Pages", s.testPages)
	t.Run("Counts", s.testCounts)
	t.Run("RandomQueries", s.testRandomQueries)
	t.Run("Concurrency", s.testConcurrency)
	t.Run("EndedContext", s.testEndedContext)
	t.Run("RandomOperations", s.testRandomOperations)
}

const (
	idsPerRun   = 10_000
	testTimeout = 60 * time.Second
)

type suite struct {
	store  store.Employees
	nextID int64
}

// testContext bounds a test, so that a store that hangs fails it.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// newID returns an ID that no row has, and deletes its row after the test.
func (s *suite) newID(t *testing.T) int64 {
	t.Helper()
	s.nextID++
	s.cleanUp(t, s.nextID)
	return s.nextID
}

// cleanUpTries bounds how often a row that is locked is tried again.
const cleanUpTries = 10

func (s *suite) cleanUp(t *testing.T, id int64) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		var err error
		for range cleanUpTries {
			err = s.store.Delete(ctx, id, store.Precondition{})
			if err == nil || errors.Is(err, store.ErrNotFound) {
				return
			}
			if ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
				break
			}
		}
		t.Errorf("clean up: %v", err)
	})
}

// stored creates an employee with every property set.
func (s *suite) stored(t *testing.T) models.Employee {
	t.Helper()
	e := full(s.newID(t))
	s.create(t, e)
	return e
}

func (s *suite) create(t *testing.T, e models.Employee) {
	t.Helper()
	if err := s.store.Create(testContext(t), e); err != nil {
		t.Fatalf("create: %v", err)
	}
}

// wantStored fails where the stored row is not want.
func (s *suite) wantStored(t *testing.T, want models.Employee) {
	t.Helper()
	got, err := s.store.Get(testContext(t), want.ID)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	wantEqual(t, got, want)
}

func (s *suite) wantAbsent(t *testing.T, id int64) {
	t.Helper()
	_, err := s.store.Get(testContext(t), id)
	wantKind(t, err, store.ErrNotFound)
}

// full is a valid employee with every property set.
func full(id int64) models.Employee {
	return models.Employee{
		ID:         id,
		First:      ptr("Ada"),
		Last:       ptr("Lovelace"),
		City:       ptr("London"),
		Started:    date("2001-02-03"),
		Ended:      date("2011-12-13"),
		Department: 7,
	}
}

// bare is a valid employee with every property null that can be.
func bare(id int64) models.Employee {
	e := models.NewEmployee()
	e.ID = id
	return e
}

func ptr[T any](v T) *T { return &v }

func date(s string) *models.Date {
	d, err := models.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return &d
}

// property finds a property that the suite knows to exist.
func property(name string) models.Property {
	p, ok := models.EmployeeProperty(name)
	if !ok {
		panic("storetest: no property " + name)
	}
	return p
}

// patchOf sets the named properties to what they are in values.
func patchOf(values models.Employee, names ...string) models.EmployeePatch {
	p := models.EmployeePatch{Values: values}
	for _, name := range names {
		p.Set = append(p.Set, property(name))
	}
	return p
}

var kinds = []error{
	store.ErrNotFound, store.ErrConflict, store.ErrInvalid,
	store.ErrPreconditionFailed, store.ErrUnavailable, store.ErrUnknownOutcome,
	store.ErrKeyInUse, store.ErrNoAnswers, store.ErrBatchTooLarge,
}

// wantKind fails where err is not of that kind, or of another one too. A nil
// kind asks for no error.
func wantKind(t *testing.T, err, want error) {
	t.Helper()
	if want == nil && err != nil {
		t.Fatalf("got error %v, want none", err)
	}
	for _, kind := range kinds {
		if got := errors.Is(err, kind); got != (kind == want) {
			t.Fatalf("got error %q, is it %q: %v; want %q", text(err), kind, got, text(want))
		}
	}
}

// wantInvalid fails where err does not say that just this property is bad.
func wantInvalid(t *testing.T, err error, property, rule string) {
	t.Helper()
	wantKind(t, err, store.ErrInvalid)
	var broken *models.ValidationError
	if !errors.As(err, &broken) || len(broken.Fields) != 1 {
		t.Fatalf("got error %q, want a validation error of one property", text(err))
	}
	got := broken.Fields[0]
	if got.Property != property || got.Rule != rule || got.Message == "" {
		t.Fatalf("got %+v, want property %s, rule %s and a message", got, property, rule)
	}
}

func wantEqual(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %s\nwant %s", show(got), show(want))
	}
}

func text(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return string(b)
}
