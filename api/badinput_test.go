package api

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/internal/inputtest"
	"github.com/ndbgate/ndbgate/models"
)

// The list of inputtest goes over real roads in devcluster.
func TestBadInput_GetsItsProblemAndStoresNothing(t *testing.T) {
	gate := inputtest.NewGate(t)
	b := newBenchWith(t, Options{Access: gate.Gate})
	for _, e := range inputtest.Rows() {
		if err := b.rows.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	inputtest.Run(t, b.router, gate, []string{"", "ndb"}, func(t *testing.T) []models.Employee {
		t.Helper()
		page, err := b.rows.List(t.Context(), models.EmployeeQuery{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return page.Employees
	})
}

func TestRoadThatCannot_GetsItsProblemAndStoresNothing(t *testing.T) {
	const create, one = "/v1/employees", "/v1/employees/1"
	cases := []struct {
		name         string
		q            request
		status       int
		code, detail string // detail is a part
	}{
		{"create: road cannot wait for disk", request{"POST", create, `{}`, []string{"X-Durability: disk"}}, 400, "durability_unavailable", "leave out X-Durability, or choose another backend than sql"},
		{"put: road cannot wait for disk", request{"PUT", one, `{}`, []string{"X-Durability: disk"}}, 400, "durability_unavailable", ""},
		{"patch: road cannot wait for disk", request{"PATCH", one, `{"first":"B"}`, []string{"X-Durability: disk"}}, 400, "durability_unavailable", ""},
		{"delete: road cannot wait for disk", request{"DELETE", one, "", []string{"X-Durability: disk"}}, 400, "durability_unavailable", ""},
		{"durable by a road that is down", request{"DELETE", one, "", []string{"X-Backend: ndb", "X-Durability: disk"}}, 503, "unavailable", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.seed()
			before := b.all()
			w := b.do(c.q)
			p := problemOf(t, w)
			if w.Code != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("got %d %s, want %d %s with %q", w.Code, w.Body, c.status, c.code, c.detail)
			}
			if after := b.all(); !maps.Equal(before, after) {
				t.Errorf("a refused request left rows: %v", after)
			}
		})
	}
}

// all returns the rows by ID.
func (b *bench) all() map[int64]models.Employee {
	b.t.Helper()
	rows, err := b.rows.List(b.t.Context(), models.EmployeeQuery{Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	byID := map[int64]models.Employee{}
	for _, e := range rows.Employees {
		byID[e.ID] = e
	}
	return byID
}

func TestLimitsOfRules_AreAccepted(t *testing.T) {
	b := newBench(t)
	for _, body := range []string{
		`{"id":9223372036854775807}`,
		`{"department":2147483647}`,
		`{"first":"` + strings.Repeat("é", 64) + `","last":"","city":"\u0000\ufffd"}`,
		`{"started":"1000-01-01","ended":"9999-12-31"}`,
		`{"started":"2024-02-29","ended":"2024-02-29"}`,
		"\n\t{ \"first\" : \"A\" }\r\n",
	} {
		if w := b.do(request{method: "POST", path: "/v1/employees", body: body}); w.Code != 201 {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
	for _, mediaType := range []string{"application/json;charset=UTF-8", "Application/JSON"} {
		if w := b.do(request{"POST", "/v1/employees", `{}`, []string{"Content-Type: " + mediaType}}); w.Code != 201 {
			t.Errorf("%s: got %d", mediaType, w.Code)
		}
	}
}

func TestEveryCodeHasAStatusThatFits(t *testing.T) {
	for _, c := range slices.Sorted(maps.Keys(codes)) {
		if entry := codes[c]; entry.status < 400 || entry.title == "" {
			t.Errorf("%s: %+v", c, entry)
		}
	}
}
