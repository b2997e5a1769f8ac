package sqlstore_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dsnVariable = "TEST_MYSQL_DSN"

// testDSNs are those of the SQL nodes to test against, separated by spaces.
func testDSNs(t testing.TB) []string {
	t.Helper()
	dsns := strings.Fields(os.Getenv(dsnVariable))
	if len(dsns) == 0 {
		t.Skipf("%s is not set: no SQL node to test against", dsnVariable)
	}
	return dsns
}

func open(t testing.TB, cfg sqlstore.Config) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(cfg)
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

func TestContract_NDB(t *testing.T) {
	dsns := testDSNs(t)
	storetest.Run(t, func(t *testing.T) store.Employees { return open(t, sqlstore.Config{DSNs: dsns}) })
}

// An InnoDB table is one of each SQL node by itself.
func TestContract_InnoDB(t *testing.T) {
	dsns := testDSNs(t)[:1]
	storetest.Run(t, func(t *testing.T) store.Employees {
		return open(t, sqlstore.Config{DSNs: dsns, Table: "employee_innodb"})
	})
}
