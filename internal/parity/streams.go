package parity

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
)

// exports makes steps of an export, and at times of an import of it.
func (g *generator) exports() []step {
	q := &request{method: http.MethodGet, path: exportPath}
	for _, m := range g.matches() {
		q.query = append(q.query, pair{m.Property.Name, filterValue(m.Value)})
	}
	if oneIn(g.Rand, 2) {
		q.query = append(q.query, pair{"filter", g.filter(maxFilterLevels).String()})
	}
	if oneIn(g.Rand, 3) {
		q.query = nil
	}
	csv := oneIn(g.Rand, 2)
	if csv {
		q.headers = append(q.headers, pair{"Accept", pick(g.Rand, []string{"text/csv", "text/*", "text/csv, application/x-ndjson;q=0.5"})})
	} else if oneIn(g.Rand, 3) {
		q.headers = append(q.headers, pair{"Accept", pick(g.Rand, []string{"application/x-ndjson", "*/*", "application/*"})})
	}
	if oneIn(g.Rand, 3) {
		q.headers = append(q.headers, pair{"Accept-Encoding", pick(g.Rand, []string{"gzip", "zstd", "gzip, zstd", "br"})})
	}
	if oneIn(g.Rand, 4) {
		q.query = append(q.query, pair{"summary", strconv.FormatBool(oneIn(g.Rand, 2))})
	}
	switch {
	case oneIn(g.Rand, 20):
		q.headers = append(q.headers, pick(g.Rand, []pair{
			{"Accept", "application/json"}, {"X-Durability", "memory"}, {keyHeader, "k"}, {"X-Backend-Compare", otherRoadPlace},
		}))
	case oneIn(g.Rand, 20):
		q.query = append(q.query, pick(g.Rand, []pair{
			{"order_by", "id"}, {"page_size", "1"}, {"filter", "salary = 1"}, {"filter", `first < "😀"`}, {"summary", "1"}, {"city", "\xff"},
		}))
	case oneIn(g.Rand, 12):
		q.method = http.MethodHead
	}
	steps := []step{{action: q, reads: true}}
	if oneIn(g.Rand, 2) {
		return steps
	}
	in := &importing{csv: csv, exported: true, query: []pair{{"on_error", "continue"}, {"on_conflict", pick(g.Rand, conflictChoices)}}}
	if oneIn(g.Rand, 2) {
		id := pick(g.Rand, g.ids)
		steps = append(steps, g.write(id, g.delete(id))...)
	}
	return append(steps, g.manyRows(in, nil, false)...)
}

var conflictChoices = []string{"skip", "replace", "fail"}

// imports makes an import with a few lines that are wrong.
func (g *generator) imports() (in *importing, about []item, reads bool) {
	in = &importing{csv: oneIn(g.Rand, 2), lineEnd: pick(g.Rand, []string{"\n", "\n", "\n", "\r\n"})}
	conflict := pick(g.Rand, append([]string{""}, conflictChoices...))
	if conflict != "" {
		in.query = append(in.query, pair{"on_conflict", conflict})
	}
	if goesOn := !oneIn(g.Rand, 3); goesOn {
		in.query = append(in.query, pair{"on_error", "continue"})
	} else {
		in.storable = (conflict == "skip" || conflict == "replace") && !oneIn(g.Rand, 5)
	}
	var columns []models.Property
	if in.csv {
		columns = g.columns(in.storable)
		in.lines = append(in.lines, item{raw: csvHeader(columns)})
	}
	for _, id := range g.manyIDs() {
		in.lines = append(in.lines, g.line(in, columns, id))
	}
	for range g.IntN(3) {
		in.lines = slices.Insert(in.lines, g.IntN(len(in.lines)+1), item{raw: pick(g.Rand, badLines[in.csv])})
	}
	if oneIn(g.Rand, 6) {
		in.encoding = pick(g.Rand, []string{rowformat.Gzip, rowformat.Zstd})
	}
	q := &request{}
	g.addDurability(q)
	in.headers = q.headers
	g.spoilImport(in)
	return in, in.lines, false
}

// columns are those of CSV, the ID and others. A row without a date is not one for
// every table.
func (g *generator) columns(all bool) []models.Property {
	columns := models.EmployeeProperties()
	g.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	return slices.DeleteFunc(columns, func(p models.Property) bool { return p.Name != "id" && !all && oneIn(g.Rand, 6) })
}

func csvHeader(columns []models.Property) string {
	names := make([]string, len(columns))
	for i, p := range columns {
		names[i] = p.Name
	}
	return strings.Join(names, ",")
}

func (g *generator) line(in *importing, columns []models.Property, id int64) item {
	e := plainEmployee(g)
	if !in.storable && oneIn(g.Rand, 10) {
		e = g.employee()
	}
	e.ID = id
	if !in.csv {
		members := g.plainMembers(12)
		if !in.storable && oneIn(g.Rand, 2) {
			return item{id: id, members: append(members, pair{"id", strconv.FormatInt(id, 10)})}
		}
		members = nil
		for _, p := range models.EmployeeProperties() {
			members = append(members, pair{p.Name, asBody(p.Value(&e))})
		}
		return item{id: id, members: members}
	}
	fields := make([]string, len(columns))
	for i, p := range columns {
		switch value := p.Value(&e).(type) {
		case nil:
		case string:
			fields[i] = string(rowformat.AppendField(nil, []byte(value)))
		default:
			fields[i] = filterValue(value)
		}
	}
	return item{id: id, raw: strings.Join(fields, ",")}
}

// badLines are mostly of the wrong form, by whether they are of CSV. Some have to
// be passed over.
var badLines = map[bool][]string{
	false: {
		"", " ", "{", "[]", "null", "{}", `{"id":0}`, `{"id":null}`, `{"id":"1"}`, `{"id":1,"salary":1}`, `{"id":1,"id":1}`, `{"id":1} x`,
		`{"id":1,"department":0}`, `{"id":1,"started":"2020-02-30"}`, `{"id":1,"started":"2020-01-02","ended":"2020-01-01"}`, "{\"id\":1,\"first\":\"\xff\"}",
		`{"id":9223372036854775808}`, `{"complete":true,"rows":0}`, `{"complete":true,"rows":2}`, `{"complete":false,"rows":1}`, `{"complete":1}`,
		strings.Repeat(" ", 70_000),
	},
	true: {
		"", ",", ",,,,,,", "1", `"`, `a"b`, `"a"b`, "x,x,x,x,x,x,x", "0,0,0,0,0,0,0", "1,1,1,1,1,1,1,1", "\xff", "id", strings.Repeat("x", 70_000),
	},
}

func (g *generator) spoilImport(in *importing) {
	if !oneIn(g.Rand, 14) {
		return
	}
	switch g.IntN(4) {
	case 0:
		in.query = append(in.query, pick(g.Rand, []pair{
			{"on_conflict", "x"}, {"on_error", "x"}, {"max_errors", "0"}, {"max_errors", "1"}, {"max_errors", "1"}, {"max_errors", "2"}, {"salary", "1"}, {"on_error", "stop"},
		}))
	case 1:
		in.headers = append(in.headers, pick(g.Rand, []pair{
			{keyHeader, "k"}, {"X-Backend-Compare", otherRoadPlace}, {"Content-Encoding", "gzip"}, {"Content-Encoding", "br"}, {"Content-Type", "text/plain"},
		}))
	case 2:
		in.lines = nil
	case 3:
		if in.csv {
			in.lines[0].raw = pick(g.Rand, []string{"", "id,id", "first", "id,salary", "x", `"id`, "id,first,"})
		}
	}
}
