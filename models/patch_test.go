package models_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func patchOf(t *testing.T, values models.Employee, names ...string) models.EmployeePatch {
	t.Helper()
	p := models.EmployeePatch{Values: values}
	for _, name := range names {
		property, ok := models.EmployeeProperty(name)
		if !ok {
			t.Fatalf("no property %s", name)
		}
		p.Set = append(p.Set, property)
	}
	return p
}

func TestPatch_Merge_ChangesOnlyWhatIsSet(t *testing.T) {
	current := valid(t)
	values := models.Employee{First: ptr("Grace"), City: ptr("not set"), Department: 9}
	p := patchOf(t, values, "first", "last", "department")
	got, err := p.Merge(current)
	if err != nil {
		t.Fatal(err)
	}
	want := current
	want.First, want.Last, want.Department = values.First, nil, 9
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(current, valid(t)) {
		t.Errorf("the current row was changed: %+v", current)
	}
}

func TestPatch_Merge_Empty(t *testing.T) {
	got, err := new(models.EmployeePatch).Merge(valid(t))
	if err != nil || !reflect.DeepEqual(got, valid(t)) {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestPatch_Merge_ComparesDatesWithTheRow(t *testing.T) {
	early, late := ptr(date(t, "1999-01-01")), ptr(date(t, "2020-01-01"))
	refused := []models.FieldError{{Property: "ended", Rule: "not_before_started", Message: "must not be before started"}}
	for name, c := range map[string]struct {
		patch models.EmployeePatch
		want  []models.FieldError
	}{
		"ended before the stored started": {patchOf(t, models.Employee{Ended: early}, "ended"), refused},
		"started after the stored ended":  {patchOf(t, models.Employee{Started: late}, "started"), refused},
		"ended after the stored started":  {patchOf(t, models.Employee{Ended: late}, "ended"), nil},
		"started null":                    {patchOf(t, models.Employee{}, "started"), nil},
		"both moved":                      {patchOf(t, models.Employee{Started: late, Ended: late}, "started", "ended"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.patch.Merge(valid(t))
			wantFields(t, err, c.want)
		})
	}
}

// A row that others left in a bad state can be mended in part.
func TestPatch_Merge_LooksOnlyAtRulesItTouches(t *testing.T) {
	bad := valid(t)
	bad.Started, bad.Ended = bad.Ended, bad.Started
	p := patchOf(t, models.Employee{First: ptr("Grace")}, "first")
	if _, err := p.Merge(bad); err != nil {
		t.Errorf("got error %v", err)
	}
}

func TestPatch_NeedsRow(t *testing.T) {
	d := ptr(date(t, "2020-01-01"))
	for name, c := range map[string]struct {
		patch models.EmployeePatch
		want  bool
	}{
		"nothing":      {models.EmployeePatch{}, false},
		"text":         {patchOf(t, models.Employee{First: ptr("x"), Ended: d}, "first"), false},
		"started":      {patchOf(t, models.Employee{Started: d}, "started"), true},
		"ended":        {patchOf(t, models.Employee{Ended: d}, "ended"), true},
		"both":         {patchOf(t, models.Employee{Started: d, Ended: d}, "started", "ended"), false},
		"started null": {patchOf(t, models.Employee{}, "started"), false},
		"ended null":   {patchOf(t, models.Employee{}, "ended"), false},
	} {
		if got := c.patch.NeedsRow(); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestPatch_Validate(t *testing.T) {
	early, late := ptr(date(t, "1999-01-01")), ptr(date(t, "2020-01-01"))
	for name, c := range map[string]struct {
		patch models.EmployeePatch
		want  []models.FieldError
	}{
		"nothing":                    {models.EmployeePatch{}, nil},
		"what is not set may be bad": {patchOf(t, models.Employee{First: ptr("x"), Department: -1, Started: late, Ended: early}, "first"), nil},
		"nulls":                      {patchOf(t, models.Employee{}, "first", "started", "ended"), nil},
		"two bad values": {
			patchOf(t, models.Employee{City: ptr(strings.Repeat("x", 65))}, "city", "department"),
			[]models.FieldError{
				{Property: "city", Rule: "max", Message: "must be at most 64 characters"},
				{Property: "department", Rule: "min", Message: "must be at least 1"},
			},
		},
		"both dates in the wrong order": {
			patchOf(t, models.Employee{Started: late, Ended: early}, "started", "ended"),
			[]models.FieldError{{Property: "ended", Rule: "not_before_started", Message: "must not be before started"}},
		},
		"one date": {patchOf(t, models.Employee{Started: late, Ended: early}, "ended"), nil},
	} {
		t.Run(name, func(t *testing.T) { wantFields(t, c.patch.Validate(), c.want) })
	}
}
