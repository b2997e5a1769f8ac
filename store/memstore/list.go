package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// List implements store.Employees.
func (s *Store) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	order := q.TotalOrder()
	found, err := s.selected(ctx, q.Selected())
	if err != nil {
		return models.EmployeePage{}, err
	}
	if len(q.Order) > 0 { // else they are in it
		slices.SortFunc(found, func(a, b models.Employee) int { return compareBy(order, &a, &b) })
	}
	if len(found) <= q.Limit {
		return models.EmployeePage{Employees: found}, nil
	}
	page := models.EmployeePage{Employees: found[:q.Limit]}
	for _, o := range order {
		page.Next = append(page.Next, o.Property.Value(&found[q.Limit-1]))
	}
	return page, nil
}

func compareBy(order []models.Order, a, b *models.Employee) int {
	for _, o := range order {
		c := compareNullable(o.Property.Value(a), o.Property.Value(b))
		if o.Descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Count implements store.Queries.
func (s *Store) Count(ctx context.Context, f models.Filter) (int64, error) {
	found, err := s.selected(ctx, f.Normal())
	return int64(len(found)), err
}

// Explain implements store.Queries: every query looks at every row.
func (s *Store) Explain(ctx context.Context, q models.EmployeeQuery) (store.AccessPath, error) {
	f, err := q.Selected().Replaced(fitting)
	if err != nil {
		return store.AccessPath{}, err
	}
	path := store.AccessPath{Access: store.AccessTableScan, Order: store.OrderSort}
	if !f.SelectsAll() {
		path.Filter = f.String()
	}
	return path, ctx.Err()
}

// selected returns the rows that a filter in its normal form selects.
func (s *Store) selected(ctx context.Context, f models.Filter) ([]models.Employee, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := f.Replaced(fitting)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []models.Employee{}
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		if e := s.rows[id]; holds(&f, &e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// fitting replaces comparisons with what utf8mb3 cannot store.
func fitting(f models.Filter) (models.Filter, error) {
	if text, ok := f.Value.(string); ok && (!utf8.ValidString(text) || !storable(text)) {
		return columnrule.Outside(f)
	}
	return f, nil
}

// holds tells whether a filter in its normal form is true of an employee.
func holds(f *models.Filter, e *models.Employee) bool {
	switch f.Op {
	case models.OpAnd:
		return !slices.ContainsFunc(f.Members, func(m models.Filter) bool { return !holds(&m, e) })
	case models.OpOr:
		return slices.ContainsFunc(f.Members, func(m models.Filter) bool { return holds(&m, e) })
	}
	value := f.Property.Value(e)
	if value == nil || f.Op == models.OpNull || f.Op == models.OpNotNull {
		return f.Op == models.OpNull && value == nil || f.Op == models.OpNotNull && value != nil
	}
	switch f.Op {
	case models.OpLike:
		return isLike(value.(string), f.Value.(string))
	case models.OpNotLike:
		return !isLike(value.(string), f.Value.(string))
	}
	c := compare(value, f.Value)
	switch f.Op {
	case models.OpEqual:
		return c == 0
	case models.OpNotEqual:
		return c != 0
	case models.OpLess:
		return c < 0
	case models.OpLessOrEqual:
		return c <= 0
	case models.OpGreater:
		return c > 0
	default:
		return c >= 0
	}
}

// compareNullable puts null first.
func compareNullable(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	default:
		return compare(a, b)
	}
}

func compare(a, b any) int {
	switch a := a.(type) {
	case string:
		return compareText(a, b.(string))
	case models.Date:
		return a.Compare(b.(models.Date))
	case int64:
		return cmp.Compare(a, b.(int64))
	default:
		return cmp.Compare(a.(int32), b.(int32))
	}
}

// compareText compares nearly as utf8mb3_general_ci does: the shorter text goes
// on with spaces.
func compareText(a, b string) int {
	x, y := weights(a), weights(b)
	for i := range max(len(x), len(y)) {
		if c := cmp.Compare(weightAt(x, i), weightAt(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

func weightAt(text []rune, i int) rune {
	if i < len(text) {
		return text[i]
	}
	return ' '
}

// weights are the characters without case, and without the accents of Western
// Europe.
func weights(text string) []rune {
	return []rune(strings.ToUpper(withoutAccents.Replace(text)))
}

var withoutAccents = strings.NewReplacer(
	"À", "A", "Á", "A", "Â", "A", "Ã", "A", "Ä", "A", "Å", "A", "à", "a", "á", "a", "â", "a", "ã", "a", "ä", "a", "å", "a",
	"È", "E", "É", "E", "Ê", "E", "Ë", "E", "è", "e", "é", "e", "ê", "e", "ë", "e",
	"Ì", "I", "Í", "I", "Î", "I", "Ï", "I", "ì", "i", "í", "i", "î", "i", "ï", "i",
	"Ò", "O", "Ó", "O", "Ô", "O", "Õ", "O", "Ö", "O", "ò", "o", "ó", "o", "ô", "o", "õ", "o", "ö", "o",
	"Ù", "U", "Ú", "U", "Û", "U", "Ü", "U", "ù", "u", "ú", "u", "û", "u", "ü", "u",
	"Ç", "C", "ç", "c", "Ñ", "N", "ñ", "n", "Ý", "Y", "ý", "y", "ÿ", "y", "ß", "s",
)

// isLike matches text with a pattern, character by character.
func isLike(text, pattern string) bool {
	return matches(weights(text), weights(pattern))
}

func matches(text, pattern []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '%':
		for i := range len(text) + 1 {
			if matches(text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case len(text) == 0:
		return false
	case pattern[0] == '_':
		return matches(text[1:], pattern[1:])
	case pattern[0] == '\\' && len(pattern) > 1:
		pattern = pattern[1:]
	}
	return pattern[0] == text[0] && matches(text[1:], pattern[1:])
}
