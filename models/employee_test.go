package models_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func valid(t *testing.T) models.Employee {
	t.Helper()
	return models.Employee{
		ID: 1, First: ptr("Ada"), Last: ptr("Lovelace"), City: ptr("London"),
		Started: ptr(date(t, "2001-02-03")), Ended: ptr(date(t, "2011-12-13")), Department: 7,
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *models.Employee)
		want   []models.FieldError
	}{
		"all set": {func(*models.Employee) {}, nil},
		"all null": {func(e *models.Employee) {
			*e = models.NewEmployee()
			e.ID = math.MaxInt64
		}, nil},
		"64 characters of many bytes": {func(e *models.Employee) { e.First = ptr(strings.Repeat("東", 64)) }, nil},
		"empty text":                  {func(e *models.Employee) { e.First, e.Last, e.City = ptr(""), ptr(""), ptr("") }, nil},
		"both dates on one day":       {func(e *models.Employee) { e.Ended = e.Started }, nil},
		"no ID":                       {func(e *models.Employee) { e.ID = 0 }, []models.FieldError{{Property: "id", Rule: "min", Message: "must be at least 1"}}},
		"department 0": {
			func(e *models.Employee) { e.Department = 0 },
			[]models.FieldError{{Property: "department", Rule: "min", Message: "must be at least 1"}},
		},
		"65 characters": {
			func(e *models.Employee) { e.Last = ptr(strings.Repeat("ø", 65)) },
			[]models.FieldError{{Property: "last", Rule: "max", Message: "must be at most 64 characters"}},
		},
		"not UTF-8": {
			func(e *models.Employee) { e.City = ptr("a\xff") },
			[]models.FieldError{{Property: "city", Rule: "utf8", Message: "must be valid UTF-8"}},
		},
		"date before the column's range": {
			func(e *models.Employee) { e.Started = ptr(date(t, "0999-12-31")) },
			[]models.FieldError{{Property: "started", Rule: "storable_date", Message: "must be a date from 1000-01-01 to 9999-12-31"}},
		},
		"no date at all": {
			func(e *models.Employee) { e.Ended, e.Started = &models.Date{}, nil },
			[]models.FieldError{{Property: "ended", Rule: "storable_date", Message: "must be a date from 1000-01-01 to 9999-12-31"}},
		},
		"ended before started": {
			func(e *models.Employee) { e.Ended = ptr(date(t, "2001-02-02")) },
			[]models.FieldError{{Property: "ended", Rule: "not_before_started", Message: "must not be before started"}},
		},
		"many at once, in the order of the struct": {
			func(e *models.Employee) {
				*e = models.Employee{ID: -1, First: ptr(strings.Repeat("x", 65)), City: ptr("\xff"), Started: e.Ended, Ended: e.Started}
			},
			[]models.FieldError{
				{Property: "id", Rule: "min", Message: "must be at least 1"},
				{Property: "first", Rule: "max", Message: "must be at most 64 characters"},
				{Property: "city", Rule: "utf8", Message: "must be valid UTF-8"},
				{Property: "department", Rule: "min", Message: "must be at least 1"},
				{Property: "ended", Rule: "not_before_started", Message: "must not be before started"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := valid(t)
			c.change(&e)
			wantFields(t, e.Validate(), c.want)
		})
	}
}

func wantFields(t *testing.T, err error, want []models.FieldError) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("got error %v, want none", err)
		}
		return
	}
	var broken *models.ValidationError
	if !errors.As(err, &broken) || !slices.Equal(broken.Fields, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

func TestValidationError_NamesAll(t *testing.T) {
	err := &models.ValidationError{Fields: []models.FieldError{
		{Property: "first", Rule: "max", Message: "must be at most 64 characters"},
		{Property: "ended", Rule: "not_before_started", Message: "must not be before started"},
	}}
	if got, want := err.Error(), "first must be at most 64 characters; ended must not be before started"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEmployeeProperties(t *testing.T) {
	var names, nullable []string
	for _, p := range models.EmployeeProperties() {
		names = append(names, p.Name)
		if p.Nullable {
			nullable = append(nullable, p.Name)
		}
	}
	if want := []string{"id", "first", "last", "city", "started", "ended", "department"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if want := []string{"first", "last", "city", "started", "ended"}; !slices.Equal(nullable, want) {
		t.Errorf("got nullable %v, want %v", nullable, want)
	}
	if _, ok := models.EmployeeProperty("municipality"); ok {
		t.Error("a column's name was taken for a property's")
	}
}

func TestEmployeeProperties_TheCallersSlice(t *testing.T) {
	clear(models.EmployeeProperties())
	if _, ok := models.EmployeeProperty("id"); !ok {
		t.Error("a caller changed the list")
	}
}

func TestProperty_Value(t *testing.T) {
	e := valid(t)
	want := map[string]any{
		"id": int64(1), "first": "Ada", "last": "Lovelace", "city": "London",
		"started": date(t, "2001-02-03"), "ended": date(t, "2011-12-13"), "department": int32(7),
	}
	for _, p := range models.EmployeeProperties() {
		if got := p.Value(&e); got != want[p.Name] {
			t.Errorf("%s: got %v, want %v", p.Name, got, want[p.Name])
		}
		if got := p.Value(&models.Employee{}); p.Nullable && got != nil {
			t.Errorf("%s: got %v, want nil", p.Name, got)
		}
	}
}

func TestProperty_Pointer(t *testing.T) {
	e := valid(t)
	city, _ := models.EmployeeProperty("city")
	*city.Pointer(&e).(**string) = ptr("Oslo")
	department, _ := models.EmployeeProperty("department")
	*department.Pointer(&e).(*int32) = 9
	if *e.City != "Oslo" || e.Department != 9 {
		t.Errorf("got %+v", e)
	}
}

func TestNewEmployee_HasTheColumnsDefaults(t *testing.T) {
	if got, want := models.NewEmployee(), (models.Employee{Department: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
