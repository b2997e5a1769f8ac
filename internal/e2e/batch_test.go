package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// batchFirstID begins the IDs of batches, in the range that openTable clears.
const batchFirstID = firstID + 100_000

// batchAnswer is what a batch is answered with.
type batchAnswer struct {
	status int
	took   time.Duration

	Code                  string
	Done, Failed, Unknown int
	Index, Committed      int
	Uncertain             int
	Employees             []json.RawMessage
	Missing               []int64
	Results               []struct {
		ID      int64
		Status  int
		Problem *struct{ Code string }
	}
}

const (
	// patientRequest is the deadline of a request, of which a batch has six, at a
	// gateway for the largest batches on a busy machine.
	patientRequest = 10 * time.Second
	// batchTimeout is longer than any gateway gives a batch.
	batchTimeout = 7 * patientRequest
)

// servePatiently starts a gateway as serve does, with more time for each request.
func servePatiently(t testing.TB, dsns string) *gateway {
	t.Helper()
	return start(t, command([]string{
		"GATEWAY_LISTEN=127.0.0.1:0", "GATEWAY_ADMIN_LISTEN=127.0.0.1:0", "GATEWAY_DEFAULT_BACKEND=sql",
		"GATEWAY_NDB_CONNECTSTRING=" + os.Getenv("TEST_NDB_CONNECTSTRING"),
		"GATEWAY_SQL_DSN=" + dsns, "GATEWAY_REQUEST_TIMEOUT=" + patientRequest.String(),
	}, "serve"))
}

// batch does one and reads all of the answer.
func (g *gateway) batch(method, body string, headers ...string) (batchAnswer, error) {
	r, err := http.NewRequest(http.MethodPost, g.url+"/v1/employees:"+method, strings.NewReader(body))
	if err != nil {
		return batchAnswer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Backend", g.road)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	begun := time.Now()
	patient := http.Client{Timeout: batchTimeout, Transport: client.Transport}
	resp, err := patient.Do(r)
	if err != nil {
		return batchAnswer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return batchAnswer{}, err
	}
	a := batchAnswer{status: resp.StatusCode, took: time.Since(begun)}
	return a, json.Unmarshal(text, &a)
}

// mustBatch fails the test where the batch is not answered with 200, all done.
func (g *gateway) mustBatch(method string, n int, body string) batchAnswer {
	g.t.Helper()
	a, err := g.batch(method, body)
	if err != nil {
		g.t.Fatal(err)
	}
	done := a.Done
	if method == "batchGet" && a.Results == nil {
		done = len(a.Employees)
	}
	if a.status != http.StatusOK || done != n {
		g.t.Fatalf("%s of %d rows: got %d %s, %d done", method, n, a.status, a.Code, done)
	}
	return a
}

// itemList is n items from first on, with format for each ID.
func itemList(first, n int, format string) string {
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, format, first+i)
	}
	return text.String()
}

const createItem = `{"id":%d,"first":"Ada","last":"Lovelace","city":"London","started":"2020-01-02","department":2}`

func creations(first, n int, more string) string {
	return `{"employees":[` + itemList(first, n, createItem) + `]` + more + `}`
}

func updates(first, n int, more string) string {
	return `{"updates":[` + itemList(first, n, `{"id":%d,"city":"Oslo","ended":"2021-01-02"}`) + `]` + more + `}`
}

func ids(first, n int, more string) string {
	return `{"ids":[` + itemList(first, n, "%d") + `]` + more + `}`
}

// countRows counts the rows of batches, and of those that were changed.
func countRows(t testing.TB, db *sql.DB) (rows, changed int) {
	t.Helper()
	err := db.QueryRow("SELECT COUNT(*), COUNT(IF(municipality = 'Oslo' AND ended = '2021-01-02', 1, NULL)) FROM employee WHERE id BETWEEN ? AND ?",
		batchFirstID, batchFirstID+200_000).Scan(&rows, &changed)
	if err != nil {
		t.Fatal(err)
	}
	return rows, changed
}

func TestBatches_EverySizeByEveryRoad(t *testing.T) {
	dsns := cluster(t)
	db := openTable(t, dsns)
	onEachRoad(t, servePatiently(t, dsns), func(t *testing.T, g *gateway) {
		for _, n := range []int{100, 1000, 10_000, 50_000} {
			for mode, more := range map[string]string{"all": "", "partial": `,"partial":true`, "chunk": `,"chunk":1000`} {
				if n == 50_000 && mode == "chunk" {
					continue
				}
				t.Run(fmt.Sprintf("%d/%s", n, mode), func(t *testing.T) {
					g := *g
					g.t = t
					g.everyBatch(db, n, more)
				})
			}
		}
	})
}

// everyBatch creates, changes, reads and deletes n rows, and looks at them past the
// gateway in between.
func (g *gateway) everyBatch(db *sql.DB, n int, more string) {
	g.t.Helper()
	speed := func(method string, a batchAnswer) {
		g.t.Logf("%s: %.0f rows/s", method, float64(n)/a.took.Seconds())
	}
	want := func(rows, changed int) {
		g.t.Helper()
		if gotRows, gotChanged := countRows(g.t, db); gotRows != rows || gotChanged != changed {
			g.t.Fatalf("got %d rows and %d changed, want %d and %d", gotRows, gotChanged, rows, changed)
		}
	}
	speed("create", g.mustBatch("batchCreate", n, creations(batchFirstID, n, more)))
	want(n, 0)
	speed("update", g.mustBatch("batchUpdate", n, updates(batchFirstID, n, more)))
	want(n, n)
	partialOnly := strings.Replace(more, `,"chunk":1000`, "", 1)
	speed("get", g.mustBatch("batchGet", n, ids(batchFirstID, n, partialOnly)))
	speed("delete", g.mustBatch("batchDelete", n, ids(batchFirstID, n, more)))
	want(0, 0)
}

func TestBatches_DuplicateInTheMiddle(t *testing.T) {
	const n, taken = 10_000, 6_543
	dsns := cluster(t)
	db := openTable(t, dsns)
	onEachRoad(t, servePatiently(t, dsns), func(t *testing.T, g *gateway) {
		g.mustBatch("batchCreate", 1, creations(batchFirstID+taken, 1, ""))
		a, err := g.batch("batchCreate", creations(batchFirstID, n, ""))
		if err != nil || a.status != http.StatusConflict || a.Index != taken {
			t.Fatalf("all or nothing: got %d %s, index %d (%v)", a.status, a.Code, a.Index, err)
		}
		if rows, _ := countRows(t, db); rows != 1 {
			t.Fatalf("all or nothing: %d rows are left behind", rows-1)
		}
		a, err = g.batch("batchCreate", creations(batchFirstID, n, `,"chunk":1000`))
		if err != nil || a.status != http.StatusConflict || a.Index != taken || a.Committed != 6000 {
			t.Fatalf("in chunks: got %d %s, index %d, %d committed (%v)", a.status, a.Code, a.Index, a.Committed, err)
		}
		if rows, _ := countRows(t, db); rows != 6001 {
			t.Fatalf("in chunks: got %d rows, want 6001", rows)
		}
		a, err = g.batch("batchCreate", creations(batchFirstID, n, `,"partial":true`))
		if err != nil || a.status != http.StatusOK || a.Done != n-6001 || a.Failed != 6001 || a.Results[taken].Status != http.StatusConflict {
			t.Fatalf("partial: got %d, %d done, %d failed (%v)", a.status, a.Done, a.Failed, err)
		}
		if rows, _ := countRows(t, db); rows != n {
			t.Fatalf("partial: got %d rows, want %d", rows, n)
		}
		// Half of them are missing for the delete.
		a, err = g.batch("batchDelete", ids(batchFirstID+n/2, n, ""))
		if err != nil || a.status != http.StatusNotFound || a.Index != n/2 {
			t.Fatalf("delete: got %d %s, index %d (%v)", a.status, a.Code, a.Index, err)
		}
		g.mustBatch("batchDelete", n, ids(batchFirstID, n, ""))
	})
}
