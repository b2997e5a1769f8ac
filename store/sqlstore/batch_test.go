package sqlstore_test

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestBatches_NDB(t *testing.T) {
	dsns := testDSNs(t)
	storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore { return open(t, sqlstore.Config{DSNs: dsns}) })
}

func TestBatches_InnoDB(t *testing.T) {
	dsns := testDSNs(t)[:1]
	storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore {
		return open(t, sqlstore.Config{DSNs: dsns, Table: "employee_innodb"})
	})
}

// A packet holds but a few rows.
func TestBatches_SmallPackets(t *testing.T) {
	c, err := mysql.ParseDSN(testDSNs(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	c.MaxAllowedPacket = 64 << 10
	storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore {
		return open(t, sqlstore.Config{DSNs: []string{c.FormatDSN()}})
	})
}
