package parity

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	"github.com/ndbgate/ndbgate/models"
)

// generator makes steps. The same source of random numbers gives the same steps.
type generator struct {
	*rand.Rand
	others bool // there are other programs
	filled bool // the table has many rows
	// noOrder has the names of properties that the native road cannot order by.
	noOrder []string

	calendarOnly bool // see Config
	ids          []int64
	used         []int64 // others that were used lately
	keys         int     // idempotency keys that were used
	texts        []text  // that were used lately
	queue        []step  // that follow the last one
}

const (
	idsPerEpisode = 6
	maxTexts      = 16 // remembered
	maxUsedIDs    = 64 // remembered
	maxIDStep     = 1000
)

// edgeIDs are at the limits of JavaScript, of the column, and of what fits into
// four bytes.
var edgeIDs = []int64{1, 2, math.MaxUint32, math.MaxUint32 + 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}

func newGenerator(r *rand.Rand, others bool) *generator {
	g := &generator{Rand: r, others: others}
	for len(g.ids) < idsPerEpisode {
		id := 1 + r.Int64N(maxIDStep)
		if oneIn(r, 2) {
			id = pick(r, edgeIDs)
		}
		if !slices.Contains(g.ids, id) {
			g.ids = append(g.ids, id)
		}
	}
	return g
}

// next makes a step.
func (g *generator) next() step {
	if len(g.queue) == 0 {
		g.queue = g.fresh()
	}
	s := g.queue[0]
	g.queue = g.queue[1:]
	return s
}

// fill puts that many rows into the table. From then on, most steps are lists.
func (g *generator) fill(rows int) {
	if rows == 0 {
		return
	}
	in := &insertion{}
	g.ids, g.filled = nil, true
	for id := int64(1); len(in.rows) < rows; id += 1 + g.Int64N(maxIDStep) {
		e := g.validEmployee(id)
		for hasBeyondPlane(&e) { // no table but some could store it
			e = g.validEmployee(id)
		}
		in.rows = append(in.rows, e)
		g.ids = append(g.ids, id)
	}
	g.queue = append(g.queue, g.write(0, in)[0])
}

func (g *generator) fresh() []step {
	id := pick(g.Rand, g.ids)
	if g.filled && !oneIn(g.Rand, 4) {
		return g.listPages()
	}
	switch n := g.IntN(140); {
	case n < 20:
		return g.write(id, g.put(id))
	case n < 42:
		return g.write(id, g.patch(id))
	case n < 47:
		return g.write(id, g.delete(id))
	case n < 54:
		return g.write(id, g.post(id))
	case n < 56:
		return g.write(0, &creation{g.post(0)})
	case n < 61:
		return []step{{action: g.read(id), reads: true, id: id}}
	case n < 72:
		return g.listPages()
	case n < 77:
		return g.textFilters(id)
	case n < 82 && g.others:
		return g.write(id, g.statement(id))
	case n < 85 && g.others:
		return g.patchesOfOddDates(id)
	case n < 100:
		return g.call()
	case n < 115:
		return g.batchSteps()
	case n < 123:
		return g.manyRows(g.imports())
	case n < 130:
		return g.exports()
	default:
		return g.keyed(id)
	}
}

// write makes a step of an action; the row may already be as is asked.
func (g *generator) write(id int64, a action) []step {
	s := step{action: a, native: oneIn(g.Rand, 2), id: id}
	again := s
	again.native = oneIn(g.Rand, 2)
	if oneIn(g.Rand, 8) {
		return []step{s, again}
	}
	return []step{s}
}

func (g *generator) put(id int64) *request {
	q := &request{method: http.MethodPut, path: employeePath(id), id: id, hasBody: true, members: g.members(12)}
	g.addPrecondition(q)
	g.addPreference(q)
	g.addDurability(q)
	g.spoil(q)
	return q
}

func (g *generator) patch(id int64) *request {
	q := &request{method: http.MethodPatch, path: employeePath(id), id: id, hasBody: true, members: g.members(3)}
	g.addPrecondition(q)
	g.addPreference(q)
	g.addDurability(q)
	g.spoil(q)
	return q
}

func (g *generator) delete(id int64) *request {
	q := &request{method: http.MethodDelete, path: employeePath(id), id: id}
	g.addPrecondition(q)
	g.addDurability(q)
	return q
}

// post creates a row with the ID, or without one where it is 0.
func (g *generator) post(id int64) *request {
	q := &request{method: http.MethodPost, path: employeesPath, hasBody: true, members: g.members(12)}
	q.members = slices.DeleteFunc(q.members, func(m pair) bool { return m.name == "id" })
	if id != 0 {
		q.members = append(q.members, pair{"id", strconv.FormatInt(id, 10)})
	}
	g.addPreference(q)
	g.addDurability(q)
	g.spoil(q)
	return q
}

func (g *generator) read(id int64) *request {
	q := get(id)
	if oneIn(g.Rand, 4) {
		q.method = http.MethodHead
	}
	if oneIn(g.Rand, 3) {
		q.headers = append(q.headers, pair{"If-None-Match", pick(g.Rand, []string{
			etagPlace, staleETagPlace, "*", "W/" + etagPlace, staleETagPlace + ", " + etagPlace, "bad",
		})})
	}
	g.addComparison(q)
	return q
}

// spoil now and then makes the body one that no road is to hear of.
func (g *generator) spoil(q *request) {
	if !oneIn(g.Rand, 40) {
		return
	}
	switch g.IntN(4) {
	case 0:
		q.members = append(q.members, pair{"salary", "1"})
	case 1:
		q.members = append(q.members, pair{"id", "77"})
	case 2:
		q.members, q.raw = nil, `{"first":`
	case 3:
		q.members, q.raw = nil, "{\"first\":\"\xff\"}"
	}
}

// members makes the members of an employee, each with a chance of n-1 to n where
// n is large, and of one to three where it is small.
func (g *generator) members(n int) []pair {
	e := g.employee()
	members := []pair{}
	for _, p := range models.EmployeeProperties() {
		if p.Name == "id" || (n > 3) == oneIn(g.Rand, n) {
			continue
		}
		value := asBody(p.Value(&e))
		if oneIn(g.Rand, 60) {
			value = pick(g.Rand, badValues)
		}
		members = append(members, pair{p.Name, value})
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return members
}

func asBody(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("parity: a value that is no JSON: " + err.Error())
	}
	return string(b)
}

// badValues are of the wrong form or out of range, for some property or all.
var badValues = []string{
	`null`, `0`, `-1`, `1.5`, `1e0`, `2147483648`, `-2147483649`, `9223372036854775808`, `"1"`, `true`, `{}`, `[]`, `""`,
	`"0000-00-00"`, `"2020-02-00"`, `"2021-02-29"`, `"0999-12-31"`, `"0001-01-01"`, `"10000-01-01"`, `"2020-1-1"`, `"\ud800"`,
}
