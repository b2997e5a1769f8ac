package storetest

import (
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// always, never: preconditions on the stored row's values.
var (
	always = store.Precondition{Matches: func(*models.Employee) bool { return true }}
	never  = store.Precondition{Matches: func(*models.Employee) bool { return false }}

	absent  = store.Precondition{Absent: true}
	present = store.Precondition{Present: true}
)

// sees is a precondition that fails the test where it is not shown want.
func sees(t *testing.T, want models.Employee) store.Precondition {
	return store.Precondition{Matches: func(row *models.Employee) bool {
		wantEqual(t, *row, want)
		return true
	}}
}

func (s *suite) testCreate(t *testing.T) {
	t.Run("an ID that exists is a conflict and leaves the row", func(t *testing.T) {
		e := s.stored(t)
		err := s.store.Create(testContext(t), bare(e.ID))
		wantKind(t, err, store.ErrConflict)
		s.wantStored(t, e)
	})
	t.Run("the same employee twice is a conflict", func(t *testing.T) {
		e := s.stored(t)
		err := s.store.Create(testContext(t), e)
		wantKind(t, err, store.ErrConflict)
		s.wantStored(t, e)
	})
	t.Run("again after a delete", func(t *testing.T) {
		e := s.stored(t)
		wantKind(t, s.store.Delete(testContext(t), e.ID, store.Precondition{}), nil)
		s.create(t, bare(e.ID))
		s.wantStored(t, bare(e.ID))
	})
}

func (s *suite) testGet(t *testing.T) {
	t.Run("absent", func(t *testing.T) {
		got, err := s.store.Get(testContext(t), s.newID(t))
		wantKind(t, err, store.ErrNotFound)
		wantEqual(t, got, models.Employee{})
	})
	t.Run("an ID that no employee can have", func(t *testing.T) {
		for _, id := range []int64{0, -1} {
			_, err := s.store.Get(testContext(t), id)
			wantKind(t, err, store.ErrNotFound)
		}
	})
}

func (s *suite) testSave(t *testing.T) {
	for name, pre := range map[string]store.Precondition{"without precondition": {}, "if absent": absent} {
		t.Run(name+" creates", func(t *testing.T) {
			e := full(s.newID(t))
			created, err := s.store.Save(testContext(t), e, pre)
			wantKind(t, err, nil)
			wantEqual(t, created, true)
			s.wantStored(t, e)
		})
	}
	for name, pre := range map[string]store.Precondition{"without precondition": {}, "if present": present, "if it matches": always} {
		t.Run(name+" replaces all properties", func(t *testing.T) {
			e := s.stored(t)
			s.wantReplaced(t, bare(e.ID), pre)
			s.wantReplaced(t, e, pre)
		})
		t.Run(name+" counts an unchanged row as replaced", func(t *testing.T) {
			e := s.stored(t)
			s.wantReplaced(t, e, pre)
			s.wantReplaced(t, e, pre)
		})
	}
	t.Run("created, replaced and created again are told apart", func(t *testing.T) {
		ctx, id := testContext(t), s.newID(t)
		for range 3 {
			created, err := s.store.Save(ctx, full(id), store.Precondition{})
			wantKind(t, err, nil)
			wantEqual(t, created, true)
			s.wantReplaced(t, full(id), store.Precondition{})
			wantKind(t, s.store.Delete(ctx, id, store.Precondition{}), nil)
		}
	})
	t.Run("the precondition is shown the stored row", func(t *testing.T) {
		e := s.stored(t)
		s.wantReplaced(t, bare(e.ID), sees(t, e))
	})
	for name, pre := range map[string]store.Precondition{"if absent": absent, "if it matches": never} {
		t.Run(name+" leaves a row for which that does not hold", func(t *testing.T) {
			e := s.stored(t)
			created, err := s.store.Save(testContext(t), bare(e.ID), pre)
			wantKind(t, err, store.ErrPreconditionFailed)
			wantEqual(t, created, false)
			s.wantStored(t, e)
		})
	}
	for name, pre := range map[string]store.Precondition{"if present": present, "if it matches": always} {
		t.Run(name+" does not create", func(t *testing.T) {
			id := s.newID(t)
			created, err := s.store.Save(testContext(t), full(id), pre)
			wantKind(t, err, store.ErrPreconditionFailed)
			wantEqual(t, created, false)
			s.wantAbsent(t, id)
		})
	}
}

func (s *suite) wantReplaced(t *testing.T, e models.Employee, pre store.Precondition) {
	t.Helper()
	created, err := s.store.Save(testContext(t), e, pre)
	wantKind(t, err, nil)
	wantEqual(t, created, false)
	s.wantStored(t, e)
}

func (s *suite) testDelete(t *testing.T) {
	for name, pre := range map[string]store.Precondition{"without precondition": {}, "if present": present, "if it matches": always} {
		t.Run(name+" removes the row", func(t *testing.T) {
			e := s.stored(t)
			wantKind(t, s.store.Delete(testContext(t), e.ID, pre), nil)
			s.wantAbsent(t, e.ID)
		})
	}
	t.Run("the precondition is shown the stored row", func(t *testing.T) {
		e := s.stored(t)
		wantKind(t, s.store.Delete(testContext(t), e.ID, sees(t, e)), nil)
	})
	for name, pre := range map[string]store.Precondition{"if absent": absent, "if it matches": never} {
		t.Run(name+" leaves a row for which that does not hold", func(t *testing.T) {
			e := s.stored(t)
			wantKind(t, s.store.Delete(testContext(t), e.ID, pre), store.ErrPreconditionFailed)
			s.wantStored(t, e)
		})
	}
	for name, pre := range allPreconditions {
		t.Run("an absent row is not found, precondition "+name, func(t *testing.T) {
			wantKind(t, s.store.Delete(testContext(t), s.newID(t), pre), store.ErrNotFound)
		})
	}
	t.Run("only that row", func(t *testing.T) {
		e, other := s.stored(t), s.stored(t)
		wantKind(t, s.store.Delete(testContext(t), e.ID, store.Precondition{}), nil)
		s.wantStored(t, other)
	})
}

var allPreconditions = map[string]store.Precondition{
	"none": {}, "absent": absent, "present": present, "matches": always, "does not match": never,
}
