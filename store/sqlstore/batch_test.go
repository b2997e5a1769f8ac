package sqlstore_test

import (
	"testing"

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
