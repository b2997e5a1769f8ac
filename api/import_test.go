package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/api/rowformat"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// streamBench is a real server over a memstore.
type streamBench struct {
	t      *testing.T
	rows   *memstore.Store
	server *httptest.Server
	stop   chan struct{} // closed: the gateway stops
}

func newStreamBench(t *testing.T, opts Options) *streamBench {
	t.Helper()
	rows := &memstore.Store{}
	return newStreamBenchOver(t, rows, rows, opts)
}

func newStreamBenchOver(t *testing.T, backend store.Backend, rows *memstore.Store, opts Options) *streamBench {
	t.Helper()
	backends := store.NewRegistry("sql")
	backends.Add("sql", backend)
	backends.Add("ndb", store.Unavailable{Reason: "not there"})
	b := &streamBench{t: t, rows: rows, stop: make(chan struct{})}
	opts.Stopping = b.stop
	b.server = httptest.NewServer(New(backends, opts))
	t.Cleanup(b.server.Close)
	return b
}

// importAnswer is the answer of an import, line by line.
type importAnswer struct {
	status  int
	header  http.Header
	text    string
	lines   []importLineView
	problem problemView // where the status is not 200
}

type importLineView struct {
	Type                                              string
	Complete                                          bool
	Rows, Written, Skipped, Failed, Unknown, Unlisted int64
	Seconds                                           float64
	Durability                                        string
	Line                                              int
	ID                                                int64
	Error                                             *problemView
}

// summary is the last line.
func (a *importAnswer) summary(t *testing.T) importLineView {
	t.Helper()
	if a.status != http.StatusOK || len(a.lines) == 0 || a.lines[len(a.lines)-1].Type != "summary" {
		t.Fatalf("got %d %s, want a summary at the end", a.status, a.text)
	}
	last := a.lines[len(a.lines)-1]
	if sum := last.Written + last.Skipped + last.Failed + last.Unknown; last.Complete && sum != last.Rows || sum > last.Rows {
		t.Errorf("the counts do not add up: %s", a.text)
	}
	return last
}

// faults lists lines and codes of what is wrong: "3 validation_failed /first max".
func (a *importAnswer) faults() []string {
	var list []string
	for _, l := range a.lines {
		if l.Type == "line_error" {
			list = append(list, strings.TrimSpace(fmt.Sprint(l.Line, " ", l.Error.Code, " ", l.Error.where())))
		}
	}
	return list
}

func (b *streamBench) request(method, path string, body io.Reader, headers ...string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func (b *streamBench) importBody(query string, body io.Reader, headers ...string) *importAnswer {
	b.t.Helper()
	r := b.request("POST", "/v1/employees:import"+query, body, append([]string{"Content-Type: application/x-ndjson"}, headers...)...)
	resp, err := b.server.Client().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	return readImport(b.t, resp)
}

func (b *streamBench) importText(query, text string, headers ...string) *importAnswer {
	b.t.Helper()
	return b.importBody(query, strings.NewReader(text), headers...)
}

func readImport(t *testing.T, resp *http.Response) *importAnswer {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%v after %s", err, text)
	}
	a := &importAnswer{status: resp.StatusCode, header: resp.Header, text: string(text)}
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(text, &a.problem); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return a
	}
	for line := range bytes.Lines(text) {
		var view importLineView
		if err := json.Unmarshal(line, &view); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		a.lines = append(a.lines, view)
	}
	return a
}

func (b *streamBench) stored() map[int64]models.Employee {
	b.t.Helper()
	all, err := b.rows.List(b.t.Context(), models.EmployeeQuery{Limit: 1 << 30})
	if err != nil {
		b.t.Fatal(err)
	}
	byID := make(map[int64]models.Employee, len(all.Employees))
	for _, e := range all.Employees {
		byID[e.ID] = e
	}
	return byID
}

func rowsFrom(first, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"id":%d,"first":"F%d","department":%d}`+"\n", first+i, first+i, 1+i%7)
	}
	return text.String()
}

func packed(t *testing.T, encoding, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := rowformat.NewWriter(encoding, &b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestImport_StoresEveryRow(t *testing.T) {
	const n = 5000
	for _, encoding := range []string{"identity", "gzip", "zstd"} {
		b := newStreamBench(t, Options{})
		a := b.importText("", packed(t, encoding, rowsFrom(1, n)), "Content-Encoding: "+encoding)
		s := a.summary(t)
		if !s.Complete || s.Rows != n || s.Written != n || s.Error != nil || len(a.faults()) > 0 {
			t.Errorf("%s: got %s", encoding, a.text)
		}
		if got := b.stored(); len(got) != n || *got[17].First != "F17" {
			t.Errorf("%s: %d rows are stored", encoding, len(got))
		}
	}
}

func TestImport_OnConflict(t *testing.T) {
	const text = `{"id":1,"first":"new"}` + "\n" + `{"id":2,"first":"new"}` + "\n" + `{"id":3,"first":"new"}` + "\n"
	for mode, want := range map[string]struct {
		written, skipped, failed int64
		first                    string // of employee 2
		faults                   []string
	}{
		"skip":    {2, 1, 0, "old", nil},
		"replace": {3, 0, 0, "new", nil},
		"fail":    {2, 0, 1, "old", []string{"2 already_exists"}},
	} {
		b := newStreamBench(t, Options{})
		old := "old"
		if err := b.rows.Create(t.Context(), models.Employee{ID: 2, First: &old, Department: 1}); err != nil {
			t.Fatal(err)
		}
		a := b.importText("?on_error=continue&on_conflict="+mode, text)
		s := a.summary(t)
		if !s.Complete || s.Written != want.written || s.Skipped != want.skipped || s.Failed != want.failed || !slices.Equal(a.faults(), want.faults) {
			t.Errorf("%s: got %s", mode, a.text)
		}
		if got := b.stored(); *got[2].First != want.first || *got[3].First != "new" {
			t.Errorf("%s: got %v", mode, got)
		}
	}
}

// The later of two lines with the same id wins, however far they are apart.
func TestImport_RowsWithTheSameIDComeInTheirOrder(t *testing.T) {
	const ids, rounds = 50, 100
	var text strings.Builder
	for round := range rounds {
		for id := range ids {
			fmt.Fprintf(&text, `{"id":%d,"department":%d}`+"\n", id+1, round+1)
		}
	}
	b := newStreamBench(t, Options{})
	if s := b.importText("?on_conflict=replace", text.String()).summary(t); !s.Complete || s.Written != ids*rounds {
		t.Errorf("got %+v", s)
	}
	for id, e := range b.stored() {
		if e.Department != rounds {
			t.Errorf("employee %d: got the row of round %d", id, e.Department)
		}
	}
	again := b.importText("?on_conflict=fail&on_error=continue&max_errors=1000000", strings.Repeat(text.String(), 1))
	if s := again.summary(t); s.Failed != ids*rounds || s.Unlisted != ids*rounds-maxListedErrors || len(again.faults()) != maxListedErrors {
		t.Errorf("got %+v and %d lines", s, len(again.faults()))
	}
}

func TestImport_CanBeRepeated(t *testing.T) {
	b := newStreamBench(t, Options{})
	b.importText("", rowsFrom(1, 700)+"no JSON\n"+rowsFrom(701, 300))
	if got := len(b.stored()); got != 700 {
		t.Fatalf("got %d rows, want those before the wrong line", got)
	}
	if s := b.importText("?on_conflict=skip", rowsFrom(1, 1000)).summary(t); !s.Complete || s.Skipped != 700 || s.Written != 300 {
		t.Errorf("got %+v", s)
	}
}

func TestImport_OnErrorContinue_EndsAfterTooManyErrors(t *testing.T) {
	b := newStreamBench(t, Options{})
	a := b.importText("?on_error=continue&max_errors=3", "a\nb\n"+rowsFrom(1, 10)+"c\nd\ne\n"+rowsFrom(100, 10))
	if s := a.summary(t); s.Complete || s.Error.Code != "too_many_errors" || s.Line != 14 || s.Failed < 4 {
		t.Errorf("got %s", a.text)
	}
	a = b.importText("?on_error=continue&max_errors=3", "a\nb\nc\n"+rowsFrom(200, 10))
	if s := a.summary(t); !s.Complete || s.Failed != 3 || s.Written != 10 {
		t.Errorf("got %s", a.text)
	}
}

func TestImport_TellsTheRoad(t *testing.T) {
	b := newStreamBench(t, Options{})
	a := b.importText("", rowsFrom(1, 1), "X-Backend: sql")
	if got := a.header.Get("X-Backend"); got != "sql" || a.header.Get("Content-Type") != ndjsonType {
		t.Errorf("got %v", a.header)
	}
	if a := b.importText("", rowsFrom(1, 1), "X-Backend: ndb"); a.status != 503 || a.problem.Code != "unavailable" || a.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", a.status, a.text)
	}
	// Without a row no road is asked.
	if s := b.importText("", "", "X-Backend: ndb").summary(t); !s.Complete || s.Rows != 0 {
		t.Errorf("got %+v", s)
	}
}

// moody answers CreateEach row by row as the test wants.
type moody struct {
	memstore.Store
	outcome func(e *models.Employee) error
	durable error // of WaitDurable
}

func (m *moody) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	results := make([]store.ItemResult, len(employees))
	for i := range employees {
		if results[i].Err = m.outcome(&employees[i]); results[i].Err == nil {
			results[i].Err = m.Create(ctx, employees[i])
		}
	}
	return results
}

func (m *moody) WaitDurable(context.Context) error { return m.durable }

func newMoodyBench(t *testing.T, outcome func(e *models.Employee) error, opts Options) (*streamBench, *moody) {
	t.Helper()
	m := &moody{outcome: outcome}
	return newStreamBenchOver(t, m, &m.Store, opts), m
}

func TestImport_OutcomesAreTold(t *testing.T) {
	b, _ := newMoodyBench(t, func(e *models.Employee) error {
		switch e.ID % 10 {
		case 1:
			return store.ErrUnknownOutcome
		case 2:
			return fmt.Errorf("%w: %w", store.ErrInvalid, models.Invalid("city", "charset", "must be in it"))
		case 3:
			return errors.New("a bug")
		}
		return nil
	}, Options{})
	a := b.importText("?on_error=continue", rowsFrom(1, 10))
	s := a.summary(t)
	if !s.Complete || s.Written != 7 || s.Unknown != 1 || s.Failed != 2 {
		t.Errorf("got %s", a.text)
	}
	got := a.faults()
	slices.Sort(got)
	if want := []string{"1 outcome_unknown", "2 validation_failed /city charset", "3 internal"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, l := range a.lines {
		if l.Type == "line_error" && (l.ID != int64(l.Line) || l.Error.RequestID == "" || l.Error.Status < 400) {
			t.Errorf("got %+v with %+v", l, l.Error)
		}
	}
}

func TestImport_OnErrorStop_StopsAtARowThatTheRoadRefuses(t *testing.T) {
	b, _ := newMoodyBench(t, func(e *models.Employee) error {
		if e.ID == 5 {
			return store.ErrUnknownOutcome
		}
		return nil
	}, Options{})
	body := io.MultiReader(strings.NewReader(rowsFrom(1, 10)), endless{}) // it must not wait for the end
	a := b.importBody("", body)
	if s := a.summary(t); s.Complete || s.Line != 5 || s.Error.Code != "outcome_unknown" || s.Unknown != 1 {
		t.Errorf("got %s", a.text)
	}
}

// endless is empty lines without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

func TestImport_WaitsForARoadThatCannotServe(t *testing.T) {
	var calls atomic.Int64
	b, _ := newMoodyBench(t, func(*models.Employee) error {
		if n := calls.Add(1); n > 500 && n < 2000 {
			return store.ErrUnavailable
		}
		return nil
	}, Options{})
	if s := b.importText("", rowsFrom(1, 3000)).summary(t); !s.Complete || s.Written != 3000 {
		t.Errorf("got %+v", s)
	}
}

func TestImport_GivesUpARoadThatStaysDown(t *testing.T) {
	var calls atomic.Int64
	b, _ := newMoodyBench(t, func(*models.Employee) error {
		if calls.Add(1) > 500 {
			return store.ErrUnavailable
		}
		return nil
	}, Options{StreamPatience: firstStreamPause})
	s := b.importText("", rowsFrom(1, 3000)).summary(t)
	if s.Complete || s.Error.Code != "unavailable" || s.Written != 500 || s.Failed+s.Unknown != 0 || strings.Contains(s.Error.Detail, "nothing was done") {
		t.Errorf("got %+v, %+v", s, s.Error)
	}
}

func TestImport_Durability(t *testing.T) {
	b, m := newMoodyBench(t, func(*models.Employee) error { return nil }, Options{})
	if s := b.importText("", rowsFrom(1, 10), "X-Durability: disk").summary(t); !s.Complete || s.Durability != "disk" {
		t.Errorf("disk: got %+v", s)
	}
	if s := b.importText("", rowsFrom(20, 10), "X-Durability: memory").summary(t); !s.Complete || s.Durability != "memory" {
		t.Errorf("memory: got %+v", s)
	}
	m.durable = context.DeadlineExceeded
	if s := b.importText("", rowsFrom(40, 10), "X-Durability: disk").summary(t); s.Complete || s.Written != 10 || s.Error.Code != "not_durable_yet" || s.Durability != "memory" {
		t.Errorf("never: got %+v", s)
	}
	plain := newStreamBench(t, Options{})
	if a := plain.importText("", rowsFrom(1, 10), "X-Durability: disk"); a.status != 400 || a.problem.Code != "durability_unavailable" || len(plain.stored()) > 0 {
		t.Errorf("cannot: got %d %s", a.status, a.text)
	}
}
