package ndbapi_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const connectstringVariable = "TEST_NDB_CONNECTSTRING"

// employeeTable is the table as deploy/schema.sql has it.
const employeeTable = `CREATE TABLE ndbtest.employee (
	id BIGINT NOT NULL PRIMARY KEY,
	first VARCHAR(64) DEFAULT NULL,
	last VARCHAR(64) DEFAULT NULL,
	municipality VARCHAR(64) DEFAULT NULL,
	started DATE DEFAULT NULL,
	ended DATE DEFAULT NULL,
	department INT NOT NULL DEFAULT 1,
	KEY idx_municipality (municipality)
) ENGINE=NDBCLUSTER DEFAULT CHARSET=utf8mb3`

// realConnectstring is that of the cluster to test against.
func realConnectstring(t testing.TB) string {
	t.Helper()
	connectstring := os.Getenv(connectstringVariable)
	if connectstring == "" {
		t.Skipf("%s is not set: no cluster to test against", connectstringVariable)
	}
	return connectstring
}

// patience is how long a test waits for what comes at once where all is well.
const patience = 30 * time.Second

// open opens a store and waits until it serves.
func open(t testing.TB, cfg ndbapi.Config) *ndbapi.Store {
	t.Helper()
	s := openOnly(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func openOnly(t testing.TB, cfg ndbapi.Config) *ndbapi.Store {
	t.Helper()
	s, err := ndbapi.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// startCluster starts a cluster in this process with the table.
func startCluster(t testing.TB, opts ...ndbtest.Option) *ndbtest.Cluster {
	t.Helper()
	c := ndbtest.Run(t, append(opts, ndbtest.Weights(weights))...)
	c.MustCreateTable(employeeTable)
	return c
}

// openOn opens a store on a cluster in this process, and waits until it can use
// all data nodes.
func openOn(t testing.TB, c *ndbtest.Cluster, changes ...func(*ndbapi.Config)) *ndbapi.Store {
	t.Helper()
	cfg := ndbapi.Config{Connectstring: c.Connectstring(), CheckInterval: checkInterval}
	for _, change := range changes {
		change(&cfg)
	}
	s := open(t, cfg)
	await(t, "all data nodes can be used", func() bool {
		return !slices.ContainsFunc(s.Nodes(), func(n ndb.NodeInfo) bool { return !n.Usable })
	})
	return s
}

// quiet keeps the store from looking at its table beside what the test does.
func quiet(cfg *ndbapi.Config) { cfg.CheckInterval = time.Hour }

// checkInterval is short, for tests that wait for it.
const checkInterval = 10 * time.Millisecond

// weights has what utf8mb3_general_ci says of the letters that the suite uses.
func weights(collation uint16) func(r rune) uint32 {
	const utf8mb3GeneralCI = 33
	if collation != utf8mb3GeneralCI {
		return nil
	}
	return func(r rune) uint32 {
		for _, s := range []struct{ base, letters string }{{"A", "åÅ"}, {"O", "ôÔ"}, {"U", "üÜ"}, {"N", "ñÑ"}, {"C", "çÇ"}, {"E", "éÉ"}, {"S", "ß"}} {
			if strings.ContainsRune(s.letters, r) {
				return uint32(s.base[0])
			}
		}
		return uint32([]rune(strings.ToUpper(string(r)))[0])
	}
}

func TestContract(t *testing.T) {
	c := startCluster(t)
	storetest.Run(t, func(t *testing.T) store.Employees { return openOn(t, c) })
}

func TestContract_RealCluster(t *testing.T) {
	connectstring := realConnectstring(t)
	storetest.Run(t, func(t *testing.T) store.Employees {
		return open(t, ndbapi.Config{Connectstring: connectstring})
	})
}

func full(t testing.TB, id int64) models.Employee {
	t.Helper()
	e := models.Employee{ID: id, First: ptr("Ada"), Last: ptr("Lovelace"), City: ptr("London"), Department: 7}
	e.Started, e.Ended = date(t, "2001-02-03"), date(t, "2011-12-13")
	return e
}

func ptr[T any](v T) *T { return &v }

func date(t testing.TB, text string) *models.Date {
	t.Helper()
	d, err := models.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func property(t testing.TB, name string) models.Property {
	t.Helper()
	p, ok := models.EmployeeProperty(name)
	if !ok {
		t.Fatalf("no property %s", name)
	}
	return p
}

// patchOf sets the named properties to what they are in values.
func patchOf(t testing.TB, values models.Employee, names ...string) models.EmployeePatch {
	t.Helper()
	p := models.EmployeePatch{Values: values}
	for _, name := range names {
		p.Set = append(p.Set, property(t, name))
	}
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// await waits until ready is true, which something in the background makes so.
func await(t testing.TB, what string, ready func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for !ready() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
