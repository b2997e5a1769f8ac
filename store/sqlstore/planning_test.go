package sqlstore_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// Rows of two indexes are not read one by one.
func TestMySQL_OrOverTwoIndexes_MergesNoIndexes(t *testing.T) {
	s := open(t, sqlstore.Config{DSNs: testDSNs(t)})
	// In a small table no plan would use an index.
	employees, ids := batchOf(rand.Int64N(1<<40)+1<<50, 5000)
	t.Cleanup(func() { s.DeleteEach(context.WithoutCancel(t.Context()), ids) })
	if got, want := outcomes(s.CreateEach(t.Context(), employees)), "5000 done, 0 unknown, 0 unavailable, 0 other"; got != want {
		t.Fatalf("got %s", got)
	}
	path, err := s.Explain(t.Context(), models.EmployeeQuery{
		Filter: models.Or(models.IsNotNull(property(t, "city")), models.Compare(property(t, "id"), models.OpEqual, int64(33286))),
		Order:  []models.Order{{Property: property(t, "last")}}, Limit: 1001,
	})
	if err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(path.Notes, ", "); strings.Contains(told, "index_merge") || strings.Contains(told, "union(") {
		t.Errorf("got %s by %s: %s", path.Access, path.Index, told)
	}
}
