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

func TestIdempotency(t *testing.T) {
	storetest.RunIdempotency(t, func(*testing.T) []storetest.IdempotentStore { return []storetest.IdempotentStore{&memstore.Store{}} })
}

func TestBatches(t *testing.T) {
	storetest.RunBatches(t, func(*testing.T) storetest.BatchStore { return &memstore.Store{} })
}
