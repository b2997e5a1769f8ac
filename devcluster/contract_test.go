package main

import (
	"testing"

	"github.com/ndbgate/ndbgate/devcluster/sqlnode"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

// TestContract proves that the SQL road over this cluster is one that the
// gateway's own suite accepts.
func TestContract(t *testing.T) {
	node, err := sqlnode.Start(sqlnode.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	storetest.Run(t, func(t *testing.T) store.Employees {
		s, err := sqlstore.Open(sqlstore.Config{DSNs: []string{node.DSN()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
