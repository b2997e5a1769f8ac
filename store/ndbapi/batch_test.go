package ndbapi_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestBatches(t *testing.T) {
	c := startCluster(t)
	storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore { return openOn(t, c) })
}

func TestBatches_RealCluster(t *testing.T) {
	connectstring := realConnectstring(t)
	storetest.RunBatches(t, func(t *testing.T) storetest.BatchStore {
		return open(t, ndbapi.Config{Connectstring: connectstring})
	})
}
