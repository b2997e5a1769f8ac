package sqlstore_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestStreams_NDB(t *testing.T) {
	dsns := testDSNs(t)
	storetest.RunStreams(t, func(t *testing.T) storetest.StreamStore { return open(t, sqlstore.Config{DSNs: dsns}) })
}

// An InnoDB table is one of each SQL node by itself.
func TestStreams_InnoDB(t *testing.T) {
	dsns := testDSNs(t)[:1]
	storetest.RunStreams(t, func(t *testing.T) storetest.StreamStore {
		return open(t, sqlstore.Config{DSNs: dsns, Table: "employee_innodb"})
	})
}
