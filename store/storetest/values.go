package storetest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// testValues: what is written is read back, and what the columns cannot hold is
// refused.
func (s *suite) testValues(t *testing.T) {
	for name, change := range map[string]func(e *models.Employee){
		"every property":               func(*models.Employee) {},
		"nulls":                        func(e *models.Employee) { *e = bare(e.ID) },
		"empty text is not null":       func(e *models.Employee) { e.First, e.Last, e.City = ptr(""), ptr(""), ptr("") },
		"64 letters of one byte":       func(e *models.Employee) { e.First = ptr(strings.Repeat("x", 64)) },
		"64 letters of two bytes":      func(e *models.Employee) { e.Last = ptr(strings.Repeat("ø", 64)) },
		"64 letters of three bytes":    func(e *models.Employee) { e.City = ptr(strings.Repeat("東", 64)) },
		"spaces at the end stay":       func(e *models.Employee) { e.First, e.City = ptr(" Ada  "), ptr("  ") },
		"case and accents stay":        func(e *models.Employee) { e.Last, e.City = ptr("éÉeE"), ptr("åÅaA") },
		"quotes and control letters":   func(e *models.Employee) { e.City = ptr("'\"`\\%_;--\x00\n\t\u2028") },
		"first date":                   func(e *models.Employee) { e.Started = date("1000-01-01") },
		"last date":                    func(e *models.Employee) { e.Ended = date("9999-12-31") },
		"both dates on one day":        func(e *models.Employee) { e.Ended = e.Started },
		"leap day":                     func(e *models.Employee) { e.Started = date("2000-02-29") },
		"day when clocks were changed": func(e *models.Employee) { e.Started = date("2001-03-25") },
		"ended without started":        func(e *models.Employee) { e.Started = nil },
		"greatest department":          func(e *models.Employee) { e.Department = math.MaxInt32 },
		"smallest department":          func(e *models.Employee) { e.Department = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			e := full(s.newID(t))
			change(&e)
			s.create(t, e)
			s.wantStored(t, e)
		})
	}
	for name, id := range map[string]int64{
		"smallest ID":           1,
		"ID above 2^53":         1<<53 + 1,
		"greatest ID":           math.MaxInt64,
		"ID below the greatest": math.MaxInt64 - 1,
	} {
		t.Run(name, func(t *testing.T) { s.testID(t, id) })
	}
	for _, name := range []string{"first", "last", "city"} {
		t.Run("4-byte characters in "+name+" are refused", func(t *testing.T) { s.testCharset(t, name) })
	}
}

func (s *suite) testID(t *testing.T, id int64) {
	s.setAside(t, id)
	e := full(id)
	s.create(t, e)
	s.wantStored(t, e)
	created, err := s.store.Save(testContext(t), bare(id), store.Precondition{})
	wantKind(t, err, nil)
	wantEqual(t, created, false)
	s.wantStored(t, bare(id))
}

// setAside removes a row of others for the time of the test.
func (s *suite) setAside(t *testing.T, id int64) {
	t.Helper()
	row, err := s.store.Get(testContext(t), id)
	if errors.Is(err, store.ErrNotFound) {
		s.cleanUp(t, id)
		return
	}
	wantKind(t, err, nil)
	wantKind(t, s.store.Delete(testContext(t), id, store.Precondition{}), nil)
	t.Cleanup(func() {
		if _, err := s.store.Save(context.WithoutCancel(t.Context()), row, store.Precondition{}); err != nil {
			t.Errorf("put the row of others back: %v", err)
		}
	})
}

// testCharset: the text columns are utf8mb3, which has no characters beyond the
// basic plane.
func (s *suite) testCharset(t *testing.T, name string) {
	ctx := testContext(t)
	p := property(name)
	withEmoji := func(e models.Employee) models.Employee {
		*p.Pointer(&e).(**string) = ptr("grin 😀")
		return e
	}
	absent := s.newID(t)
	wantInvalid(t, s.store.Create(ctx, withEmoji(full(absent))), name, "charset")
	_, err := s.store.Save(ctx, withEmoji(full(absent)), store.Precondition{})
	wantInvalid(t, err, name, "charset")
	s.wantAbsent(t, absent)

	// Nothing of what is stored changes that answer.
	everyWay(t, func(t *testing.T, opts store.PatchOptions) {
		_, err := s.store.Patch(ctx, absent, patchOf(withEmoji(full(absent)), name), opts)
		wantInvalid(t, err, name, "charset")
	})
	for _, pre := range []store.Precondition{present, never} {
		_, err = s.store.Save(ctx, withEmoji(full(absent)), pre)
		wantInvalid(t, err, name, "charset")
	}
	s.wantAbsent(t, absent)

	e := s.stored(t)
	_, err = s.store.Patch(ctx, e.ID, patchOf(withEmoji(e), name), store.PatchOptions{Precondition: never})
	wantInvalid(t, err, name, "charset")
	_, err = s.store.Save(ctx, withEmoji(e), store.Precondition{Absent: true})
	wantInvalid(t, err, name, "charset")
	_, err = s.store.Save(ctx, withEmoji(e), store.Precondition{})
	wantInvalid(t, err, name, "charset")
	_, err = s.store.Save(ctx, withEmoji(e), store.Precondition{Present: true})
	wantInvalid(t, err, name, "charset")
	_, err = s.store.Patch(ctx, e.ID, patchOf(withEmoji(e), name), store.PatchOptions{})
	wantInvalid(t, err, name, "charset")
	_, err = s.store.Patch(ctx, e.ID, patchOf(withEmoji(e), name), store.PatchOptions{ReturnRow: true})
	wantInvalid(t, err, name, "charset")
	s.wantStored(t, e)
}
