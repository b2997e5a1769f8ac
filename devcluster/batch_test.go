package main

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestBatches(t *testing.T) {
	t.Run("ndb", func(t *testing.T) {
		c := testCluster(t)
		storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore { return openNDB(t, c, databaseName) })
	})
	t.Run("sql", func(t *testing.T) {
		c := testCluster(t)
		storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore { return openSQL(t, c, databaseName) })
	})
}
