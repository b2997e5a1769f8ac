package sqlstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

func TestDurable_IsWhatWasConfigured(t *testing.T) {
	server := startServer(t)
	noDisk := errors.New("not on disk")
	wait := func(context.Context) error { return noDisk }
	for _, c := range []struct {
		name  string
		wait  func(context.Context) error
		check func() error
		can   bool
		want  error // of CheckDurable
	}{
		{"with both functions", wait, func() error { return nil }, true, nil},
		{"without a check", wait, nil, true, nil},
		{"not now", wait, func() error { return store.ErrUnavailable }, false, store.ErrUnavailable},
		{"never", nil, nil, false, nil},
	} {
		s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}, WaitDurable: c.wait, CheckDurable: c.check})
		if _, err := store.CheckDurable(s); (err == nil) != c.can || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if err := s.WaitDurable(t.Context()); err == nil || errors.Is(err, noDisk) != (c.wait != nil) {
			t.Errorf("%s: wait: got %v", c.name, err)
		}
	}
}
