package parity

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
)

// query makes a query of package store.
func (g *generator) query() models.EmployeeQuery {
	q := models.EmployeeQuery{Filter: models.And(g.matches()...), Limit: pick(g.Rand, []int{1, 2, 3, 100, 1 << 30})}
	if oneIn(g.Rand, 2) {
		q.Filter = models.And(q.Filter, g.filter(maxFilterLevels))
	}
	if oneIn(g.Rand, 2) {
		q.Order = g.order()
	}
	if !oneIn(g.Rand, 3) {
		q.After = g.place(q.TotalOrder())
	}
	return q
}

const maxFilterLevels = 3

// filter makes one of so many levels of groups.
func (g *generator) filter(levels int) models.Filter {
	if n := g.IntN(4); levels > 0 && n > 0 {
		members := make([]models.Filter, 1+g.IntN(3))
		for i := range members {
			members[i] = g.filter(levels - 1)
		}
		return []models.Filter{models.And(members...), models.Or(members...), models.Not(members[0])}[n-1]
	}
	p := pick(g.Rand, models.EmployeeProperties())
	op := models.OpEqual + models.FilterOp(g.IntN(int(models.OpNotNull-models.OpEqual)+1))
	value := g.filterOn(p)
	text, isText := value.(string)
	switch {
	case op == models.OpNull || op == models.OpNotNull:
		return models.Filter{Op: op, Property: p}
	case op != models.OpLike && op != models.OpNotLike:
		if isText && op.IsOrdering() && !g.hasOrder(p) && utf8.RuneCountInString(text) > columnLength/2 {
			op = models.OpEqual // in order, what is longer than the column is refused natively
		}
		return models.Compare(p, op, value)
	case !isText:
		return models.IsNotNull(p)
	default:
		return models.Compare(p, op, g.pattern(text))
	}
}

// pattern puts wildcards into a text.
func (g *generator) pattern(text string) string {
	pattern := []rune(text)
	for range g.IntN(3) {
		i := g.IntN(len(pattern) + 1)
		wildcard := pick(g.Rand, []rune{'%', '%', '_', '\\'})
		if i < len(pattern) && oneIn(g.Rand, 2) {
			pattern[i] = wildcard
			continue
		}
		pattern = slices.Insert(pattern, i, wildcard)
	}
	return string(pattern)
}

// order makes an order that both roads can keep.
func (g *generator) order() []models.Order {
	properties := slices.DeleteFunc(models.EmployeeProperties(), func(p models.Property) bool { return !g.hasOrder(p) })
	g.Shuffle(len(properties), func(i, j int) { properties[i], properties[j] = properties[j], properties[i] })
	var order []models.Order
	for _, p := range properties[:min(len(properties), 1+g.IntN(3))] {
		order = append(order, models.Order{Property: p, Descending: oneIn(g.Rand, 2)})
	}
	return order
}

func (g *generator) hasOrder(p models.Property) bool { return !slices.Contains(g.noOrder, p.Name) }

// place makes a place in an order: of values that are mostly those of no row, but
// such as rows can have.
func (g *generator) place(order []models.Order) models.Cursor {
	e := g.employee()
	e.ID = g.after()
	var place models.Cursor
	for _, o := range order {
		value := o.Property.Value(&e)
		if text, ok := value.(string); ok {
			value = strings.Map(onlyBasicLatin, text) // which every column can hold
		}
		if d, ok := value.(models.Date); ok && oneIn(g.Rand, 4) && g.others && !g.calendarOnly {
			value = models.StoredDate(d.Year(), d.Month(), 0)
		}
		place = append(place, value)
	}
	return place
}

func onlyBasicLatin(c rune) rune {
	if c < utf8.RuneSelf {
		return c
	}
	return 'x'
}

// addQuery adds a filter, an order, fields and a count to the query of a list.
func (g *generator) addQuery(q *request) {
	if oneIn(g.Rand, 2) {
		q.query = append(q.query, pair{"filter", g.filter(maxFilterLevels).String()})
	}
	if oneIn(g.Rand, 2) {
		var parts []string
		for _, o := range g.order() {
			parts = append(parts, o.Property.Name+pick(g.Rand, map[bool][]string{false: {"", " asc"}, true: {" desc"}}[o.Descending]))
		}
		q.query = append(q.query, pair{"order_by", strings.Join(parts, ", ")})
	}
	if oneIn(g.Rand, 6) {
		q.query = append(q.query, pair{"fields", pick(g.Rand, models.EmployeeProperties()).Name + "," + pick(g.Rand, models.EmployeeProperties()).Name})
	}
	if oneIn(g.Rand, 4) {
		q.query = append(q.query, pair{"count", strconv.FormatBool(!oneIn(g.Rand, 8))})
	}
}
