package e2e

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

// TestIdempotency_AcrossRoads: what one road has done, the other one knows.
func TestIdempotency_AcrossRoads(t *testing.T) {
	dsns := cluster(t)
	native, err := ndbapi.Open(ndbapi.Config{Connectstring: os.Getenv("TEST_NDB_CONNECTSTRING")})
	if err != nil {
		t.Fatal(err)
	}
	bySQL, err := sqlstore.Open(sqlstore.Config{DSNs: strings.Fields(dsns)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := native.Close(); err != nil {
			t.Error(err)
		}
		if err := bySQL.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := native.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.RunIdempotency(t, func(*testing.T) []storetest.IdempotentStore { return []storetest.IdempotentStore{native, bySQL} })
}

// thing is an employee that a client wants to be created once.
type thing struct {
	t   *testing.T
	db  *sql.DB
	key string // and the last name of the employee
}

func newThing(t *testing.T, db *sql.DB) *thing {
	th := &thing{t: t, db: db, key: fmt.Sprintf("e2e-%x", rand.Uint64())}
	t.Cleanup(func() {
		for _, statement := range []string{"DELETE FROM employee WHERE last = ?", "DELETE FROM idempotency WHERE idempotency_key = ?"} {
			if _, err := db.Exec(statement, th.key); err != nil {
				t.Errorf("clean up: %v", err)
			}
		}
	})
	return th
}

// post asks a gateway for it.
func (th *thing) post(g *gateway) (answer, error) {
	return g.try("POST", "/v1/employees", fmt.Sprintf(`{"last":%q}`, th.key), "Idempotency-Key: "+th.key)
}

// postUntilDone asks until the answer is good, as clients do.
func (th *thing) postUntilDone(g *gateway) answer {
	th.t.Helper()
	deadline := time.Now().Add(waitLimit)
	for {
		a, err := th.post(g)
		if err != nil {
			th.t.Fatal(err)
		}
		if a.status == http.StatusCreated {
			return a
		}
		if a.status < http.StatusInternalServerError && a.status != http.StatusConflict || time.Now().After(deadline) {
			th.t.Fatalf("got %d %s", a.status, a.body)
		}
	}
}

func (a *answer) replayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

// wantOnce fails where not one employee is there, which is that of the answer.
func (th *thing) wantOnce(a answer) {
	th.t.Helper()
	var n, id int64
	if err := th.db.QueryRow("SELECT COUNT(*), IFNULL(MAX(id), 0) FROM employee WHERE last = ?", th.key).Scan(&n, &id); err != nil {
		th.t.Fatal(err)
	}
	if want := fmt.Sprintf("/v1/employees/%d", id); n != 1 || a.header.Get("Location") != want {
		th.t.Errorf("got %d employees, the greatest %d, and the answer %q, want one and that", n, id, a.header.Get("Location"))
	}
}

func wantSame(t *testing.T, got, want answer) {
	t.Helper()
	for _, name := range []string{"Location", "Etag", "Content-Type"} {
		if got.header.Get(name) != want.header.Get(name) {
			t.Errorf("%s: got %q, want %q", name, got.header.Get(name), want.header.Get(name))
		}
	}
	if got.status != want.status || got.body != want.body || !got.replayed() {
		t.Errorf("got %d %s, replayed %v, want %d %s again", got.status, got.body, got.replayed(), want.status, want.body)
	}
}

func TestIdempotency_TwoGateways_BothRoads_OneWrite(t *testing.T) {
	dsns := cluster(t)
	db := openTable(t, dsns)
	gateways := []*gateway{serve(t, dsns), serve(t, dsns)}
	for _, firstRoad := range roads {
		t.Run("first by "+firstRoad, func(t *testing.T) {
			th := newThing(t, db)
			first, err := th.post(gateways[0].on(firstRoad))
			if err != nil || first.status != http.StatusCreated || first.replayed() {
				t.Fatalf("got %d %s (%v)", first.status, first.body, err)
			}
			for _, g := range gateways {
				for _, road := range roads {
					again, err := th.post(g.on(road))
					if err != nil {
						t.Fatal(err)
					}
					wantSame(t, again, first)
				}
			}
			th.wantOnce(first)
			a := gateways[1].on(firstRoad).do("POST", "/v1/employees", `{"last":"another"}`, "Idempotency-Key: "+th.key)
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "idempotency_key_reused") {
				t.Errorf("another body: got %d %s", a.status, a.body)
			}
		})
	}
	t.Run("answers outlive all gateways", func(t *testing.T) {
		th := newThing(t, db)
		first, err := th.post(gateways[0].on("ndb"))
		if err != nil || first.status != http.StatusCreated {
			t.Fatalf("got %d %s (%v)", first.status, first.body, err)
		}
		for _, g := range gateways {
			g.stop()
		}
		again, err := th.post(serve(t, dsns).on("sql"))
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, again, first)
		th.wantOnce(first)
	})
}

// Many twins at the same time, by both gateways and roads: one writes, and each of
// the others gets its answer.
func TestIdempotency_TwinsAtTwoGateways_OneWrites(t *testing.T) {
	const rounds, twins = 20, 12
	dsns := cluster(t)
	db := openTable(t, dsns)
	gateways := []*gateway{serve(t, dsns), serve(t, dsns)}
	for range rounds {
		th := newThing(t, db)
		answers := make([]answer, twins)
		var running sync.WaitGroup
		for i := range twins {
			running.Go(func() { answers[i] = th.postUntilDone(gateways[i%2].on(roads[i/2%2])) })
		}
		running.Wait()
		first := -1
		for i, a := range answers {
			if a.replayed() {
				continue
			}
			if first >= 0 {
				t.Errorf("twins %d and %d both wrote", first, i)
			}
			first = i
		}
		if first < 0 {
			t.Fatal("no twin wrote")
		}
		for i, a := range answers {
			if i != first {
				wantSame(t, a, answers[first])
			}
		}
		th.wantOnce(answers[first])
	}
}

// A gateway dies as by kill -9 at a point of its write. The client asks another
// one, by either road: the employee is there once, and the answer is its own.
func TestIdempotency_GatewayKilled_NextOneResolves(t *testing.T) {
	dsns := cluster(t)
	db := openTable(t, dsns)
	other := serve(t, dsns)
	for _, c := range []struct {
		name   string
		mortal func(t *testing.T, th *thing) *gateway
		done   *bool // before it died; nil: either
	}{
		{"ndb, " + beforeSend, mortalNative(beforeSend), no},
		{"ndb, " + afterSend, mortalNative(afterSend), nil},
		{"ndb, " + afterCommit, mortalNative(afterCommit), yes},
		{"sql, before it keeps the answer", mortalBySQL("INSERT INTO `idempotency`", false), no},
		{"sql, between the two inserts", mortalBySQL("INSERT INTO `employee`", false), no},
		{"sql, before the commit is sent", mortalBySQL(commitStatement, false), no},
		{"sql, before the commit is known", mortalBySQL(commitStatement, true), yes},
	} {
		for _, road := range roads {
			t.Run(c.name+", again by "+road, func(t *testing.T) {
				th := newThing(t, db)
				g := c.mortal(t, th)
				if a, err := th.post(g); err == nil {
					t.Fatalf("got %d %s of a gateway that should be dead", a.status, a.body)
				}
				<-g.ended
				begun := time.Now()
				a := th.postUntilDone(other.on(road))
				t.Logf("resolved after %v, done before: %v", time.Since(begun).Round(time.Millisecond), a.replayed())
				if c.done != nil && a.replayed() != *c.done {
					t.Errorf("got a kept answer: %v, want %v", a.replayed(), *c.done)
				}
				th.wantOnce(a)
				wantSame(t, th.postUntilDone(other.on("ndb")), a)
				wantSame(t, th.postUntilDone(other.on("sql")), a)
				th.wantOnce(a)
			})
		}
	}
}

// commitStatement begins with the byte of MySQL's protocol that says that it is a
// statement: READ-COMMITTED goes by as well.
const commitStatement = "\x03COMMIT"

var (
	yes = new(true)
	no  = new(false)
)

func mortalNative(point string) func(t *testing.T, th *thing) *gateway {
	return func(t *testing.T, th *thing) *gateway {
		if os.Getenv("TEST_NDB_CONNECTSTRING") == "" {
			t.Skip("TEST_NDB_CONNECTSTRING is not set: no native road")
		}
		return startMortal(t, point, th.key)
	}
}

func mortalBySQL(word string, answered bool) func(t *testing.T, th *thing) *gateway {
	return func(t *testing.T, _ *thing) *gateway {
		p := startWordProxy(t, strings.Fields(cluster(t))[0], word, answered)
		g := start(t, command([]string{
			"GATEWAY_LISTEN=127.0.0.1:0", "GATEWAY_ADMIN_LISTEN=127.0.0.1:0", "GATEWAY_DEFAULT_BACKEND=sql", "GATEWAY_NDB_CONNECTSTRING=",
			"GATEWAY_SQL_DSN=" + p.dsn, "GATEWAY_REQUEST_TIMEOUT=" + requestTimeout.String(),
		}, "serve"))
		p.act.Store(new(func() {
			if err := g.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}))
		return g
	}
}
