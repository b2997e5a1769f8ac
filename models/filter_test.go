package models_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func property(t *testing.T, name string) models.Property {
	t.Helper()
	p, ok := models.EmployeeProperty(name)
	if !ok {
		t.Fatalf("no property %s", name)
	}
	return p
}

func TestFilter_Normal(t *testing.T) {
	a := models.Compare(property(t, "id"), models.OpEqual, int64(1))
	b := models.Compare(property(t, "city"), models.OpLike, "O%")
	null := models.IsNull(property(t, "ended"))
	all, none := models.And(), models.Or()
	for _, c := range []struct {
		f    models.Filter
		want string
	}{
		{models.Filter{}, "TRUE"},
		{none, "FALSE"},
		{models.Not(all), "FALSE"},
		{models.Not(none), "TRUE"},
		{models.And(a), "id = 1"},
		{models.And(a, all), "id = 1"},
		{models.And(a, none, b), "FALSE"},
		{models.Or(a, all, b), "TRUE"},
		{models.Or(none, a, none), "id = 1"},
		{models.And(models.And(a, models.And(b)), null), `id = 1 AND like(city, "O%") AND ended = null`},
		{models.And(models.Or(a, b), null), `(id = 1 OR like(city, "O%")) AND ended = null`},
		{models.Not(models.And(a, b)), `id != 1 OR NOT like(city, "O%")`},
		{models.Not(models.Or(a, models.Not(null))), "id != 1 AND ended = null"},
		{models.Not(models.Not(b)), `like(city, "O%")`},
		{models.Not(models.And(models.Or(a, null), models.Not(none))), "id != 1 AND ended != null"},
	} {
		got := c.f.Normal()
		if got.String() != c.want || got.Normal().String() != c.want {
			t.Errorf("%v: got %v, want %s", c.f, got, c.want)
		}
		if got.SelectsAll() != (c.want == "TRUE") || got.SelectsNone() != (c.want == "FALSE") {
			t.Errorf("%v: selects all %v, none %v", got, got.SelectsAll(), got.SelectsNone())
		}
	}
}

func TestFilter_Replaced(t *testing.T) {
	a, b := models.IsNull(property(t, "first")), models.IsNotNull(property(t, "last"))
	f := models.And(a, models.Or(b, a))
	got, err := f.Replaced(func(f models.Filter) (models.Filter, error) {
		if f.Op == models.OpNull {
			return models.Or(), nil
		}
		return f, nil
	})
	if err != nil || !got.SelectsNone() {
		t.Errorf("got %v, error %v", got, err)
	}
	refused := errors.New("refused")
	if _, err := f.Replaced(func(f models.Filter) (models.Filter, error) { return f, refused }); !errors.Is(err, refused) {
		t.Errorf("got error %v", err)
	}
}

func TestFilter_String_IsInjective(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"", " ", "*", `\*`, `\`, `"`, `'`, "\n", `\n`, "null", `a" OR city = "b`} {
		for _, op := range []models.FilterOp{models.OpEqual, models.OpNotEqual, models.OpLess, models.OpLike, models.OpNotLike} {
			f := models.Compare(property(t, "city"), op, text)
			what := fmt.Sprintf("%d %q", op, text)
			if other, ok := seen[f.String()]; ok {
				t.Errorf("%s and %s are both %s", what, other, f)
			}
			seen[f.String()] = what
		}
	}
}

func TestAfter(t *testing.T) {
	by := func(names string) []models.Order {
		var order []models.Order
		for _, name := range strings.Fields(names) {
			plain, descending := strings.CutPrefix(name, "-")
			order = append(order, models.Order{Property: property(t, plain), Descending: descending})
		}
		return models.TotalOrder(order, models.EmployeeKey)
	}
	for _, c := range []struct {
		order string
		place models.Cursor
		want  string
	}{
		{"", models.Cursor{int64(5)}, "id > 5"},
		{"-id city", models.Cursor{int64(5)}, "id < 5"},
		{"city", models.Cursor{"Oslo", int64(5)}, `city >= "Oslo" AND (city > "Oslo" OR (city = "Oslo" AND id > 5))`},
		{"city", models.Cursor{nil, int64(5)}, `city != null OR (city = null AND id > 5)`},
		{"-city", models.Cursor{"Oslo", int64(5)}, `(city <= "Oslo" OR city = null) AND (city < "Oslo" OR city = null OR (city = "Oslo" AND id > 5))`},
		{"-city", models.Cursor{nil, int64(5)}, "city = null AND id > 5"},
		{"-department -id", models.Cursor{int32(2), int64(5)}, "department <= 2 AND (department < 2 OR (department = 2 AND id < 5))"},
		{
			"department city",
			models.Cursor{int32(2), "A", int64(5)},
			`department >= 2 AND (department > 2 OR (department = 2 AND city > "A") OR (department = 2 AND city = "A" AND id > 5))`,
		},
	} {
		if got := models.After(by(c.order), c.place).Normal().String(); got != c.want {
			t.Errorf("%s behind %v: got %s, want %s", c.order, c.place, got, c.want)
		}
	}
}
