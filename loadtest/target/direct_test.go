package target

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

func TestDirect_DoesAllOperations(t *testing.T) {
	d := &Direct{Store: &memstore.Store{}, Timeout: time.Minute}
	s, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var got models.Employee
	for i, err := range []error{s.Insert(ctx, employee(7)), s.Update(ctx, 7, "F", "L"), s.Select(ctx, 7, &got)} {
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if *got.First != "F" || *got.Last != "L" || *got.City != "Oslo" {
		t.Errorf("got %+v", got)
	}
	if n, err := s.List(ctx, "Oslo", 10); n != 1 || err != nil {
		t.Errorf("got %d rows, %v", n, err)
	}
	if err := s.Insert(ctx, employee(7)); Kind(err) != Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
	if err := s.Delete(ctx, 7); err != nil {
		t.Error(err)
	}
	for i, err := range []error{s.Select(ctx, 7, nil), s.Update(ctx, 7, "F", "L"), s.Delete(ctx, 7)} {
		if Kind(err) != NotFound {
			t.Errorf("call %d: got %v, want a row that is not found", i, err)
		}
	}
	batches := s.(Batches)
	if err := batches.InsertAll(ctx, []models.Employee{*employee(1), *employee(2), *employee(9)}); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.(Ranges).Rows(ctx, 2, 9, 10); err != nil || len(rows) != 2 || rows[0].ID != 2 || rows[1].ID != 9 || rows[1].First == nil {
		t.Errorf("got %v, %v", rows, err)
	}
	if err := batches.InsertAll(ctx, []models.Employee{*employee(3), *employee(2)}); Kind(err) != Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
	if err := batches.DeleteAny(ctx, []int64{1, 2, 3}); err != nil {
		t.Error(err)
	}
}

func TestStoreError_Kinds(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind string
	}{
		{store.ErrNotFound, NotFound},
		{fmt.Errorf("x: %w: %w", store.ErrUnknownOutcome, context.DeadlineExceeded), UnknownOutcome},
		{fmt.Errorf("%w: no node", store.ErrUnavailable), Unavailable},
		{context.DeadlineExceeded, Timeout},
		{errors.New("bug"), Other},
	} {
		if got := Kind(storeError(c.err)); got != c.kind {
			t.Errorf("%v: got %s, want %s", c.err, got, c.kind)
		}
	}
	if storeError(nil) != nil {
		t.Error("nil became an error")
	}
}
