package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/api/rowformat"
)

// importing is an import.
type importing struct {
	csv      bool
	lines    []item // of CSV, the first one names the columns
	lineEnd  string
	encoding string // that the body has; empty: none
	query    []pair
	headers  []pair

	exported bool // the body is the last export, and lines is empty
	// storable tells that only lines of the wrong form can be wrong, so that it is
	// known which rows are written before one ends the import.
	storable bool
}

func (in *importing) body(m *memory) string {
	text := m.export
	if !in.exported {
		lines := make([]string, len(in.lines))
		for i, line := range in.lines {
			lines[i] = line.text() + in.lineEnd
		}
		text = strings.Join(lines, "")
	}
	if in.encoding == "" {
		return text
	}
	var packed bytes.Buffer
	w := rowformat.NewWriter(in.encoding, &packed)
	_, err := w.Write([]byte(text))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("parity: a buffer that cannot be written to: " + err.Error())
	}
	return packed.String()
}

func (in *importing) request(m *memory) *request {
	q := &request{method: http.MethodPost, path: importPath, query: in.query, headers: in.headers, raw: in.body(m), hasBody: true}
	if q.mediaType = "application/x-ndjson"; in.csv {
		q.mediaType = "text/csv"
	}
	if in.encoding != "" {
		q.headers = append(slices.Clone(q.headers), pair{"Content-Encoding", in.encoding})
	}
	return q
}

// do implements action.
func (in *importing) do(ctx context.Context, s *side, m *memory) outcome {
	a := in.request(m).send(ctx, s, m)
	if a.status != http.StatusOK {
		return a.outcome(s, "import")
	}
	report, complete := readReport(a.body)
	if !complete && in.endsAnywhere() {
		return in.undo(ctx, s, m, a)
	}
	a.body = report
	o := a.outcome(s, "import")
	if !complete {
		o.name += " ended early"
	}
	return o
}

// endsAnywhere tells whether it depends on the time what is written before the
// import ends: rows are stored in no order.
func (in *importing) endsAnywhere() bool {
	has := func(p pair) bool { return slices.Contains(in.query, p) }
	goesOn := has(pair{"on_error", "continue"})
	hasLimit := slices.ContainsFunc(in.query, func(p pair) bool { return p.name == "max_errors" })
	return !goesOn && !in.storable || goesOn && hasLimit
}

// undo deletes all rows of the import, so that the twins are the same again.
func (in *importing) undo(ctx context.Context, s *side, m *memory, a answer) outcome {
	o := outcome{name: "import ended somewhere", same: a.head() + "\nended early", wrong: a.wrong, cause: a.body}
	ids := numbersIn(in.plainBody(m)) // those of rows are among them
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return o
	}
	deleting := &batch{method: batchDelete, items: idItems(ids), options: []pair{{"partial", "true"}}}
	if deleted := deleting.request().send(ctx, s, m); deleted.status != http.StatusOK {
		o.wrong = "what was imported could not be deleted: " + deleted.body
	}
	return o
}

func (in *importing) plainBody(m *memory) string {
	plain := *in
	plain.encoding = ""
	return plain.body(m)
}

var number = regexp.MustCompile(`[0-9]+`)

// numbersIn lists all numbers in a text that could be IDs.
func numbersIn(text string) []int64 {
	var ids []int64
	for _, digits := range number.FindAllString(text, -1) {
		if id, err := strconv.ParseInt(digits, 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

var duration = regexp.MustCompile(`"seconds":[0-9.]+`)

// readReport returns what an import has told but for progress and times, the wrong
// lines sorted, for they come in no order.
func readReport(body string) (report string, complete bool) {
	var lines []string
	for line := range strings.Lines(body) {
		var read struct {
			Type     string
			Complete bool
		}
		switch err := json.Unmarshal([]byte(line), &read); {
		case err != nil:
			read.Type = "no JSON"
		case read.Type == "progress":
			continue
		}
		complete = complete || read.Type == "summary" && read.Complete
		lines = append(lines, duration.ReplaceAllString(line, `"seconds":0`))
	}
	slices.Sort(lines)
	return strings.Join(lines, ""), complete
}

// smaller implements action.
func (in *importing) smaller() []action {
	var all []action
	first := 0
	if in.csv && len(in.lines) > 0 {
		first = 1
	}
	for rest := range smallerItems(in.lines[first:]) {
		less := *in
		less.lines = slices.Concat(in.lines[:first], rest)
		all = append(all, &less)
	}
	for _, list := range []func(*importing) *[]pair{
		func(in *importing) *[]pair { return &in.headers },
		func(in *importing) *[]pair { return &in.query },
	} {
		for i := range *list(in) {
			less := *in
			*list(&less) = slices.Delete(slices.Clone(*list(in)), i, i+1)
			all = append(all, &less)
		}
	}
	if in.encoding != "" {
		less := *in
		less.encoding = ""
		all = append(all, &less)
	}
	return all
}

// String implements action.
func (in *importing) String() string {
	q := in.request(&memory{})
	q.hasBody = false
	text := fmt.Sprintf("%s -H %q -d ", q, "Content-Type: "+q.mediaType)
	if in.exported {
		return text + "{what was exported last}"
	}
	return text + itemsForPeople(in.lines, asASCII(in.lineEnd))
}
