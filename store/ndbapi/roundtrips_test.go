package ndbapi_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
)

// What each call costs is what the package's documentation says. The rows 1 and 2
// are there, row 3 is not.
func TestRoundTrips(t *testing.T) {
	var trips atomic.Int64
	c := startCluster(t)
	s := openOn(t, c, quiet, func(cfg *ndbapi.Config) {
		cfg.Trace = &ndb.Trace{Call: func(_ context.Context, call ndb.Call) { trips.Add(int64(call.RoundTrips)) }}
	})
	absent, present := store.Precondition{Absent: true}, store.Precondition{Present: true}
	save := func(id int64, pre store.Precondition) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Save(ctx, full(t, id), pre)
			return err
		}
	}
	patch := func(p models.EmployeePatch, opts store.PatchOptions) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Patch(ctx, 1, p, opts)
			return err
		}
	}
	first, ended, tooEarly := patchOf(t, models.Employee{}, "first"), patchOf(t, full(t, 1), "ended"), patchOf(t, models.Employee{Ended: date(t, "1999-01-01")}, "ended")
	for name, test := range map[string]struct {
		run  func(ctx context.Context) error
		want int64
		err  error
	}{
		"get":                    {func(ctx context.Context) error { _, err := s.Get(ctx, 1); return err }, 1, nil},
		"create":                 {func(ctx context.Context) error { return s.Create(ctx, full(t, 3)) }, 1, nil},
		"create what exists":     {func(ctx context.Context) error { return s.Create(ctx, full(t, 1)) }, 1, store.ErrConflict},
		"save, created":          {save(3, store.Precondition{}), 1, nil},
		"save, replaced":         {save(1, store.Precondition{}), 1, nil},
		"save if absent":         {save(3, absent), 1, nil},
		"save if present":        {save(1, present), 1, nil},
		"save if it matches":     {save(1, holds), 2, nil},
		"patch":                  {patch(first, store.PatchOptions{}), 1, nil},
		"patch, with row":        {patch(first, store.PatchOptions{ReturnRow: true}), 1, nil},
		"patch a date":           {patch(ended, store.PatchOptions{}), 1, nil},
		"patch a date, with row": {patch(ended, store.PatchOptions{ReturnRow: true, Precondition: present}), 1, nil},
		"patch a date, refused":  {patch(tooEarly, store.PatchOptions{}), 2, store.ErrInvalid},
		"patch if it matches":    {patch(first, store.PatchOptions{Precondition: holds}), 2, nil},
		"patch nothing":          {patch(models.EmployeePatch{}, store.PatchOptions{ReturnRow: true}), 1, nil},
		"delete":                 {func(ctx context.Context) error { return s.Delete(ctx, 2, store.Precondition{}) }, 1, nil},
		"delete if it matches":   {func(ctx context.Context) error { return s.Delete(ctx, 2, holds) }, 2, nil},
		"ping":                   {s.Ping, 1, nil},
		"list by ID":             {listBy(t, s, "id", int64(1)), 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range []int64{1, 2, 3} {
				_, err := s.Save(t.Context(), full(t, id), store.Precondition{})
				must(t, err)
			}
			must(t, s.Delete(t.Context(), 3, store.Precondition{}))
			// A record of the coordinator costs a round trip once.
			for range 3 {
				_, err := s.Get(t.Context(), 1)
				must(t, err)
			}
			trips.Store(0)
			err := test.run(t.Context())
			if test.err != nil {
				wantKind(t, err, test.err)
			} else {
				must(t, err)
			}
			if got := trips.Load(); got != test.want {
				t.Errorf("got %d round trips, want %d", got, test.want)
			}
		})
	}
}

func listBy(t *testing.T, s *ndbapi.Store, name string, value any) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.List(ctx, models.EmployeeQuery{Filter: models.Compare(property(t, name), models.OpEqual, value), Limit: 5})
		return err
	}
}
