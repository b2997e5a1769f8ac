package main

import (
	"testing"

	"github.com/ndbgate/ndbgate/api"
	"github.com/ndbgate/ndbgate/internal/inputtest"
	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Bad requests get the same problems by both roads, and leave nothing behind.
func TestBadInput_IsRefusedAlikeByBothRoads(t *testing.T) {
	c := testCluster(t)
	native, viaSQL := openNDB(t, c, databaseName), openSQL(t, c, databaseName)
	backends := store.NewRegistry("sql")
	backends.Add("ndb", native)
	backends.Add("sql", viaSQL)
	for _, e := range inputtest.Rows() {
		if err := native.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	gate := inputtest.NewGate(t)
	inputtest.Run(t, api.New(backends, api.Options{Access: gate.Gate}), gate, []string{"ndb", "sql"}, func(t *testing.T) []models.Employee {
		t.Helper()
		page, err := native.List(t.Context(), models.EmployeeQuery{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return page.Employees
	})
}
