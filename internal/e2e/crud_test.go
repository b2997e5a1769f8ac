package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver for looking past the gateway
)

// firstID begins the range of IDs that these tests own.
const firstID = 7_000_000_000

// openTable connects to the first SQL node without the gateway and clears the
// tests' range of IDs, now and at the end.
func openTable(t *testing.T, dsns string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", strings.Fields(dsns)[0])
	if err != nil {
		t.Fatal(err)
	}
	clear := func() {
		for deleted := int64(1); deleted > 0; { // in steps that one transaction may hold
			result, err := db.Exec("DELETE FROM employee WHERE id BETWEEN ? AND ? LIMIT 10000", firstID, firstID+1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			if deleted, err = result.RowsAffected(); err != nil {
				t.Fatal(err)
			}
		}
	}
	clear()
	t.Cleanup(func() {
		clear()
		db.Close()
	})
	return db
}

func rowAsText(t *testing.T, db *sql.DB, id int64) string {
	t.Helper()
	var row sql.NullString
	err := db.QueryRow(`SELECT CONCAT_WS('|', id, IFNULL(first,'NULL'), IFNULL(last,'NULL'), IFNULL(municipality,'NULL'),
		IFNULL(started,'NULL'), IFNULL(ended,'NULL'), department) FROM employee WHERE id = ?`, id).Scan(&row)
	if err == sql.ErrNoRows {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return row.String
}

func TestCRUD_RowsAreSeenByMySQLAndTheOtherWayRound(t *testing.T) {
	dsns := cluster(t)
	db := openTable(t, dsns)
	onEachRoad(t, serve(t, dsns), func(t *testing.T, g *gateway) { crud(t, g, db) })
}

func crud(t *testing.T, g *gateway, db *sql.DB) {
	path := fmt.Sprintf("/v1/employees/%d", firstID)
	steps := []struct {
		method, path, body string
		status             int
		row                string // in MySQL afterwards, without the ID
	}{
		{"POST", "/v1/employees", fmt.Sprintf(`{"id":%d,"first":"Åsa","last":"","started":"2020-02-29"}`, firstID), 201, "|Åsa||NULL|2020-02-29|NULL|1"},
		{"POST", "/v1/employees", fmt.Sprintf(`{"id":%d}`, firstID), 409, "|Åsa||NULL|2020-02-29|NULL|1"},
		{"PATCH", path, `{"city":"Malmö","ended":"9999-12-31"}`, 200, "|Åsa||Malmö|2020-02-29|9999-12-31|1"},
		{"PATCH", path, `{"ended":"2020-01-01"}`, 422, "|Åsa||Malmö|2020-02-29|9999-12-31|1"},
		{"PATCH", path, `{"first":"😀"}`, 422, "|Åsa||Malmö|2020-02-29|9999-12-31|1"},
		{"PUT", path, `{"department":2147483647,"started":"1000-01-01"}`, 200, "|NULL|NULL|NULL|1000-01-01|NULL|2147483647"},
		{"PUT", path, `{"department":2147483647,"started":"1000-01-01"}`, 200, "|NULL|NULL|NULL|1000-01-01|NULL|2147483647"},
		{"DELETE", path, "", 204, ""},
		{"DELETE", path, "", 404, ""},
		{"PUT", path, `{}`, 201, "|NULL|NULL|NULL|NULL|NULL|1"},
	}
	for _, s := range steps {
		if a := g.do(s.method, s.path, s.body); a.status != s.status {
			t.Fatalf("%s %s: got %d %s, want %d", s.method, s.body, a.status, a.body, s.status)
		}
		want := s.row
		if want != "" {
			want = fmt.Sprint(firstID) + want
		}
		if got := rowAsText(t, db, firstID); got != want {
			t.Fatalf("after %s %s: MySQL has %q, want %q", s.method, s.body, got, want)
		}
	}
	if _, err := db.Exec("REPLACE INTO employee (id, first, municipality, started) VALUES (?, 'Zoë', 'Øystese', '1999-12-31')", firstID+1); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"id":%d,"first":"Zoë","last":null,"city":"Øystese","started":"1999-12-31","ended":null,"department":1}`+"\n", firstID+1)
	if a := g.do("GET", fmt.Sprintf("/v1/employees/%d", firstID+1), ""); a.status != 200 || a.body != want {
		t.Errorf("got %d %s, want %s", a.status, a.body, want)
	}
	if a := g.do("GET", fmt.Sprintf("/v1/employees?city=%%C3%%B8YSTESE&id=%d", firstID+1), ""); !strings.Contains(a.body, "Zoë") {
		t.Errorf("filter by city: got %d %s", a.status, a.body)
	}
	if a := g.do("DELETE", path, ""); a.status != 204 {
		t.Errorf("delete: got %d %s", a.status, a.body)
	}
}

func TestBadInput_OnTheRunningGateway(t *testing.T) {
	dsns := cluster(t)
	db := openTable(t, dsns)
	onEachRoad(t, serve(t, dsns), func(t *testing.T, g *gateway) { badInput(t, g, db) })
}

func badInput(t *testing.T, g *gateway, db *sql.DB) {
	path := fmt.Sprintf("/v1/employees/%d", firstID)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"PUT", path, `{"first":`, 400, "malformed_json"},
		{"PUT", path, `{"salary":1}`, 400, "invalid_body"},
		{"PUT", path, `{"first":"` + strings.Repeat("x", 65) + `"}`, 422, "validation_failed"},
		{"PUT", path, `{"first":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "body_too_large"},
		{"PUT", path, `{"city":"😀"}`, 422, "validation_failed"},
		{"GET", "/v1/employees/x", "", 400, "invalid_parameter"},
		{"GET", "/v1/employees?page_size=x", "", 400, "invalid_parameter"},
		{"GET", "/nothing", "", 404, "route_not_found"},
		{"POST", path, "{}", 405, "method_not_allowed"},
	} {
		a, err := g.try(c.method, c.path, c.body)
		if err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		} else if a.status != c.status || !strings.Contains(a.body, `"code":"`+c.code+`"`) {
			t.Errorf("%s %s: got %d %s, want %d %s", c.method, c.path, a.status, a.body, c.status, c.code)
		}
		if got := rowAsText(t, db, firstID); got != "" {
			t.Fatalf("%s %.50s stored %q", c.method, c.body, got)
		}
	}
	if a := g.do("GET", "/v1/employees/1", "", "X-Backend: nosuch"); a.status != 400 {
		t.Errorf("unknown backend: got %d", a.status)
	}
}

func TestCheck_RealClusterIsFine(t *testing.T) {
	dsns := cluster(t)
	output, err := command([]string{"GATEWAY_SQL_DSN=" + dsns, "GATEWAY_NDB_CONNECTSTRING=" + os.Getenv("TEST_NDB_CONNECTSTRING")}, "check").CombinedOutput()
	for _, road := range roads {
		if err != nil || !strings.Contains(string(output), road) {
			t.Errorf("%s: got %v\n%s", road, err, output)
		}
	}
}
