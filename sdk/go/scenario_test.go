// Package sdk tries the client that oapi-codegen makes of openapi.yaml against a
// running gateway. scripts/sdk-test makes the client and runs it.
package sdk

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/oapi-codegen/nullable"

	"github.com/ndbgate/ndbgate/sdk/go/client"
)

func TestClient(t *testing.T) {
	gateway := os.Getenv("SDK_GATEWAY")
	if gateway == "" {
		t.Fatal("SDK_GATEWAY names no gateway")
	}
	c, err := client.NewClientWithResponses(gateway)
	if err != nil {
		t.Fatal(err)
	}
	for i, road := range []string{"ndb", "sql"} {
		s := &scenario{c: c, gateway: gateway, road: road, first: int64(100 * (i + 1))}
		t.Run(road, func(t *testing.T) {
			t.Run("one", s.one)
			t.Run("list", s.list)
			t.Run("batches", s.batches)
			t.Run("streams", s.streams)
			t.Run("idempotency", s.idempotency)
			t.Run("problems", s.problems)
		})
	}
}

// scenario is what one road is asked for, with ids from first to first+99.
type scenario struct {
	c       *client.ClientWithResponses
	gateway string
	road    string
	first   int64
}

// one creates, reads, changes and deletes an employee.
func (s *scenario) one(t *testing.T) {
	ctx, id := t.Context(), s.first
	created, err := s.c.CreateEmployeeWithResponse(ctx, &client.CreateEmployeeParams{XBackend: &s.road}, client.EmployeeCreate{
		Id: &id, First: nullable.NewNullableWithValue("Zoë"), City: nullable.NewNullableWithValue("Oslo"),
	})
	status(t, created, err, http.StatusCreated)
	if e := created.JSON201; e.Id != id || e.First.MustGet() != "Zoë" || !e.Last.IsNull() || e.Department != 1 {
		t.Errorf("created: got %s", created.Body)
	}
	if h := created.Headers201; h.Location != fmt.Sprintf("/v1/employees/%d", id) || h.XBackend != s.road || h.ETag == "" {
		t.Errorf("headers: got %+v", h)
	}

	read, err := s.c.GetEmployeeWithResponse(ctx, id, &client.GetEmployeeParams{XBackend: &s.road})
	status(t, read, err, http.StatusOK)
	etag := read.Headers200.ETag
	same, err := s.c.GetEmployeeWithResponse(ctx, id, &client.GetEmployeeParams{XBackend: &s.road, IfNoneMatch: &etag})
	status(t, same, err, http.StatusNotModified)

	if err := move(ctx, s.gateway, id, "Bergen"); err != nil {
		t.Error(err)
	}
	toNull := client.EmployeePatch{City: nullable.NewNullNullable[client.Text]()}
	late, err := s.c.PatchEmployeeWithResponse(ctx, id, &client.PatchEmployeeParams{XBackend: &s.road, IfMatch: &etag}, toNull)
	status(t, late, err, http.StatusPreconditionFailed)
	if late.ApplicationproblemJSON412.Code != client.ProblemCodePreconditionFailed {
		t.Errorf("late patch: got %s", late.Body)
	}
	patched, err := s.c.PatchEmployeeWithResponse(ctx, id, &client.PatchEmployeeParams{XBackend: &s.road}, toNull)
	status(t, patched, err, http.StatusOK)
	if e := patched.JSON200; !e.City.IsNull() || e.First.MustGet() != "Zoë" {
		t.Errorf("patched: got %s", patched.Body)
	}

	deleted, err := s.c.DeleteEmployeeWithResponse(ctx, id, &client.DeleteEmployeeParams{XBackend: &s.road})
	status(t, deleted, err, http.StatusNoContent)
	gone, err := s.c.GetEmployeeWithResponse(ctx, id, &client.GetEmployeeParams{XBackend: &s.road})
	status(t, gone, err, http.StatusNotFound)
	if gone.ApplicationproblemJSON404.Code != client.ProblemCodeNotFound {
		t.Errorf("gone: got %s", gone.Body)
	}
}

// list reads three employees by pages of two.
func (s *scenario) list(t *testing.T) {
	ctx := t.Context()
	ids := s.stored(t, 3)
	filter, order := fmt.Sprintf("between(id, %d, %d)", ids[0], ids[2]), "id desc"
	size, count := int32(2), true
	params := client.ListEmployeesParams{XBackend: &s.road, Filter: &filter, OrderBy: &order, PageSize: &size, Count: &count}
	var got []int64
	for {
		page, err := s.c.ListEmployeesWithResponse(ctx, &params)
		status(t, page, err, http.StatusOK)
		if total := page.JSON200.Total; total == nil || *total != 3 {
			t.Errorf("page: got %s, want a total of 3", page.Body)
		}
		for _, e := range page.JSON200.Employees {
			got = append(got, e.Id)
		}
		if params.PageToken = page.JSON200.NextPageToken; params.PageToken == nil {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint([]int64{ids[2], ids[1], ids[0]}) {
		t.Errorf("pages: got %d", got)
	}

	explain := true
	way, err := s.c.ListEmployeesWithResponse(ctx, &client.ListEmployeesParams{XBackend: &s.road, Filter: &filter, Explain: &explain})
	status(t, way, err, http.StatusOK)
	if w := way.JSON200.Explain; w == nil || w.Access == "" {
		t.Errorf("explain: got %s", way.Body)
	}
}

// batches creates employees of which one exists, and reads some of them.
func (s *scenario) batches(t *testing.T) {
	ctx := t.Context()
	ids := s.stored(t, 2)
	partial, unused := true, s.first+50
	created, err := s.c.BatchCreateEmployeesWithResponse(ctx, &client.BatchCreateEmployeesParams{XBackend: &s.road}, client.BatchCreate{
		Partial: &partial, Employees: []client.EmployeeCreate{{Id: &ids[0]}, {Id: &unused}},
	})
	status(t, created, err, http.StatusOK)
	if w := created.JSON200; w.Done != 1 || *w.Failed != 1 || (*w.Results)[0].Problem.Code != client.ProblemCodeAlreadyExists || (*w.Results)[1].Employee.Id != unused {
		t.Errorf("partial batch: got %s", created.Body)
	}

	missing := s.first + 99
	found, err := s.c.BatchGetEmployeesWithResponse(ctx, &client.BatchGetEmployeesParams{XBackend: &s.road}, client.BatchGet{Ids: []int64{ids[1], missing}})
	status(t, found, err, http.StatusOK)
	if f := found.JSON200; len(*f.Employees) != 1 || (*f.Missing)[0] != missing {
		t.Errorf("batch of reads: got %s", found.Body)
	}

	updated, err := s.c.BatchUpdateEmployeesWithResponse(ctx, &client.BatchUpdateEmployeesParams{XBackend: &s.road}, client.BatchUpdate{
		Updates: []client.EmployeeUpdate{{Id: unused, Last: nullable.NewNullableWithValue("Berg")}},
	})
	status(t, updated, err, http.StatusOK)
	if e := *updated.JSON200.Employees; len(e) != 1 || e[0].Last.MustGet() != "Berg" {
		t.Errorf("batch of updates: got %s", updated.Body)
	}
	deleted, err := s.c.BatchDeleteEmployeesWithResponse(ctx, &client.BatchDeleteEmployeesParams{XBackend: &s.road}, client.BatchDelete{Ids: []int64{unused}})
	status(t, deleted, err, http.StatusOK)
}

// streams imports lines while it makes them, and exports them again.
func (s *scenario) streams(t *testing.T) {
	ctx, rows := t.Context(), int64(40)
	body, lines := io.Pipe()
	go func() { // ends with the import, which closes body
		for id := s.first + 10; id < s.first+10+rows; id++ {
			if _, err := fmt.Fprintf(lines, "{\"id\":%d,\"department\":7}\n", id); err != nil {
				return
			}
		}
		lines.Close()
	}()
	replace := client.ImportEmployeesParamsOnConflictReplace
	answer, err := s.c.ImportEmployeesWithBody(ctx, &client.ImportEmployeesParams{XBackend: &s.road, OnConflict: &replace}, "application/x-ndjson", body)
	if err != nil {
		t.Fatal(err)
	}
	var summary client.ImportLine
	each(t, answer, func(line json.RawMessage) { into(t, line, &summary) })
	if summary.Type != client.ImportLineTypeSummary || summary.Complete == nil || !*summary.Complete || *summary.Written != rows {
		t.Errorf("import: got %+v", summary)
	}

	filter := fmt.Sprintf("between(id, %d, %d)", s.first+10, s.first+9+rows)
	answer, err = s.c.ExportEmployees(ctx, &client.ExportEmployeesParams{XBackend: &s.road, Filter: &filter})
	if err != nil {
		t.Fatal(err)
	}
	var end client.ExportEnd
	read := int64(0)
	each(t, answer, func(line json.RawMessage) {
		if !bytes.HasPrefix(line, []byte(`{"complete"`)) {
			var e client.Employee
			into(t, line, &e)
			read++
			return
		}
		into(t, line, &end)
	})
	if !end.Complete || end.Rows != rows || read != rows {
		t.Errorf("export: got %d employees and the end %+v, want %d", read, end, rows)
	}
}

// idempotency sends a create twice.
func (s *scenario) idempotency(t *testing.T) {
	ctx, key := t.Context(), rand.Text()
	var ids []int64
	for range 2 {
		created, err := s.c.CreateEmployeeWithResponse(ctx, &client.CreateEmployeeParams{XBackend: &s.road, IdempotencyKey: &key}, client.EmployeeCreate{})
		status(t, created, err, http.StatusCreated)
		ids = append(ids, created.JSON201.Id)
		if replayed := created.Headers201.IdempotencyReplayed; (replayed != nil) != (len(ids) == 2) {
			t.Errorf("request %d: got Idempotency-Replayed %v", len(ids), replayed)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("ids: got %d and %d, want one", ids[0], ids[1])
	}
	two := int32(2)
	other, err := s.c.CreateEmployeeWithResponse(ctx, &client.CreateEmployeeParams{XBackend: &s.road, IdempotencyKey: &key}, client.EmployeeCreate{Department: &two})
	status(t, other, err, http.StatusUnprocessableEntity)
	if other.ApplicationproblemJSON422.Code != client.ProblemCodeIdempotencyKeyReused {
		t.Errorf("another body: got %s", other.Body)
	}
}

// problems sends what is refused.
func (s *scenario) problems(t *testing.T) {
	ctx := t.Context()
	zero := int32(0)
	broken, err := s.c.CreateEmployeeWithResponse(ctx, &client.CreateEmployeeParams{XBackend: &s.road}, client.EmployeeCreate{
		First: nullable.NewNullableWithValue(strings.Repeat("x", 65)), Department: &zero,
	})
	status(t, broken, err, http.StatusUnprocessableEntity)
	if p := broken.ApplicationproblemJSON422; p.Code != client.ProblemCodeValidationFailed || p.Errors == nil || len(*p.Errors) != 2 {
		t.Errorf("two rules: got %s", broken.Body)
	}
	nowhere := "nowhere"
	lost, err := s.c.GetEmployeeWithResponse(ctx, s.first, &client.GetEmployeeParams{XBackend: &nowhere})
	status(t, lost, err, http.StatusBadRequest)
	if lost.ApplicationproblemJSON400.Code != client.ProblemCodeUnknownBackend {
		t.Errorf("unknown road: got %s", lost.Body)
	}
}

// stored makes employees of the ids from first+1 on, until the test ends.
func (s *scenario) stored(t *testing.T, n int64) []int64 {
	t.Helper()
	var ids []int64
	var body client.BatchCreate
	for id := s.first + 1; id <= s.first+n; id++ {
		ids = append(ids, id)
		body.Employees = append(body.Employees, client.EmployeeCreate{Id: &id})
	}
	created, err := s.c.BatchCreateEmployeesWithResponse(t.Context(), &client.BatchCreateEmployeesParams{XBackend: &s.road}, body)
	status(t, created, err, http.StatusOK)
	t.Cleanup(func() {
		deleted, err := s.c.BatchDeleteEmployeesWithResponse(context.WithoutCancel(t.Context()), &client.BatchDeleteEmployeesParams{XBackend: &s.road}, client.BatchDelete{Ids: ids})
		status(t, deleted, err, http.StatusOK)
	})
	return ids
}

func status(t *testing.T, answer interface{ StatusCode() int }, err error, want int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.StatusCode(); got != want {
		t.Fatalf("status: got %d, want %d", got, want)
	}
}

// each calls line with every line of the answer.
func each(t *testing.T, answer *http.Response, line func(json.RawMessage)) {
	t.Helper()
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status: got %d, want 200", answer.StatusCode)
	}
	dec := json.NewDecoder(answer.Body)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		line(raw)
	}
}

// into decodes a line that must have nothing which target lacks.
func into(t *testing.T, line json.RawMessage, target any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(target); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}
