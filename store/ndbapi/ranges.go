package ndbapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
)

// reach is the part of an ordered index in which all rows of a filter are, as
// far as its first column tells.
type reach struct {
	kind    reachKind
	ranges  []ndb.Range
	texts   []string // of the ranges, as filters
	covered []int    // conjuncts that all rows of the ranges fulfil
}

// reachKind says how much of an index a reach is. A greater kind is better.
type reachKind uint8

const (
	reachAll    reachKind = iota
	reachHalf             // a side is open
	reachSpan             // from here to there
	reachPoints           // a few values
)

// maxPoints bounds the ranges of one scan.
const maxPoints = 256

// reachOf finds what the conjuncts of a filter say of a column.
func (m *mapping) reachOf(c *ndb.Column, conjuncts []models.Filter) (reach, error) {
	i := slices.Index(m.columns, c)
	if i < 0 {
		return reach{}, nil // a column that no field has
	}
	field := m.fields[i].name
	if r, ok, err := pointsOf(c, field, conjuncts); ok || err != nil {
		return r, err
	}
	var s span
	for n, f := range conjuncts {
		if err := s.narrow(c, field, &f, n); err != nil {
			return reach{}, err
		}
	}
	return s.reach(c, models.Property{Name: cmp.Or(propertyName(conjuncts, field), field)}), nil
}

// propertyName finds how the filter calls the property of a field.
func propertyName(conjuncts []models.Filter, field string) string {
	for _, f := range conjuncts {
		if f.Op > models.OpNot && f.Property.Field == field {
			return f.Property.Name
		}
		if name := propertyName(f.Members, field); name != "" {
			return name
		}
	}
	return ""
}

// point is one value of a column, or NULL.
type point struct {
	filter models.Filter
	stored []byte
}

// pointsOf finds the conjunct that names the fewest values for a column. They
// come in the order of the column, each once: equal ranges would give a row
// twice.
func pointsOf(c *ndb.Column, field string, conjuncts []models.Filter) (r reach, ok bool, err error) {
	var best []models.Filter
	for n, f := range conjuncts {
		if named, ok := namedBy(&f, field, nil); ok && len(named) <= maxPoints && (best == nil || len(named) < len(best)) {
			best, r.covered = named, []int{n}
		}
	}
	if best == nil {
		return reach{}, false, nil
	}
	points := make([]point, len(best))
	for i, f := range best {
		points[i].filter = f
		if f.Op == models.OpNull && !c.Nullable {
			return reach{}, false, nil
		}
		if points[i].stored, err = c.Stored(f.Value); err != nil {
			return reach{}, false, err
		}
	}
	unknown := false
	compare := func(a, b point) int {
		order, err := c.Compare(a.stored, b.stored)
		unknown = unknown || err != nil
		return order
	}
	slices.SortFunc(points, compare)
	points = slices.CompactFunc(points, func(a, b point) bool { return compare(a, b) == 0 })
	if unknown {
		return reach{}, false, nil
	}
	r.kind = reachPoints
	for _, p := range points {
		r.ranges = append(r.ranges, ndb.Exactly(p.filter.Value))
		r.texts = append(r.texts, p.filter.String())
	}
	return r, true, nil
}

// namedBy appends the tests for one value that f is the choice of, if it is one.
func namedBy(f *models.Filter, field string, named []models.Filter) ([]models.Filter, bool) {
	switch {
	case f.Op == models.OpOr:
		for i := range f.Members {
			var ok bool
			if named, ok = namedBy(&f.Members[i], field, named); !ok {
				return nil, false
			}
		}
		return named, len(named) > 0
	case f.Property.Field == field && (f.Op == models.OpEqual || f.Op == models.OpNull):
		return append(named, *f), true
	default:
		return nil, false
	}
}

// span is what a column must be between.
type span struct {
	low, high side
	notNull   []int // conjuncts that say so and no more
}

// side is one end of a span.
type side struct {
	given    bool
	value    any
	stored   []byte
	strict   bool
	withNull bool          // NULL is on this side too
	text     models.Filter // what it says, for people
	conjunct int           // that it comes from, and is all of; -1 where that says more
}

// narrow takes one more conjunct into account.
func (s *span) narrow(c *ndb.Column, field string, f *models.Filter, n int) error {
	text, withNull := *f, false
	if f.Op == models.OpOr && len(f.Members) == 2 && f.Members[1].Op == models.OpNull && f.Members[1].Property.Field == field {
		// Of a column that descends: what comes behind a value.
		f, withNull = &f.Members[0], true
		if f.Op != models.OpLess && f.Op != models.OpLessOrEqual {
			return nil
		}
	}
	if f.Op < models.OpNot || f.Property.Field != field {
		return nil
	}
	switch f.Op {
	case models.OpNotNull:
		s.notNull = append(s.notNull, n)
	case models.OpGreater, models.OpGreaterOrEqual:
		return s.low.narrow(c, side{value: f.Value, strict: f.Op == models.OpGreater, text: text, conjunct: n}, 1)
	case models.OpLess, models.OpLessOrEqual:
		return s.high.narrow(c, side{value: f.Value, strict: f.Op == models.OpLess, withNull: withNull, text: text, conjunct: n}, -1)
	case models.OpLike:
		low, high, ok := c.PrefixBounds(prefixOf(f.Value.(string)))
		if !ok || prefixOf(f.Value.(string)) == "" {
			return nil
		}
		if err := s.low.narrow(c, side{value: low, text: text, conjunct: -1}, 1); err != nil {
			return err
		}
		return s.high.narrow(c, side{value: high, text: text, conjunct: -1}, -1)
	}
	return nil
}

// narrow takes the other side where that is known to leave less: sign is 1 for
// low sides and -1 for high ones.
func (s *side) narrow(c *ndb.Column, other side, sign int) error {
	var err error
	other.given = true
	if other.stored, err = c.Stored(other.value); err != nil {
		return err
	}
	if !s.given {
		*s = other
		return nil
	}
	order, err := c.Compare(other.stored, s.stored)
	if err != nil {
		return nil // either side will do
	}
	if order *= sign; order > 0 || order == 0 && other.strict {
		*s = other
	}
	return nil
}

// prefixOf is the text with which all begins that is like the pattern.
func prefixOf(pattern string) string {
	var prefix strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '%', '_':
			return prefix.String()
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
		}
		prefix.WriteByte(pattern[i])
	}
	return prefix.String()
}

// reach is the part of an index that the span is. NULL comes before everything.
func (s *span) reach(c *ndb.Column, p models.Property) reach {
	var bounds ndb.Range
	var texts []string
	var covered []int
	for _, side := range []side{s.low, s.high} {
		if !side.given {
			continue
		}
		if text := side.text.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if side.conjunct >= 0 {
			covered = append(covered, side.conjunct)
		}
	}
	if s.low.given {
		bounds.Low, bounds.LowStrict = []any{s.low.value}, s.low.strict
	}
	if s.high.given {
		bounds.High, bounds.HighStrict = []any{s.high.value}, s.high.strict
	}
	withoutNull := len(s.notNull) > 0 || s.high.given && !s.high.withNull
	if withoutNull && !s.low.given && c.Nullable {
		bounds.Low, bounds.LowStrict = []any{nil}, true
		if len(s.notNull) > 0 {
			texts = append(texts, models.IsNotNull(p).String())
		}
	}
	kind := reachHalf
	switch {
	case len(bounds.Low)+len(bounds.High) == 0:
		return reach{}
	case s.low.given && s.high.given:
		kind = reachSpan
	}
	return reach{
		kind: kind, ranges: []ndb.Range{bounds}, texts: []string{strings.Join(texts, " AND ")}, covered: append(covered, s.notNull...),
	}
}
