package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// testEndedContext: calls whose context has ended before them do nothing.
func (s *suite) testEndedContext(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, ctx := range map[string]context.Context{"cancelled": cancelled, "expired": expired} {
		t.Run(name, func(t *testing.T) { s.testWithEnded(t, ctx) })
	}
}

func (s *suite) testWithEnded(t *testing.T, ended context.Context) {
	e := s.stored(t)
	other := full(s.newID(t))
	changed := bare(e.ID)
	patch := patchOf(changed, "first")
	for name, run := range map[string]func() error{
		"get": func() error {
			_, err := s.store.Get(ended, e.ID)
			return err
		},
		"list": func() error {
			_, err := s.store.List(ended, models.EmployeeQuery{Limit: 1})
			return err
		},
		"create": func() error { return s.store.Create(ended, other) },
		"save": func() error {
			_, err := s.store.Save(ended, changed, store.Precondition{})
			return err
		},
		"save an absent row": func() error {
			_, err := s.store.Save(ended, other, absent)
			return err
		},
		"save with a precondition": func() error {
			_, err := s.store.Save(ended, changed, always)
			return err
		},
		"patch": func() error {
			_, err := s.store.Patch(ended, e.ID, patch, store.PatchOptions{})
			return err
		},
		"patch with a precondition": func() error {
			_, err := s.store.Patch(ended, e.ID, patch, store.PatchOptions{Precondition: always, ReturnRow: true})
			return err
		},
		"patch nothing": func() error {
			_, err := s.store.Patch(ended, e.ID, models.EmployeePatch{}, store.PatchOptions{})
			return err
		},
		"delete":                     func() error { return s.store.Delete(ended, e.ID, store.Precondition{}) },
		"delete with a precondition": func() error { return s.store.Delete(ended, e.ID, always) },
	} {
		t.Run(name, func(t *testing.T) {
			err := run()
			if !errors.Is(err, ended.Err()) && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("got error %q, want %q or %q", text(err), ended.Err(), store.ErrUnavailable)
			}
			if errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("got error %q: nothing was sent", text(err))
			}
			s.wantStored(t, e)
			s.wantAbsent(t, other.ID)
		})
	}
}
