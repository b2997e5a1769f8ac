package ndbapi_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

func where(t *testing.T, name string, op models.FilterOp, value any) models.Filter {
	t.Helper()
	return models.Compare(property(t, name), op, value)
}

// orders reads names of properties, each after a minus where it descends.
func orders(t *testing.T, names ...string) []models.Order {
	t.Helper()
	var order []models.Order
	for _, name := range names {
		plain, descending := strings.CutPrefix(name, "-")
		order = append(order, models.Order{Property: property(t, plain), Descending: descending})
	}
	return order
}

func TestExplain_ChoosesTheShortestWay(t *testing.T) {
	s := openOn(t, startCluster(t))
	id := func(op models.FilterOp, n int64) models.Filter { return where(t, "id", op, n) }
	city := func(op models.FilterOp, text string) models.Filter { return where(t, "city", op, text) }
	oslo, first := city(models.OpEqual, "Oslo"), where(t, "first", models.OpEqual, "A")
	primary := func(p store.AccessPath) store.AccessPath {
		p.Index = "PRIMARY"
		return p
	}
	onCity := func(p store.AccessPath) store.AccessPath {
		p.Index = "idx_municipality"
		return p
	}
	// firstByCity goes over to the order of the IDs where too many rows match.
	firstByCity := func(ranges []string, filter, laterFilter string) store.AccessPath {
		then := primary(store.AccessPath{Access: store.AccessIndexScan, Order: store.OrderIndex, Filter: laterFilter})
		return onCity(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderSort, Ranges: ranges, Filter: filter, MaxRows: 2048, Then: &then})
	}
	for name, c := range map[string]struct {
		q    models.EmployeeQuery
		want store.AccessPath
	}{
		"everything": {models.EmployeeQuery{}, primary(store.AccessPath{Access: store.AccessIndexScan, Order: store.OrderIndex})},
		"nothing":    {models.EmployeeQuery{Filter: models.Or()}, store.AccessPath{Access: store.AccessNone, Order: store.OrderNone}},
		"what no row can have": {
			models.EmployeeQuery{Filter: city(models.OpEqual, "😀")}, store.AccessPath{Access: store.AccessNone, Order: store.OrderNone},
		},
		"a key": {
			models.EmployeeQuery{Filter: id(models.OpEqual, 5)},
			store.AccessPath{Access: store.AccessKey, Order: store.OrderNone, Ranges: []string{"id = 5"}},
		},
		"a key and more": {
			models.EmployeeQuery{Filter: models.And(id(models.OpEqual, 5), first)},
			primary(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderSort, Ranges: []string{"id = 5"}, Filter: `first = "A"`}),
		},
		"keys": {
			models.EmployeeQuery{Filter: models.Or(id(models.OpEqual, 9), id(models.OpEqual, 5), id(models.OpEqual, 9))},
			primary(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderIndex, Ranges: []string{"id = 5", "id = 9"}}),
		},
		"keys in another order": {
			models.EmployeeQuery{Filter: models.Or(id(models.OpEqual, 9), id(models.OpEqual, 5)), Order: orders(t, "last")},
			primary(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderSort, Ranges: []string{"id = 5", "id = 9"}}),
		},
		"the second page": {
			models.EmployeeQuery{After: models.Cursor{int64(7)}},
			primary(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderIndex, Ranges: []string{"id > 7"}}),
		},
		"the second page, backwards": {
			models.EmployeeQuery{Order: orders(t, "-id", "last"), After: models.Cursor{int64(7)}},
			primary(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderIndex, Descending: true, Ranges: []string{"id < 7"}}),
		},
		"from key to key": {
			models.EmployeeQuery{Filter: models.And(id(models.OpGreater, 5), id(models.OpLessOrEqual, 9), id(models.OpGreater, 4), first)},
			primary(store.AccessPath{
				Access: store.AccessIndexRange, Order: store.OrderIndex, Ranges: []string{"id > 5 AND id <= 9"}, Filter: `id > 4 AND first = "A"`,
			}),
		},
		"a city":                {models.EmployeeQuery{Filter: oslo}, firstByCity([]string{`city = "Oslo"`}, "", `city = "Oslo"`)},
		"a city, ordered by it": {models.EmployeeQuery{Filter: oslo, Order: orders(t, "city")}, firstByCity([]string{`city = "Oslo"`}, "", `city = "Oslo"`)},
		"cities, each once": {
			models.EmployeeQuery{Filter: models.And(models.Or(oslo, city(models.OpEqual, "OSLO "), city(models.OpEqual, "Bergen"), models.IsNull(property(t, "city"))), first)},
			firstByCity([]string{"city = null", `city = "Bergen"`, `city = "Oslo"`}, `first = "A"`,
				`(city = "Oslo" OR city = "OSLO " OR city = "Bergen" OR city = null) AND first = "A"`),
		},
		"how a city begins": {
			models.EmployeeQuery{Filter: city(models.OpLike, `Os\_l%o`)},
			firstByCity([]string{`like(city, "Os\\_l%o")`}, `like(city, "Os\\_l%o")`, `like(city, "Os\\_l%o")`),
		},
		"how a city ends": {
			models.EmployeeQuery{Filter: city(models.OpLike, `%lo`)},
			primary(store.AccessPath{Access: store.AccessIndexScan, Order: store.OrderIndex, Filter: `like(city, "%lo")`}),
		},
		"a city in another order": {
			models.EmployeeQuery{Filter: oslo, Order: orders(t, "last")},
			onCity(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderSort, Ranges: []string{`city = "Oslo"`}}),
		},
		"in the order of cities": {
			models.EmployeeQuery{Filter: first, Order: orders(t, "-city")},
			onCity(store.AccessPath{Access: store.AccessIndexScan, Order: store.OrderIndexSort, Descending: true, Filter: `first = "A"`}),
		},
		"in the order of cities, some": {
			models.EmployeeQuery{Filter: city(models.OpGreaterOrEqual, "M"), Order: orders(t, "city", "-last")},
			onCity(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderIndexSort, Ranges: []string{`city >= "M"`}}),
		},
		"in the order of cities, the second page": {
			models.EmployeeQuery{Order: orders(t, "city"), After: models.Cursor{"Oslo", int64(7)}},
			onCity(store.AccessPath{
				Access: store.AccessIndexRange, Order: store.OrderIndexSort, Ranges: []string{`city >= "Oslo"`},
				Filter: `city > "Oslo" OR (city = "Oslo" AND id > 7)`,
			}),
		},
		"in the order of cities, the second page, backwards": {
			models.EmployeeQuery{Order: orders(t, "-city"), After: models.Cursor{"Oslo", int64(7)}},
			onCity(store.AccessPath{
				Access: store.AccessIndexRange, Order: store.OrderIndexSort, Descending: true, Ranges: []string{`city <= "Oslo" OR city = null`},
				Filter: `city < "Oslo" OR city = null OR (city = "Oslo" AND id > 7)`,
			}),
		},
		"in the order of cities, behind null": {
			models.EmployeeQuery{Order: orders(t, "-city"), After: models.Cursor{nil, int64(7)}},
			onCity(store.AccessPath{
				Access: store.AccessIndexRange, Order: store.OrderSort, Ranges: []string{"city = null"}, Filter: "id > 7",
				MaxRows: 2048, Then: ptr(primary(store.AccessPath{
					Access: store.AccessIndexRange, Order: store.OrderIndex, Ranges: []string{"id > 7"}, Filter: "city = null",
				})),
			}),
		},
		"with a city": {
			models.EmployeeQuery{Filter: models.IsNotNull(property(t, "city")), Order: orders(t, "city")},
			onCity(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderIndexSort, Ranges: []string{"city != null"}}),
		},
		"in an order without index": {
			models.EmployeeQuery{Filter: first, Order: orders(t, "department")},
			store.AccessPath{Access: store.AccessTableScan, Order: store.OrderSort, Filter: `first = "A"`},
		},
		"in an order without index, some keys": {
			models.EmployeeQuery{Filter: id(models.OpLess, 9), Order: orders(t, "department")},
			primary(store.AccessPath{Access: store.AccessIndexRange, Order: store.OrderSort, Ranges: []string{"id < 9"}}),
		},
		"in the order of what all have": {
			models.EmployeeQuery{Filter: first, Order: orders(t, "-first", "-id")},
			primary(store.AccessPath{Access: store.AccessIndexScan, Order: store.OrderIndex, Descending: true, Filter: `first = "A"`}),
		},
		"longer than its column": {
			models.EmployeeQuery{Filter: where(t, "first", models.OpLess, strings.Repeat("x", 65))},
			primary(store.AccessPath{Access: store.AccessIndexScan, Order: store.OrderIndex, Filter: `first <= "` + strings.Repeat("x", 64) + `"`}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.q.Limit = 10
			got, err := s.Explain(t.Context(), c.q)
			must(t, err)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v then %+v\nwant %+v then %+v", got, got.Then, c.want, c.want.Then)
			}
		})
	}
}

// Of a city with many employees the index gives too many rows: the page is the
// same, by the way of the IDs.
func TestList_OfManyInOneCity_GoesOverToTheOrderOfIDs(t *testing.T) {
	const employees = 5000
	s := openOn(t, startCluster(t))
	fill(t, s, employees, func(e *models.Employee) { e.City, e.Last = ptr("Oslo"), ptr(fmt.Sprint(e.ID%7)) })
	q := models.EmployeeQuery{Filter: where(t, "city", models.OpEqual, "oslo"), Limit: 3}
	for _, c := range []struct {
		order []models.Order
		want  []int64
	}{
		{nil, []int64{1, 2, 3}},
		{orders(t, "-id"), []int64{5000, 4999, 4998}},
		{orders(t, "city", "last"), []int64{7, 14, 21}}, // which has no other way
	} {
		q.Order = c.order
		page, err := s.List(t.Context(), q)
		must(t, err)
		var got []int64
		for _, e := range page.Employees {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, c.want) || page.Next == nil {
			t.Errorf("by %v: got %v, next %v; want %v", c.order, got, page.Next, c.want)
		}
	}
	if n, err := s.Count(t.Context(), q.Filter); err != nil || n != employees {
		t.Errorf("got %d, error %v, want %d", n, err, employees)
	}
}

// fill creates employees of the IDs from 1 on.
func fill(t *testing.T, s *ndbapi.Store, n int, change func(e *models.Employee)) {
	t.Helper()
	for id := int64(1); id <= int64(n); id++ {
		e := models.NewEmployee()
		e.ID = id
		change(&e)
		must(t, s.Create(t.Context(), e))
	}
}

// A page of few rows is all that is kept of many.
func TestList_InAnyOrder_IsTheBeginningOfAll(t *testing.T) {
	const employees = 3000
	s := openOn(t, startCluster(t))
	var all []models.Employee
	fill(t, s, employees, func(e *models.Employee) {
		e.City, e.Last = ptr(fmt.Sprint("C", rand.IntN(3))), ptr(fmt.Sprint("L", rand.IntN(40)))
		e.Department = 1 + rand.Int32N(9)
		all = append(all, *e)
	})
	for _, names := range []string{"last", "-department last", "city -last", "-city", "city department -id"} {
		order := orders(t, strings.Fields(names)...)
		want := slices.SortedFunc(slices.Values(all), func(a, b models.Employee) int { return byOrder(models.TotalOrder(order, models.EmployeeKey), &a, &b) })
		for _, limit := range []int{1, 10, 1000} {
			page, err := s.List(t.Context(), models.EmployeeQuery{Order: order, Limit: limit})
			must(t, err)
			if !reflect.DeepEqual(page.Employees, want[:limit]) {
				t.Errorf("by %s, %d: got %v…, want %v…", names, limit, page.Employees[0], want[0])
			}
		}
	}
}

func byOrder(order []models.Order, a, b *models.Employee) int {
	for _, o := range order {
		x, y := o.Property.Value(a), o.Property.Value(b)
		format := "%012d"
		if _, ok := x.(string); ok {
			format = "%-12s"
		}
		if c := strings.Compare(fmt.Sprintf(format, x), fmt.Sprintf(format, y)); c != 0 {
			if o.Descending {
				return -c
			}
			return c
		}
	}
	return 0
}

// Text whose collation has no known order is compared by the data nodes, but not
// ordered here.
func TestList_UnknownCollation_OrderIsRefused(t *testing.T) {
	c := ndbtest.Run(t)
	c.MustCreateTable(changed(t, "last VARCHAR(64)", "last VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"))
	s := openOn(t, c)
	for i, last := range []string{"b", "A", "c"} {
		e := full(t, int64(i+1))
		e.Last = &last
		must(t, s.Create(t.Context(), e))
	}
	q := models.EmployeeQuery{Order: orders(t, "last"), Limit: 2}
	page, err := s.List(t.Context(), q) // ASCII is known
	if err != nil || page.Employees[0].ID != 2 || page.Employees[1].ID != 1 {
		t.Errorf("got %v, error %v", page, err)
	}
	e := full(t, 4)
	e.Last = ptr("é")
	must(t, s.Create(t.Context(), e))
	_, err = s.List(t.Context(), q)
	wantKind(t, err, store.ErrOrderUnsupported)
	_, err = s.List(t.Context(), models.EmployeeQuery{Filter: where(t, "last", models.OpLess, strings.Repeat("x", 65)), Limit: 1})
	wantKind(t, err, store.ErrOrderUnsupported)
	if errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	q.Order = orders(t, "city", "department")
	if page, err := s.List(t.Context(), q); err != nil || len(page.Employees) != 2 {
		t.Errorf("another order: got %v, error %v", page, err)
	}
}

// The page after an employee whose date is none goes on behind it.
func TestList_ByZeroDates_GoesOn(t *testing.T) {
	s := openOn(t, startCluster(t))
	for id := int64(1); id <= 5; id++ {
		insertZeroDates(t, s, id)
	}
	e := full(t, 6)
	must(t, s.Create(t.Context(), e))
	e = models.NewEmployee()
	e.ID = 7
	must(t, s.Create(t.Context(), e))
	for names, want := range map[string]string{"started": "7 1 2 3 4 5 6", "-started": "6 1 2 3 4 5 7", "ended -id": "7 5 4 3 2 1 6"} {
		q := models.EmployeeQuery{Order: orders(t, strings.Fields(names)...), Limit: 2}
		var got []string
		for range 10 {
			page, err := s.List(t.Context(), q)
			must(t, err)
			for _, e := range page.Employees {
				got = append(got, fmt.Sprint(e.ID))
			}
			if q.After = page.Next; q.After == nil {
				break
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: got %v, want %s", names, got, want)
		}
	}
}
