package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// queries is what every road has beside its employees.
func (s *suite) queries(t *testing.T) store.Queries {
	t.Helper()
	q, ok := s.store.(store.Queries)
	if !ok {
		t.Fatalf("a %T implements no store.Queries", s.store)
	}
	return q
}

// crew has one employee for each case that filters and orders are about: nulls,
// text that is equal only to the collation, spaces and wildcards.
func (s *suite) crew(t *testing.T) (city models.Filter, crew []models.Employee) {
	firsts := []*string{nil, ptr(""), ptr("a"), ptr("A "), ptr("É"), ptr("e%"), ptr("e_x"), ptr(`\`), ptr("ø"), ptr("a\t")}
	return s.staff(t, 2*len(firsts), func(i int, e *models.Employee) {
		e.First = firsts[i%len(firsts)]
		e.Last = nil
		if i%3 > 0 {
			e.Last = ptr(fmt.Sprint("L", i%4))
		}
		e.Started, e.Ended = nil, nil
		if i%4 > 0 {
			e.Started = date(fmt.Sprintf("200%d-01-01", i%7))
		}
		e.Department = int32(1 + i%5)
	})
}

// selected lists those of whom the filter is true.
func selected(f models.Filter, crew []models.Employee) []models.Employee {
	found := []models.Employee{}
	for _, e := range crew {
		if holds(f, &e) == yes {
			found = append(found, e)
		}
	}
	return found
}

func compare(name string, op models.FilterOp, value any) models.Filter {
	return models.Compare(property(name), op, value)
}

func (s *suite) testFilters(t *testing.T) {
	city, crew := s.crew(t)
	isNull := func(name string) models.Filter { return models.IsNull(property(name)) }
	ops := []models.FilterOp{models.OpEqual, models.OpNotEqual, models.OpLess, models.OpLessOrEqual, models.OpGreater, models.OpGreaterOrEqual}
	filters := map[string]models.Filter{
		"nothing holds":           models.Or(),
		"all holds":               models.And(),
		"not all":                 models.Not(models.And()),
		"null":                    isNull("first"),
		"not null":                models.IsNotNull(property("started")),
		"not of null":             models.Not(isNull("last")),
		"null of a number":        isNull("department"),
		"not null of a number":    models.IsNotNull(property("department")),
		"not of unknown":          models.Not(compare("first", models.OpEqual, "a")),
		"not of unknown, nested":  models.Not(models.Not(models.Or(compare("first", models.OpLess, "e"), isNull("last")))),
		"unknown or true":         models.Or(compare("first", models.OpEqual, "a"), isNull("first")),
		"not (unknown or false)":  models.Not(models.Or(compare("first", models.OpEqual, "a"), compare("department", models.OpEqual, int32(99)))),
		"not (unknown and false)": models.Not(models.And(compare("first", models.OpEqual, "a"), compare("department", models.OpEqual, int32(99)))),
		"several values": models.Or(
			compare("first", models.OpEqual, "a"), compare("first", models.OpEqual, "A"), compare("first", models.OpEqual, "ø"), isNull("first")),
		"several keys": models.Or(
			compare("id", models.OpEqual, crew[3].ID), compare("id", models.OpEqual, crew[1].ID), compare("id", models.OpEqual, crew[3].ID)),
		"from key to key": models.And(
			compare("id", models.OpGreater, crew[2].ID), compare("id", models.OpLessOrEqual, crew[5].ID), compare("id", models.OpGreaterOrEqual, crew[1].ID)),
		"a key and more":        models.And(compare("id", models.OpEqual, crew[2].ID), compare("department", models.OpLess, int32(4))),
		"longer than it can be": compare("first", models.OpLess, "a"+strings.Repeat("x", 70)),
		"longer, not less":      compare("first", models.OpGreaterOrEqual, "e%"+strings.Repeat(" ", 62)+"\t"),
		"longer by spaces":      compare("first", models.OpLessOrEqual, "a"+strings.Repeat(" ", 80)),
		"longer and not equal":  compare("first", models.OpNotEqual, strings.Repeat("x", 70)),
		"foreign and not equal": compare("first", models.OpNotEqual, "😀"),
		"foreign and equal":     models.Not(compare("first", models.OpEqual, "😀")),
		"foreign pattern":       models.Not(compare("first", models.OpLike, "%😀%")),
		"no text":               models.Not(compare("first", models.OpEqual, "\xff")),
	}
	for _, op := range ops {
		filters[fmt.Sprint("first ", op)] = compare("first", op, "E%")
		filters[fmt.Sprint("last ", op)] = compare("last", op, "l2")
		filters[fmt.Sprint("started ", op)] = compare("started", op, *date("2003-01-01"))
		filters[fmt.Sprint("ended ", op)] = compare("ended", op, *date("2003-01-01"))
		filters[fmt.Sprint("department ", op)] = compare("department", op, int32(3))
		filters[fmt.Sprint("department ", op, " a negative number")] = compare("department", op, int32(-1))
		filters[fmt.Sprint("id ", op)] = compare("id", op, crew[7].ID)
		filters[fmt.Sprint("city ", op)] = models.Not(compare("city", op, "oslo"))
	}
	for _, pattern := range []string{"", "%", "_", "a", "A%", "%x", `e\%`, `e\_%`, `\\`, `\`, "e%", "E_X", "a_", "% ", "é%"} {
		filters["like "+pattern] = compare("first", models.OpLike, pattern)
		filters["not like "+pattern] = compare("first", models.OpNotLike, pattern)
		filters["not of like "+pattern] = models.Not(compare("first", models.OpLike, pattern))
	}
	for name, f := range filters {
		t.Run(name, func(t *testing.T) {
			s.wantListed(t, models.EmployeeQuery{Filter: models.And(city, f), Limit: 100}, selected(f, crew)...)
		})
	}
	t.Run("text that the column cannot hold has no place in its order", func(t *testing.T) {
		for _, op := range ops[2:] {
			_, err := s.store.List(testContext(t), models.EmployeeQuery{Filter: models.And(city, compare("first", op, "😀")), Limit: 1})
			wantInvalid(t, err, "first", "charset")
			_, err = s.queries(t).Count(testContext(t), models.Not(compare("last", op, "x\xff")))
			wantInvalid(t, err, "last", "charset")
			_, err = s.queries(t).Explain(testContext(t), models.EmployeeQuery{Filter: compare("city", op, "😀"), Limit: 1})
			wantInvalid(t, err, "city", "charset")
		}
	})
}

// testIndexedText: the city has an index, which roads use in ways of their own.
func (s *suite) testIndexedText(t *testing.T) {
	name := func(text string) *string { return ptr(fmt.Sprint("Ås", s.nextID%idsPerRun, text)) }
	cities := []*string{nil, name(""), name(" "), name("a"), name("A"), name("a\t"), name("a "), name("b"), name("é"), name("b%"), name("b_"), nil}
	_, crew := s.staff(t, 2*len(cities), func(i int, e *models.Employee) { e.City = cities[i%len(cities)] })
	ours := models.And(compare("id", models.OpGreaterOrEqual, crew[0].ID), compare("id", models.OpLessOrEqual, crew[len(crew)-1].ID))
	null, a, b := models.IsNull(property("city")), *cities[3], *cities[7]
	filters := map[string]models.Filter{
		"null":                      null,
		"not null":                  models.Not(null),
		"a value or null":           models.Or(compare("city", models.OpEqual, a), null),
		"equal values":              models.Or(compare("city", models.OpEqual, a), compare("city", models.OpEqual, *cities[4]), compare("city", models.OpEqual, b)),
		"a value and another":       models.And(compare("city", models.OpEqual, a), compare("city", models.OpEqual, b)),
		"a value, not the same":     models.And(compare("city", models.OpEqual, a), models.Not(compare("city", models.OpEqual, a))),
		"from value to value":       models.And(compare("city", models.OpGreater, a), compare("city", models.OpLessOrEqual, b)),
		"up to a value":             models.And(compare("city", models.OpLess, a), compare("city", models.OpGreaterOrEqual, *cities[1])),
		"up to a value or null":     models.Or(compare("city", models.OpLessOrEqual, a), null),
		"how it begins":             compare("city", models.OpLike, a+"%"),
		"how it begins, in capital": compare("city", models.OpLike, strings.ToUpper(a)+"%"),
		"how it begins, a space":    compare("city", models.OpLike, *cities[1]+" %"),
		"how it begins, escaped":    compare("city", models.OpLike, b+`\_%`),
		"a pattern of one":          compare("city", models.OpLike, *cities[1]+"_"),
	}
	for name, f := range filters {
		want := selected(f, crew)
		for _, order := range [][]models.Order{nil, {{Property: property("city")}}, {{Property: property("city"), Descending: true}, {Property: property("last")}}} {
			t.Run(name+" by "+nameOf(order), func(t *testing.T) {
				q := models.EmployeeQuery{Filter: models.And(ours, f), Order: order, Limit: 5}
				s.wantPages(t, q, inOrder(order, want))
				got, err := s.queries(t).Count(testContext(t), q.Filter)
				wantKind(t, err, nil)
				wantEqual(t, got, int64(len(want)))
			})
		}
	}
}

func ordersOf(t *testing.T) [][]models.Order {
	t.Helper()
	var orders [][]models.Order
	for _, p := range models.EmployeeProperties() {
		orders = append(orders, []models.Order{{Property: p}}, []models.Order{{Property: p, Descending: true}})
	}
	for _, names := range []string{"department -first", "-department last -id", "city -id", "-city first", "first id last", "-started -last first", "last city department"} {
		var order []models.Order
		for _, name := range strings.Fields(names) {
			plain, descending := strings.CutPrefix(name, "-")
			order = append(order, models.Order{Property: property(plain), Descending: descending})
		}
		orders = append(orders, order)
	}
	return orders
}

func nameOf(order []models.Order) string {
	var names []string
	for _, o := range order {
		name := o.Property.Name
		if o.Descending {
			name += " desc"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func inOrder(order []models.Order, crew []models.Employee) []models.Employee {
	return slices.SortedFunc(slices.Values(crew), func(a, b models.Employee) int {
		return compareEmployees(models.TotalOrder(order, models.EmployeeKey), &a, &b)
	})
}

func (s *suite) testOrders(t *testing.T) {
	city, crew := s.crew(t)
	for _, order := range ordersOf(t) {
		t.Run(nameOf(order), func(t *testing.T) {
			want := inOrder(order, crew)
			s.wantListed(t, models.EmployeeQuery{Filter: city, Order: order, Limit: 100}, want...)
			s.wantListed(t, models.EmployeeQuery{Filter: city, Order: order, Limit: 5}, want[:5]...)
			path, err := s.queries(t).Explain(testContext(t), models.EmployeeQuery{Filter: city, Order: order, Limit: 5})
			wantKind(t, err, nil)
			if path.Access == "" || path.Order == "" {
				t.Errorf("got the access path %+v", path)
			}
		})
	}
	t.Run("only some fields", func(t *testing.T) {
		q := models.EmployeeQuery{
			Filter: city, Order: []models.Order{{Property: property("department")}}, Limit: 4, Fields: []models.Property{property("last")},
		}
		for range 2 {
			got, err := s.store.List(testContext(t), q)
			wantKind(t, err, nil)
			for i, want := range inOrder(q.Order, crew)[:4] {
				if got.Employees[i].ID != want.ID || !equalText(got.Employees[i].Last, want.Last) {
					t.Errorf("employee %d: got %s, want the id and the name of %s", i, show(got.Employees[i]), show(want))
				}
			}
			q.Fields = append(q.Fields, property("city"), property("id"))
		}
	})
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

func (s *suite) testPages(t *testing.T) {
	city, crew := s.crew(t)
	for i, order := range ordersOf(t) {
		t.Run(nameOf(order), func(t *testing.T) {
			q := models.EmployeeQuery{Filter: city, Order: order, Limit: 1 + i%4}
			s.wantPages(t, q, inOrder(order, crew))
		})
	}
	t.Run("of exactly the limit", func(t *testing.T) {
		s.wantPages(t, models.EmployeeQuery{Filter: city, Limit: len(crew)}, crew)
		s.wantPages(t, models.EmployeeQuery{Filter: city, Limit: len(crew) / 2}, crew)
	})
	t.Run("while rows come and go", func(t *testing.T) {
		order := []models.Order{{Property: property("last"), Descending: true}}
		city, crew := s.crew(t)
		all := inOrder(order, crew)
		q := models.EmployeeQuery{Filter: city, Order: order, Limit: 5}
		page, err := s.store.List(testContext(t), q)
		wantKind(t, err, nil)
		wantEqual(t, page.Employees, all[:5])
		for _, gone := range []int{4, 7} { // the last one of the page, and one behind
			wantKind(t, s.store.Delete(testContext(t), all[gone].ID, store.Precondition{}), nil)
		}
		early, late := all[0], all[6]
		early.ID, late.ID = s.newID(t), s.newID(t)
		s.create(t, early)
		s.create(t, late)
		rest := inOrder(order, append(slices.Delete(slices.Clone(all[5:]), 2, 3), late))
		q.After, q.Limit = page.Next, 100
		s.wantListed(t, q, rest...)
	})
}

// wantPages follows the places of pages to the end.
func (s *suite) wantPages(t *testing.T, q models.EmployeeQuery, want []models.Employee) {
	t.Helper()
	for len(want) > 0 {
		page, err := s.store.List(testContext(t), q)
		wantKind(t, err, nil)
		n := min(q.Limit, len(want))
		wantEqual(t, page.Employees, want[:n])
		want, q.After = want[n:], page.Next
		if (page.Next == nil) != (len(want) == 0) {
			t.Fatalf("got the place %v with %d employees to come", page.Next, len(want))
		}
	}
}

func (s *suite) testCounts(t *testing.T) {
	city, crew := s.crew(t)
	for name, f := range map[string]models.Filter{
		"all":           models.And(),
		"none":          models.Or(),
		"a key":         compare("id", models.OpEqual, crew[0].ID),
		"a number":      compare("department", models.OpGreater, int32(2)),
		"a negation":    models.Not(compare("first", models.OpEqual, "a")),
		"equal choices": models.Or(compare("city", models.OpEqual, *crew[0].City), compare("city", models.OpEqual, strings.ToUpper(*crew[0].City))),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.queries(t).Count(testContext(t), models.And(city, f))
			wantKind(t, err, nil)
			wantEqual(t, got, int64(len(selected(f, crew))))
		})
	}
	t.Run("of keys alone", func(t *testing.T) {
		for f, want := range map[int64]int64{crew[1].ID: 1, s.newID(t): 0} {
			got, err := s.queries(t).Count(testContext(t), compare("id", models.OpEqual, f))
			wantKind(t, err, nil)
			wantEqual(t, got, want)
		}
	})
	t.Run("of everything", func(t *testing.T) {
		got, err := s.queries(t).Count(testContext(t), models.And())
		wantKind(t, err, nil)
		if got < int64(len(crew)) {
			t.Errorf("got %d, want at least %d", got, len(crew))
		}
	})
}

const (
	randomQueries   = 60
	randomEmployees = 60
)

// testRandomQueries compares what random filters select, and in which order, with
// what they select by the book.
func (s *suite) testRandomQueries(t *testing.T) {
	r := newRandom(t, s)
	city, crew := s.staff(t, randomEmployees, func(_ int, e *models.Employee) {
		changed := r.employee(e.ID)
		changed.First, changed.Last, changed.City = r.text(), r.text(), e.City
		*e = changed
	})
	for range randomQueries {
		f, order := r.filter(3), pick(r, ordersOf(t))
		want := inOrder(order, selected(f, crew))
		q := models.EmployeeQuery{Filter: models.And(city, f), Order: order, Limit: pick(r, []int{1, 3, 7, 50, 100})}
		s.wantPages(t, q, want)
		got, err := s.queries(t).Count(testContext(t), q.Filter)
		wantKind(t, err, nil)
		wantEqual(t, got, int64(len(want)))
		if t.Failed() {
			t.Fatalf("%v, ordered by %s", f, nameOf(order))
		}
	}
}

var textParts = []string{"a", "A", "é", "E", "ø", "b", " ", "%", "_", `\`, "\t", "x"}

func (r *random) text() *string {
	if r.IntN(6) == 0 {
		return nil
	}
	text := ""
	for range r.IntN(4) {
		text += pick(r, textParts)
	}
	return &text
}

// filter makes one of so many levels of groups.
func (r *random) filter(levels int) models.Filter {
	if n := r.IntN(4); levels > 0 && n > 0 {
		members := make([]models.Filter, 1+r.IntN(3))
		for i := range members {
			members[i] = r.filter(levels - 1)
		}
		return []models.Filter{models.And(members...), models.Or(members...), models.Not(members[0])}[n-1]
	}
	p := pick(r, models.EmployeeProperties())
	op := models.OpEqual + models.FilterOp(r.IntN(int(models.OpNotNull-models.OpEqual)+1))
	sample := r.employee(pick(r, r.ids))
	sample.First, sample.Last, sample.City = r.text(), r.text(), r.text()
	value := p.Value(&sample)
	_, isText := value.(string)
	switch isPattern := op == models.OpLike || op == models.OpNotLike; {
	case value == nil || op == models.OpNull:
		return models.IsNull(p)
	case op == models.OpNotNull || isPattern && !isText:
		return models.IsNotNull(p)
	}
	return models.Compare(p, op, value)
}
