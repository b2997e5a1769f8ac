package memstore_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/memstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestStreams(t *testing.T) {
	storetest.RunStreams(t, func(*testing.T) storetest.StreamStore { return &memstore.Store{} })
}
