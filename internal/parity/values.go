package parity

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/models"
)

// text makes a text that is new or like one that was used, and remembers it. The
// many rows of a filled table share a few texts.
func (g *generator) text() text {
	if g.filled && len(g.texts) == maxTexts {
		t := pick(g.Rand, g.texts)
		if oneIn(g.Rand, 3) {
			return t.changed(g.Rand)
		}
		return t
	}
	t := newText(g.Rand)
	if len(g.texts) > 0 && oneIn(g.Rand, 3) {
		t = pick(g.Rand, g.texts).changed(g.Rand)
	}
	if len(g.texts) < maxTexts {
		g.texts = append(g.texts, t)
	} else {
		g.texts[g.IntN(maxTexts)] = t
	}
	return t
}

func (g *generator) nullableText() *string {
	if oneIn(g.Rand, 8) {
		return nil
	}
	t := g.text().String()
	return &t
}

// dates are sorted.
var dates = []string{
	"1000-01-01", "1000-01-02", "1582-10-10", "1899-12-31", "1970-01-01", "2000-02-29", "2001-02-03", "2020-02-01", "2020-02-28",
	"2020-02-29", "2020-03-01", "2038-01-19", "9999-12-30", "9999-12-31",
}

func (g *generator) nullableDate() *models.Date {
	if oneIn(g.Rand, 5) {
		return nil
	}
	d := date(pick(g.Rand, dates))
	return &d
}

func date(text string) models.Date {
	d, err := models.ParseDate(text)
	if err != nil {
		panic("parity: " + err.Error())
	}
	return d
}

var departments = []int32{1, 1, 2, 3, 100, 127, 128, 32767, 32768, math.MaxInt32 - 1, math.MaxInt32}

// employee makes one that is mostly valid, without an ID.
func (g *generator) employee() models.Employee {
	e := models.Employee{
		First: g.nullableText(), Last: g.nullableText(), City: g.nullableText(),
		Started: g.nullableDate(), Ended: g.nullableDate(), Department: pick(g.Rand, departments),
	}
	if oneIn(g.Rand, 30) {
		e.First, e.Last, e.City = pickPointer(g.Rand, beyondPlane), pickPointer(g.Rand, beyondPlane), pickPointer(g.Rand, beyondPlane)
	}
	if e.Started != nil && e.Ended != nil && e.Ended.Compare(*e.Started) < 0 && !oneIn(g.Rand, 6) {
		e.Started, e.Ended = e.Ended, e.Started
	}
	return e
}

func (g *generator) validEmployee(id int64) models.Employee {
	for {
		e := g.employee()
		if e.ID = id; e.Validate() == nil {
			return e
		}
	}
}

func hasBeyondPlane(e *models.Employee) bool {
	for _, p := range models.EmployeeProperties() {
		text, _ := p.Value(e).(string)
		if strings.ContainsFunc(text, func(c rune) bool { return c > 0xffff }) {
			return true
		}
	}
	return false
}

func pickPointer[T any](r *rand.Rand, choices []T) *T {
	choice := pick(r, choices)
	return &choice
}

// othersDates are what other programs may store: what is no date of the calendar,
// and what is none of the column's.
var othersDates = []string{
	"0000-00-00", "0000-01-01", "0000-12-31", "2020-00-00", "2020-02-00", "2020-00-15", "2020-02-30", "2020-02-31", "2021-02-29",
	"0001-01-01", "0999-12-31", "9999-00-00", "9999-12-31", "1000-01-01", "2020-02-29",
}

var othersDepartments = []int64{0, -1, 1, math.MinInt32, math.MaxInt32, math.MaxInt32 + 1}

// statement makes one of other programs. IDs below 1 are theirs alone.
func (g *generator) statement(id int64) *statement {
	if oneIn(g.Rand, 10) {
		id = -g.Int64N(2)
	}
	theirText := func() any {
		if t := g.nullableText(); t != nil {
			return *t
		}
		return nil
	}
	switch g.IntN(6) {
	case 0, 1:
		return &statement{
			"REPLACE INTO employee (first, last, municipality, started, ended, department, id) VALUES (?, ?, ?, ?, ?, ?, ?)",
			[]any{theirText(), theirText(), theirText(), g.theirDate(), g.theirDate(), pick(g.Rand, othersDepartments), id},
		}
	case 2:
		return &statement{"UPDATE employee SET started = ?, ended = ? WHERE id = ?", []any{g.theirDate(), g.theirDate(), id}}
	case 3:
		return &statement{"UPDATE employee SET municipality = ?, department = ? WHERE id = ?", []any{theirText(), pick(g.Rand, othersDepartments), id}}
	case 4:
		return &statement{"INSERT INTO employee (id) VALUES (?)", []any{id}}
	default:
		return &statement{"DELETE FROM employee WHERE id = ?", []any{id}}
	}
}

func (g *generator) theirDate() any {
	if oneIn(g.Rand, 5) {
		return nil
	}
	return pick(g.Rand, othersDates)
}

// patchesOfOddDates makes steps that patch one date where others have left the
// other one.
func (g *generator) patchesOfOddDates(id int64) []step {
	steps := g.write(id, &statement{
		"REPLACE INTO employee (started, ended, first, id) VALUES (?, ?, ?, ?)", []any{g.theirDate(), g.theirDate(), "", id},
	})
	for range 1 + g.IntN(3) {
		patch := &request{method: http.MethodPatch, path: employeePath(id), id: id, hasBody: true}
		patch.members = []pair{{pick(g.Rand, []string{"started", "ended"}), asBody(g.nullableDate())}}
		g.addPrecondition(patch)
		g.addPreference(patch)
		steps = append(steps, g.write(id, patch)...)
	}
	return steps
}

// call makes steps of calls that HTTP cannot make, and of some that it can.
func (g *generator) call() []step {
	id := pick(g.Rand, g.ids)
	c := &call{method: pick(g.Rand, []callMethod{callGet, callList, callCreate, callSave, callPatch, callDelete}), id: id}
	switch c.method {
	case callGet:
		if oneIn(g.Rand, 4) {
			c.id = pick(g.Rand, []int64{0, -1, math.MinInt64})
		}
		return []step{{action: c, reads: true}}
	case callList:
		c.query = g.query()
		return []step{{action: c, reads: true}}
	case callCreate, callSave:
		c.employee = g.validEmployee(id)
	case callPatch:
		g.fillPatch(c)
	}
	switch g.IntN(6) {
	case 0:
		c.pre.absent = true
	case 1:
		c.pre.present = true
	case 2, 3:
		department := pick(g.Rand, departments)
		c.pre.department = &department
	}
	return g.write(id, c)
}

func (g *generator) fillPatch(c *call) {
	c.returnsRow = oneIn(g.Rand, 2)
	patch := models.EmployeePatch{}
	for again := true; again; again = patch.Validate() != nil {
		patch = models.EmployeePatch{Values: g.employee()}
		patch.Values.ID = g.Int64() // to be ignored, as an ID in the set is
		for _, p := range models.EmployeeProperties() {
			if oneIn(g.Rand, 3) {
				patch.Set = append(patch.Set, p)
			}
		}
	}
	c.employee, c.set = patch.Values, patch.Set
}

func (g *generator) after() int64 {
	switch g.IntN(4) {
	case 0:
		return pick(g.Rand, []int64{-1, math.MinInt64, math.MaxInt64, 1 << 53})
	case 1:
		return pick(g.Rand, g.ids)
	default:
		return 0
	}
}

// matches makes filters, some of them with values that no row can have. Few
// together find more rows than many.
func (g *generator) matches() []models.Filter {
	properties := models.EmployeeProperties()
	g.Shuffle(len(properties), func(i, j int) { properties[i], properties[j] = properties[j], properties[i] })
	var matches []models.Filter
	for _, p := range properties[:pick(g.Rand, []int{0, 1, 1, 1, 1, 2, 2, 3})] {
		matches = append(matches, models.Compare(p, models.OpEqual, g.filterOn(p)))
	}
	return matches
}

func (g *generator) filterOn(p models.Property) any {
	switch p.Pointer(new(models.Employee)).(type) {
	case *int64:
		return pick(g.Rand, append([]int64{0, -1, math.MinInt64}, g.ids...))
	case *int32:
		return pick(g.Rand, append([]int32{0, -1, math.MinInt32}, departments...))
	case **string:
		return g.filterText()
	case **models.Date:
		return g.filterDate()
	default:
		panic("parity: no filter on " + p.Name)
	}
}

// filterText is mostly like a text that was used; it may be one that no column
// can hold.
func (g *generator) filterText() string {
	t := g.text()
	if len(g.texts) > 1 && !oneIn(g.Rand, 6) {
		t = pick(g.Rand, g.texts)
		for range g.IntN(3) {
			t = t.changed(g.Rand)
		}
	}
	return t.String()
}

func (g *generator) filterDate() models.Date {
	if oneIn(g.Rand, 5) {
		return pick(g.Rand, []models.Date{date("0001-01-01"), date("0999-12-31"), date("2020-02-03")})
	}
	return date(pick(g.Rand, dates))
}

// listPages makes steps that list a page and those after it; each page but the
// first is asked for with the token that all roads gave.
func (g *generator) listPages() []step {
	q := &request{method: http.MethodGet, path: employeesPath}
	for _, m := range g.matches() {
		q.query = append(q.query, pair{m.Property.Name, filterValue(m.Value)})
	}
	g.addQuery(q)
	size := pick(g.Rand, []string{"1", "1", "2", "3", "50", "1000", ""})
	if size != "" {
		q.query = append(q.query, pair{"page_size", size})
	}
	g.addListOddity(q)
	g.addComparison(q)
	steps := []step{{action: q, reads: true}}
	for range g.IntN(idsPerEpisode) {
		next := *q
		next.query = append([]pair{{"page_token", pageTokenPlace}}, q.query...)
		steps = append(steps, step{action: &next, reads: true})
	}
	return steps
}

// textFilters makes steps that write a text into all columns and look for texts
// that are nearly the same.
func (g *generator) textFilters(id int64) []step {
	t := g.text()
	put := &request{method: http.MethodPut, path: employeePath(id), id: id, hasBody: true}
	value := asBody(t.String())
	for _, name := range textProperties {
		put.members = append(put.members, pair{name, value})
	}
	steps := g.write(id, put)
	for range 2 {
		like := t.changed(g.Rand).String()
		for _, name := range textProperties {
			list := &request{method: http.MethodGet, path: employeesPath, query: []pair{{name, like}}}
			steps = append(steps, step{action: list, reads: true})
		}
	}
	return steps
}

var textProperties = []string{"first", "last", "city"}

func (g *generator) addListOddity(q *request) {
	if !oneIn(g.Rand, 12) {
		return
	}
	q.query = append(q.query, pick(g.Rand, []pair{
		{"order_by", "id"},
		{"order_by", "salary"},
		{"filter", `city = "Oslo`},
		{"filter", `first < "😀"`},
		{"filter", `NOT in(last, "😀", "x")`},
		{"filter", `like(city, "")`},
		{"fields", "salary"},
		{"salary", "1"},
		{"page_token", "AQAAAAAAAAABAAAAAAAAAAE"},
		{"page_token", pageTokenPlace},
		{"city", "\xff"},
		{"id", "9223372036854775808"},
		{"id", "01"},
		{"department", "2147483648"},
		{"started", "0000-00-00"},
		{"ended", "2021-02-29"},
		{"city", "x"},
		{"first", string(make([]byte, 300))},
	}))
}

func filterValue(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case int32:
		return strconv.FormatInt(int64(v), 10)
	case models.Date:
		return v.String()
	default:
		return v.(string)
	}
}
