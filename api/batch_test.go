package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

const (
	pathBatchGet    = "/v1/employees:batchGet"
	pathBatchCreate = "/v1/employees:batchCreate"
	pathBatchUpdate = "/v1/employees:batchUpdate"
	pathBatchDelete = "/v1/employees:batchDelete"
)

// batchView is any answer of a batch.
type batchView struct {
	Employees             []models.Employee
	Missing, IDs          []int64
	Done, Failed, Unknown *int
	Results               []struct {
		Index, Status int
		ID            int64
		Employee      *models.Employee
		Problem       *problemView
	}

	// Of problems.
	problemView
	Index     *int
	ID        int64
	Committed *int
	Uncertain int
	Limit     int
}

// batch does one and returns its status and answer.
func (b *bench) batch(path, body string, headers ...string) (int, batchView) {
	b.t.Helper()
	w := b.do(request{"POST", path, body, headers})
	var view batchView
	if err := json.Unmarshal(w.Body.Bytes(), &view); err != nil {
		b.t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	return w.Code, view
}

// outcomes shows a partial answer as text: "201, 409 already_exists".
func (v *batchView) outcomes() string {
	var parts []string
	for i, item := range v.Results {
		text := fmt.Sprint(item.Status)
		if item.Index != i {
			text = fmt.Sprintf("index %d", item.Index)
		}
		if item.Problem != nil {
			text += " " + item.Problem.Code
			if where := item.Problem.where(); where != "" {
				text += " " + where
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// counts shows done, failed and unknown.
func (v *batchView) counts() string {
	if v.Done == nil || v.Failed == nil || v.Unknown == nil {
		return "none"
	}
	return fmt.Sprintf("%d %d %d", *v.Done, *v.Failed, *v.Unknown)
}

// ids are those of the stored rows.
func (b *bench) ids() []int64 {
	b.t.Helper()
	return slices.Sorted(maps.Keys(b.all()))
}

func TestBatchCreate_StoresAllInTheirOrder(t *testing.T) {
	b := newBench(t)
	status, view := b.batch(pathBatchCreate, `{"employees":[{"id":7,"first":"Ada"},{"id":3,"city":"Oslo","department":4},{"id":5}]}`)
	if status != 200 || *view.Done != 3 || len(view.Employees) != 3 || view.IDs != nil {
		t.Fatalf("got %d %+v, want three employees", status, view)
	}
	for i, id := range []int64{7, 3, 5} {
		stored, _ := b.stored(id)
		if view.Employees[i].ID != id || encodeString(stored) != encodeString(view.Employees[i]) {
			t.Errorf("item %d: got %s, stored %s", i, encodeString(view.Employees[i]), encodeString(stored))
		}
	}
	if e, _ := b.stored(3); e.Department != 4 || *e.City != "Oslo" || e.First != nil {
		t.Errorf("got %s", encodeString(e))
	}
	if e, _ := b.stored(5); e.Department != 1 {
		t.Errorf("got %s, want the default department", encodeString(e))
	}
}

func encodeString(e models.Employee) string { return string(encodeEmployee(&e)) }

func TestBatchCreate_AssignsIDsThatGrow(t *testing.T) {
	b := newBench(t)
	status, view := b.batch(pathBatchCreate, `{"employees":[{"first":"a"},{"id":9},{"first":"b"},{"first":"c"}]}`, "Prefer: return=minimal")
	if status != 200 || view.Employees != nil || len(view.IDs) != 4 || view.IDs[1] != 9 {
		t.Fatalf("got %d %+v, want four ids", status, view)
	}
	if !(view.IDs[0] < view.IDs[2] && view.IDs[2] < view.IDs[3]) || view.IDs[3] >= 1<<53 {
		t.Errorf("got %v, want the assigned ones to grow, below 2^53", view.IDs)
	}
	for i, first := range []string{"a", "", "b", "c"} {
		e, ok := b.stored(view.IDs[i])
		if !ok || first != "" && *e.First != first {
			t.Errorf("id %d: got %s", view.IDs[i], encodeString(e))
		}
	}
}

func TestBatchCreate_OneFails_NothingIsStored(t *testing.T) {
	b := newBench(t)
	b.seed()
	status, view := b.batch(pathBatchCreate, `{"employees":[{"id":7},{"id":8},{"id":1},{"id":9}]}`)
	if status != 409 || view.Code != "already_exists" || *view.Index != 2 || view.ID != 1 || view.Committed != nil {
		t.Errorf("got %d %+v, want item 2 blamed", status, view)
	}
	if want := "item 2: an employee with this id exists; leave the item out, or ask for partial to create the others; nothing was written"; view.Detail != want {
		t.Errorf("got %q, want %q", view.Detail, want)
	}
	if got := b.ids(); !slices.Equal(got, []int64{1}) {
		t.Errorf("got rows %v", got)
	}
}

func TestBatchCreate_ValueThatCannotBeStored_PointsToIt(t *testing.T) {
	b := newBench(t)
	status, view := b.batch(pathBatchCreate, `{"employees":[{"id":7},{"id":8,"city":"😀"}]}`)
	if status != 422 || view.where() != "/employees/1/city charset" || *view.Index != 1 || len(b.ids()) != 0 {
		t.Errorf("got %d %+v", status, view)
	}
}

func TestBatchGet_FoundInOrderAndMissing(t *testing.T) {
	b := newBench(t)
	b.batch(pathBatchCreate, `{"employees":[{"id":1},{"id":2},{"id":3}]}`)
	status, view := b.batch(pathBatchGet, `{"ids":[3,9,1,3,8,9]}`)
	var found []int64
	for _, e := range view.Employees {
		found = append(found, e.ID)
	}
	if status != 200 || !slices.Equal(found, []int64{3, 1, 3}) || !slices.Equal(view.Missing, []int64{9, 8, 9}) {
		t.Errorf("got %d %v, missing %v", status, found, view.Missing)
	}
	w := b.do(request{"POST", pathBatchGet, `{"ids":[5]}`, nil})
	if got, want := w.Body.String(), `{"employees":[],"missing":[5]}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if w.Header().Get("X-Backend") != "sql" || w.Header().Get("Server-Timing") == "" || w.Header().Get("Vary") == "" {
		t.Errorf("got headers %v", w.Header())
	}
}

func TestBatchGet_Partial(t *testing.T) {
	b := newBench(t)
	b.seed()
	status, view := b.batch(pathBatchGet, `{"partial":true,"ids":[2,1,0,1]}`)
	want := "404 not_found, 200, 422 validation_failed /ids/2 min, 200"
	if status != 200 || view.outcomes() != want || view.counts() != "2 2 0" {
		t.Errorf("got %d %s (%s), want %s", status, view.outcomes(), view.counts(), want)
	}
	if e := view.Results[3].Employee; e == nil || *e.First != "Ada" {
		t.Errorf("got %+v, want the employee", e)
	}
}

func TestBatchGet_IsCompared(t *testing.T) {
	b := newBench(t)
	b.seed()
	w := b.do(request{"POST", pathBatchGet, `{"ids":[1]}`, []string{"X-Backend-Compare: ndb"}})
	if got := w.Header().Get("X-Backend-Compare"); w.Code != 200 || !strings.HasPrefix(got, "ndb; result=failed") || !strings.HasSuffix(got, "status=503") {
		t.Errorf("got %d, X-Backend-Compare %q", w.Code, got)
	}
}

func TestBatchUpdate_MergesEach(t *testing.T) {
	b := newBench(t)
	b.batch(pathBatchCreate, `{"employees":[{"id":1,"first":"A","started":"2020-01-01"},{"id":2,"first":"B","city":"Oslo"},{"id":3,"first":"C"}]}`)
	status, view := b.batch(pathBatchUpdate, `{"updates":[{"id":2,"city":null,"department":5},{"id":1,"ended":"2021-01-01"},{"id":3}]}`)
	if status != 200 || *view.Done != 3 {
		t.Fatalf("got %d %+v", status, view)
	}
	want := []string{
		`{"id":2,"first":"B","last":null,"city":null,"started":null,"ended":null,"department":5}`,
		`{"id":1,"first":"A","last":null,"city":null,"started":"2020-01-01","ended":"2021-01-01","department":1}`,
		`{"id":3,"first":"C","last":null,"city":null,"started":null,"ended":null,"department":1}`,
	}
	for i, e := range view.Employees {
		stored, _ := b.stored(e.ID)
		if got := strings.TrimSpace(encodeString(e)); got != want[i] || strings.TrimSpace(encodeString(stored)) != want[i] {
			t.Errorf("item %d: got %s, stored %s, want %s", i, got, encodeString(stored), want[i])
		}
	}
	w := b.do(request{"POST", pathBatchUpdate, `{"updates":[{"id":1,"last":"x"}]}`, []string{"Prefer: return=minimal"}})
	if got, want := w.Body.String(), "{\"done\":1}\n"; got != want || w.Header().Get("Preference-Applied") != "return=minimal" {
		t.Errorf("got %q with %v, want %q", got, w.Header(), want)
	}
}

func TestBatchUpdate_OneFails_NothingIsChanged(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		where  string
		index  int
	}{
		"absent":                    {`{"updates":[{"id":1,"first":"x"},{"id":9,"first":"x"},{"id":2}]}`, 404, "not_found", "", 1},
		"ends before it has begun":  {`{"updates":[{"id":2,"first":"x"},{"id":1,"ended":"2019-01-01"}]}`, 422, "validation_failed", "/updates/1/ended not_before_started", 1},
		"not storable":              {`{"updates":[{"id":9},{"id":1,"first":"x"},{"id":2,"last":"😀"}]}`, 422, "validation_failed", "/updates/2/last charset", 2},
		"the first of several":      {`{"updates":[{"id":1,"first":"x"},{"id":9},{"id":8}]}`, 404, "not_found", "", 1},
		"absent, nothing to change": {`{"updates":[{"id":9}]}`, 404, "not_found", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.seed()
			b.do(request{"PUT", "/v1/employees/2", `{}`, nil})
			before := b.all()
			status, view := b.batch(pathBatchUpdate, c.body)
			if status != c.status || view.Code != c.code || view.where() != c.where || view.Index == nil || *view.Index != c.index {
				t.Errorf("got %d %+v, want %d %s of item %d", status, view, c.status, c.code, c.index)
			}
			if !maps.Equal(before, b.all()) {
				t.Errorf("got rows %v", b.all())
			}
		})
	}
}

func TestBatchDelete(t *testing.T) {
	b := newBench(t)
	b.batch(pathBatchCreate, `{"employees":[{"id":1},{"id":2},{"id":3}]}`)
	status, view := b.batch(pathBatchDelete, `{"ids":[1,4,2]}`)
	if status != 404 || *view.Index != 1 || view.ID != 4 || len(b.ids()) != 3 {
		t.Errorf("got %d %+v, and rows %v", status, view, b.ids())
	}
	w := b.do(request{"POST", pathBatchDelete, `{"ids":[3,1]}`, nil})
	if got := w.Body.String(); w.Code != 200 || got != "{\"done\":2}\n" || !slices.Equal(b.ids(), []int64{2}) {
		t.Errorf("got %d %s, and rows %v", w.Code, got, b.ids())
	}
}

func TestBatches_Partial_EachItemHasItsOutcome(t *testing.T) {
	b := newBench(t)
	b.seed()
	long := strings.Repeat("x", 65)
	for _, c := range []struct{ path, body, want, counts string }{
		{
			pathBatchCreate, `{"employees":[{"id":5,"first":"E"},{"id":1},{"id":6,"last":"😀"},{"id":5},{"id":0},{"id":7,"first":"` + long + `","department":0},{"id":8}],"partial":true}`,
			"201, 409 already_exists, 422 validation_failed /employees/2/last charset, 422 validation_failed /employees/3/id unique, " +
				"422 validation_failed /employees/4/id min, 422 validation_failed /employees/5/first max, /employees/5/department min, 201",
			"2 5 0",
		},
		{
			pathBatchUpdate, `{"partial":true,"updates":[{"id":5,"city":"Oslo"},{"id":9},{"id":1,"ended":"2019-01-01"},{"id":8,"department":null},{"id":8},{"id":8,"last":"x"}]}`,
			"200, 404 not_found, 422 validation_failed /updates/2/ended not_before_started, 422 validation_failed /updates/3/department not_null, " +
				"422 validation_failed /updates/4/id unique, 422 validation_failed /updates/5/id unique",
			"1 5 0",
		},
		{pathBatchDelete, `{"partial":true,"ids":[5,9,5,1]}`, "204, 404 not_found, 422 validation_failed /ids/2 unique, 204", "2 2 0"},
	} {
		status, view := b.batch(c.path, c.body)
		if status != 200 || view.outcomes() != c.want || view.counts() != c.counts {
			t.Errorf("%s:\n got %d %s (%s)\nwant %s (%s)", c.path, status, view.outcomes(), view.counts(), c.want, c.counts)
		}
		switch c.path {
		case pathBatchCreate:
			if e := view.Results[0].Employee; e == nil || *e.First != "E" {
				t.Errorf("got %+v, want the new employee", e)
			}
		case pathBatchUpdate:
			if e := view.Results[0].Employee; e == nil || *e.First != "E" || *e.City != "Oslo" {
				t.Errorf("got %+v, want the changed employee", e)
			}
		}
	}
	if got := b.ids(); !slices.Equal(got, []int64{8}) {
		t.Errorf("got rows %v", got)
	}
}

func TestBatches_PartialMinimal_HasNoEmployees(t *testing.T) {
	b := newBench(t)
	status, view := b.batch(pathBatchCreate, `{"employees":[{"first":"x"},{"id":4}],"partial":true}`, "Prefer: return=minimal")
	if status != 200 || view.outcomes() != "201, 201" || view.Results[0].Employee != nil || view.Results[0].ID < 1 || view.Results[1].ID != 4 {
		t.Errorf("got %d %+v", status, view)
	}
	if _, stored := b.stored(view.Results[0].ID); !stored {
		t.Error("the assigned id is not that of the row")
	}
}

func TestBatches_Chunk_StopsAtTheFirstThatFails(t *testing.T) {
	b := newBench(t)
	b.seed()
	items := func(ids ...int64) string {
		var parts []string
		for _, id := range ids {
			parts = append(parts, fmt.Sprintf(`{"id":%d}`, id))
		}
		return strings.Join(parts, ",")
	}
	status, view := b.batch(pathBatchCreate, `{"chunk":2,"employees":[`+items(11, 12, 13, 14, 15, 1, 16)+`]}`)
	if status != 409 || *view.Index != 5 || view.ID != 1 || view.Committed == nil || *view.Committed != 4 {
		t.Errorf("got %d %+v, want item 5 blamed and 4 committed", status, view)
	}
	if want := "item 5: an employee with this id exists; leave the item out, or ask for partial to create the others; the first 4 items are written, no others"; view.Detail != want {
		t.Errorf("got %q, want %q", view.Detail, want)
	}
	if got := b.ids(); !slices.Equal(got, []int64{1, 11, 12, 13, 14}) {
		t.Errorf("got rows %v", got)
	}
	status, view = b.batch(pathBatchCreate, `{"chunk":2,"employees":[`+items(1, 21)+`]}`)
	if status != 409 || *view.Index != 0 || *view.Committed != 0 {
		t.Errorf("got %d %+v, want nothing committed", status, view)
	}
	status, view = b.batch(pathBatchUpdate, `{"chunk":2,"updates":[{"id":11,"first":"x"},{"id":12,"first":"x"},{"id":13,"first":"x"}]}`)
	if status != 200 || *view.Done != 3 || len(view.Employees) != 3 || *view.Employees[2].First != "x" {
		t.Errorf("got %d %+v", status, view)
	}
	status, view = b.batch(pathBatchDelete, `{"chunk":3,"ids":[11,12,13,14,99,1]}`)
	if status != 404 || *view.Index != 4 || *view.Committed != 3 || !slices.Equal(b.ids(), []int64{1, 14}) {
		t.Errorf("got %d %+v, and rows %v", status, view, b.ids())
	}
}

func TestBatches_OnlyPOST(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{pathBatchGet, pathBatchCreate, pathBatchUpdate, pathBatchDelete} {
		w := b.do(request{"GET", path, "", nil})
		if p := problemOf(t, w); w.Code != 405 || p.Code != "method_not_allowed" || w.Header().Get("Allow") != "POST" {
			t.Errorf("GET %s: got %d %s, Allow %q", path, w.Code, p.Code, w.Header().Get("Allow"))
		}
	}
	if w := b.do(request{"POST", "/v1/employees:batchSave", `{}`, nil}); w.Code != 404 {
		t.Errorf("a batch that there is not: got %d", w.Code)
	}
}
