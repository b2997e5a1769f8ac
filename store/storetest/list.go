package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

// staff creates employees in a city of their own and returns them in the order
// of their IDs.
func (s *suite) staff(t *testing.T, n int, change func(i int, e *models.Employee)) (models.Filter, []models.Employee) {
	t.Helper()
	employees := make([]models.Employee, n)
	for i := range n {
		employees[i] = full(s.newID(t))
	}
	city := fmt.Sprintf("Oslo %d", employees[0].ID)
	for i := range employees {
		employees[i].City = &city
		if change != nil {
			change(i, &employees[i])
		}
	}
	for _, e := range slices.Backward(employees) { // not in the order of their IDs
		s.create(t, e)
	}
	return match("city", city), employees
}

func match(name string, value any) models.Filter {
	return models.Compare(property(name), models.OpEqual, value)
}

func (s *suite) wantListed(t *testing.T, q models.EmployeeQuery, want ...models.Employee) {
	t.Helper()
	got, err := s.store.List(testContext(t), q)
	wantKind(t, err, nil)
	if want == nil {
		want = []models.Employee{}
	}
	wantEqual(t, got.Employees, want)
}

func (s *suite) testList(t *testing.T) {
	t.Run("none is an empty result", func(t *testing.T) {
		s.wantListed(t, models.EmployeeQuery{Filter: match("id", s.newID(t)), Limit: 10})
	})
	t.Run("in the order of IDs", func(t *testing.T) {
		city, all := s.staff(t, 20, nil)
		s.wantListed(t, models.EmployeeQuery{Filter: city, Limit: 100}, all...)
	})
	t.Run("at most so many, after an ID", func(t *testing.T) {
		city, all := s.staff(t, 10, nil)
		s.wantListed(t, models.EmployeeQuery{Filter: city, Limit: 1}, all[0])
		s.wantListed(t, models.EmployeeQuery{Filter: city, Limit: 10}, all...)
		s.wantListed(t, models.EmployeeQuery{Filter: city, Limit: 4, After: models.Cursor{all[3].ID}}, all[4:8]...)
		s.wantListed(t, models.EmployeeQuery{Filter: city, Limit: 4, After: models.Cursor{all[7].ID}}, all[8:]...)
		s.wantListed(t, models.EmployeeQuery{Filter: city, Limit: 4, After: models.Cursor{all[9].ID}})
	})
	t.Run("without matches", func(t *testing.T) {
		_, all := s.staff(t, 7, nil)
		s.wantListed(t, models.EmployeeQuery{After: models.Cursor{all[0].ID - 1}, Limit: 7}, all...)
	})
	t.Run("the slice is the caller's", func(t *testing.T) {
		city, all := s.staff(t, 3, nil)
		q := models.EmployeeQuery{Filter: city, Limit: 10}
		got, err := s.store.List(testContext(t), q)
		wantKind(t, err, nil)
		clear(got.Employees)
		s.wantListed(t, q, all...)
	})
	s.testListMatches(t)
}

func (s *suite) testListMatches(t *testing.T) {
	for _, p := range models.EmployeeProperties() {
		if p.Name == "city" {
			continue
		}
		t.Run("by "+p.Name, func(t *testing.T) {
			city, all := s.staff(t, 7, func(i int, e *models.Employee) {
				if i%2 == 1 {
					changed := patched(e.ID)
					changed.City = e.City
					*e = changed
				}
			})
			want := []models.Employee{}
			value := p.Value(&all[3])
			for _, e := range all {
				if p.Value(&e) == value {
					want = append(want, e)
				}
			}
			s.wantListed(t, models.EmployeeQuery{Filter: models.And(city, match(p.Name, value)), Limit: 10}, want...)
		})
	}
	t.Run("null equals nothing", func(t *testing.T) {
		city, all := s.staff(t, 3, func(i int, e *models.Employee) {
			if i != 1 {
				e.First, e.Started = nil, nil
			}
		})
		s.wantListed(t, models.EmployeeQuery{Filter: models.And(city, match("first", "")), Limit: 10})
		s.wantListed(t, models.EmployeeQuery{Filter: models.And(city, match("first", "Ada")), Limit: 10}, all[1])
		s.wantListed(t, models.EmployeeQuery{Filter: models.And(city, match("started", *date("2001-02-03"))), Limit: 10}, all[1])
	})
	t.Run("all matches must hold", func(t *testing.T) {
		city, all := s.staff(t, 8, func(i int, e *models.Employee) {
			e.Department = int32(1 + i%2)
			e.Last = ptr([]string{"Hopper", "Lovelace"}[i/2%2])
		})
		s.wantListed(t, models.EmployeeQuery{
			Filter: models.And(city, match("department", int32(2)), match("last", "Lovelace"), match("first", "Ada")),
			Limit:  10,
		}, all[3], all[7])
		s.wantListed(t, models.EmployeeQuery{
			Filter: models.And(city, match("department", int32(2)), match("department", int32(1))),
			Limit:  10,
		})
	})
}

// testListText: text compares as the collation of the original columns does.
func (s *suite) testListText(t *testing.T) {
	for name, c := range map[string]struct {
		stored, value string
		found         bool
	}{
		"case is ignored":                 {"Hopper", "hOPPER", true},
		"case of other letters, too":      {"Ægir Ødegård", "ægir ødegård", true},
		"accents are ignored":             {"Ågot Düñçé", "agot dunce", true},
		"other letters are no accents":    {"Ødegård", "odegard", false},
		"a sharp s is one s":              {"Groß", "GROS", true},
		"a final sigma is a sigma":        {"Ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ", true},
		"an accent of its own counts":     {"Andre\u0301", "André", false},
		"spaces at the end are ignored":   {"Hopper", "Hopper  ", true},
		"stored spaces, too":              {"Hopper  ", "hopper", true},
		"spaces beyond the column's end":  {"Hopper", "Hopper" + strings.Repeat(" ", 100), true},
		"spaces at the start count":       {"Hopper", " Hopper", false},
		"only all of it matches":          {"Hopper", "Hop", false},
		"wildcards are plain letters":     {"Hopper", "H%", false},
		"quotes are plain letters":        {"O'Neil\"; --", "o'neil\"; --", true},
		"empty text finds empty text":     {"", "", true},
		"empty text finds spaces":         {"  ", "", true},
		"empty text finds no other":       {"Hopper", "", false},
		"text longer than the column":     {"Hopper", "Hopper and a name that is a great deal longer than 64 characters are", false},
		"what the column cannot hold":     {"Hopper", "Hopper😀", false},
		"bytes that are no text":          {"Hopper", "Hopper\xff", false},
		"only bytes that are no text":     {"", "\xff", false},
		"three-byte characters are found": {"東京", "東京", true},
	} {
		t.Run(name, func(t *testing.T) {
			city, all := s.staff(t, 1, func(_ int, e *models.Employee) { e.Last = &c.stored })
			if !c.found {
				all = nil
			}
			s.wantListed(t, models.EmployeeQuery{Filter: models.And(city, match("last", c.value)), Limit: 10}, all...)
		})
	}
}
