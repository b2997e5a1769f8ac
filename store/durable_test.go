package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

type waits struct{ memstore.Store }

func (*waits) WaitDurable(context.Context) error { return nil }

type waitsAtTimes struct {
	waits
	why error
}

func (w *waitsAtTimes) CheckDurable() error { return w.why }

func TestCheckDurable(t *testing.T) {
	never := errors.New("never")
	for _, c := range []struct {
		name string
		road store.Employees
		can  bool
		want error
	}{
		{"no method", &memstore.Store{}, false, nil},
		{"always", &waits{}, true, nil},
		{"at times: now", &waitsAtTimes{}, true, nil},
		{"at times: not now", &waitsAtTimes{why: store.ErrUnavailable}, false, store.ErrUnavailable},
		{"not as configured", &waitsAtTimes{why: never}, false, never},
		{"down: each write says so itself", store.Unavailable{}, true, nil},
	} {
		d, err := store.CheckDurable(c.road)
		if (err == nil) != c.can || (d != nil) != c.can || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v", c.name, d, err)
		}
	}
}
