package main

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/storetest"
)

// What one road has done, the other one knows.
func TestIdempotency(t *testing.T) {
	c := testCluster(t)
	storetest.RunIdempotency(t, func(t *testing.T) []storetest.IdempotentStore {
		return []storetest.IdempotentStore{openNDB(t, c, databaseName), openSQL(t, c, databaseName)}
	})
}
