package parity

import (
	"slices"
	"strconv"

	"github.com/ndbgate/ndbgate/models"
)

// manyRows makes a step of an action that is about many rows.
func (g *generator) manyRows(a action, about []item, reads bool) []step {
	ids := slices.DeleteFunc(idsOf(about), func(id int64) bool { return !slices.Contains(g.ids, id) })
	const enough = 6
	return []step{{action: a, many: true, ids: ids[:min(len(ids), enough)], reads: reads, native: oneIn(g.Rand, 2)}}
}

// batchSteps makes a batch, often behind one after which it can be done.
func (g *generator) batchSteps() []step {
	b, about, reads := g.batch()
	return append(g.preparation(b, about), g.manyRows(b, about, reads)...)
}

// preparation makes a batch that lets the next one succeed, or none.
func (g *generator) preparation(b *batch, about []item) []step {
	before := &batch{method: batchCreate, options: []pair{{"partial", "true"}}}
	if b.method == batchCreate {
		before.method = batchDelete
	}
	for _, id := range idsOf(about) {
		before.items = append(before.items, g.batchItem(before.method, id))
	}
	if len(before.items) == 0 || oneIn(g.Rand, 3) {
		return nil
	}
	return g.manyRows(before, before.items, false)
}

// batch makes one that is mostly of a few items which could all be done.
func (g *generator) batch() (b *batch, about []item, reads bool) {
	b = &batch{method: pick(g.Rand, []batchMethod{batchGet, batchCreate, batchCreate, batchUpdate, batchUpdate, batchDelete})}
	ids := g.manyIDs()
	for _, id := range ids {
		it := g.batchItem(b.method, id)
		if b.method == batchCreate && oneIn(g.Rand, 10) {
			it = item{members: g.plainMembers(12)} // it gets an ID
		}
		b.items = append(b.items, it)
	}
	if oneIn(g.Rand, 10) && len(b.items) > 0 {
		bad := item{raw: pick(g.Rand, badItems[b.method.list()])}
		b.items = slices.Insert(b.items, g.IntN(len(b.items)+1), bad)
	}
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		b.options = append(b.options, pair{"partial", "true"})
	case 4, 5:
		b.options = append(b.options, pair{"chunk", pick(g.Rand, []string{"1", "1", "2", "3", "50000"})})
	}
	b.headers = g.batchHeaders(b.method)
	g.spoilBatch(b)
	return b, b.items, b.method == batchGet
}

func (g *generator) batchHeaders(method batchMethod) []pair {
	q := &request{}
	if method == batchGet {
		g.addComparison(q)
		return q.headers
	}
	g.addPreference(q)
	g.addDurability(q)
	return q.headers
}

// manyIDs makes IDs, in a quarter of all cases some of them twice.
func (g *generator) manyIDs() []int64 {
	n := pick(g.Rand, []int{1, 2, 2, 3, 3, 4, 5, 6, 8, 12})
	switch {
	case oneIn(g.Rand, 12):
		n = 20 + g.IntN(60)
	case oneIn(g.Rand, 80):
		n = 300 + g.IntN(600) // an import ends after a thousand wrong lines, with any rows written
	}
	twice := oneIn(g.Rand, 4)
	seen := map[int64]bool{}
	var ids []int64
	for len(ids) < n {
		id := g.oneOfManyIDs()
		if n > maxUsedIDs {
			id = 1 + g.Int64N(maxIDStep*maxUsedIDs)
		}
		if twice || !seen[id] {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	return ids
}

// oneOfManyIDs prefers those that other steps are about.
func (g *generator) oneOfManyIDs() int64 {
	switch n := g.IntN(5); {
	case n < 2:
		return pick(g.Rand, g.ids)
	case n < 4 && len(g.used) > 0:
		return pick(g.Rand, g.used)
	}
	id := 1 + g.Int64N(maxIDStep)
	if len(g.used) < maxUsedIDs {
		g.used = append(g.used, id)
	} else {
		g.used[g.IntN(maxUsedIDs)] = id
	}
	return id
}

func (g *generator) batchItem(method batchMethod, id int64) item {
	named := pair{"id", strconv.FormatInt(id, 10)}
	switch method {
	case batchCreate:
		return item{id: id, members: append(g.plainMembers(12), named)}
	case batchUpdate:
		return item{id: id, members: append([]pair{named}, g.plainMembers(3)...)}
	default:
		return item{id: id, raw: named.value}
	}
}

// plainMembers makes members without an ID. Where many rows are written at once,
// most of their texts have to be such as every column can hold.
func (g *generator) plainMembers(n int) []pair {
	members := g.members(n)
	if oneIn(g.Rand, 25) {
		return members
	}
	e := plainEmployee(g)
	for i, m := range members {
		p, _ := models.EmployeeProperty(m.name)
		members[i].value = asBody(p.Value(&e))
	}
	return members
}

// plainEmployee makes one that every table can hold.
func plainEmployee(g *generator) models.Employee {
	half := len(dates) / 2
	first, last := date(pick(g.Rand, dates[:half])), date(pick(g.Rand, dates[half:])) // in any patch, too, the first one is not behind the last
	text := func() *string {
		return pickPointer(g.Rand, []string{"", " ", "a", "A", "a ", "ss", "SS", "Ab", "abc", "b  ", "%", "\""})
	}
	return models.Employee{First: text(), Last: text(), City: text(), Started: &first, Ended: &last, Department: pick(g.Rand, []int32{1, 2, 100, 32767})}
}

// badItems are of the wrong form or break a rule, by the list that they are in.
var badItems = map[string][]string{
	"ids": {"0", "-1", "null", `"1"`, "1.5", "1e0", "{}", "[1]", "9223372036854775808", "true"},
	"employees": {
		"null", "[]", "{}", `{"id":0}`, `{"id":null}`, `{"id":"1"}`, `{"id":1,"salary":1}`, `{"id":1,"id":2}`, `{"id":1,"department":null}`,
		`{"id":9223372036854775808}`, `{"id":2,"department":0}`, `{"id":3,"started":"2020-01-02","ended":"2020-01-01"}`,
	},
	"updates": {
		"null", "[]", "{}", `{"first":"x"}`, `{"id":0}`, `{"id":null,"first":"x"}`, `{"id":1,"salary":1}`, `{"id":1}`,
		`{"id":2,"department":0}`, `{"id":3,"started":"2020-01-02","ended":"2020-01-01"}`, `{"id":3,"first":"😀"}`,
	},
}

// spoilBatch now and then makes the body one that no road is to hear of.
func (g *generator) spoilBatch(b *batch) {
	if !oneIn(g.Rand, 16) {
		return
	}
	switch g.IntN(7) {
	case 0:
		b.options = append(b.options, pick(g.Rand, []pair{
			{"partial", "null"}, {"partial", "1"}, {"chunk", "0"}, {"chunk", "-1"}, {"chunk", "50001"}, {"chunk", `"1"`}, {"salary", "1"}, {"partial", "true"},
		}))
	case 1:
		b.items = nil
	case 2:
		b.raw = pick(g.Rand, []string{`{"ids":[1,`, `[]`, `{}`, `{"ids":{}}`, `{"employees":[]}x`, `{"updates":null}`, "{\"ids\":[1],\"\xff\":1}"})
	case 3:
		b.headers = append(b.headers, pick(g.Rand, []pair{{"If-Match", "*"}, {"If-None-Match", "*"}, {"X-Durability", "memory"}}))
	case 4:
		b.query = append(b.query, pair{"partial", "true"})
	case 5:
		b.options = append(b.options, pair{"chunk", "2"}, pair{"partial", "true"})
	case 6:
		if oneIn(g.Rand, 4) {
			b.items = slices.Repeat(b.items[:min(len(b.items), 1)], models.MaxBatchItems+1)
		}
	}
}
