package memstore_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Employees { return &memstore.Store{} })
}
