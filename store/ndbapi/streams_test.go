package ndbapi_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestStreams(t *testing.T) {
	c := startCluster(t)
	storetest.RunStreams(t, func(t *testing.T) storetest.StreamStore { return openOn(t, c) })
}

func TestStreams_RealCluster(t *testing.T) {
	connectstring := realConnectstring(t)
	storetest.RunStreams(t, func(t *testing.T) storetest.StreamStore {
		return open(t, ndbapi.Config{Connectstring: connectstring})
	})
}
