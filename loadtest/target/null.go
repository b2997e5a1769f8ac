package target

import (
	"context"

	"github.com/ndbgate/ndbgate/models"
)

// Null is a target that does nothing and is always done: what is measured of it
// is the harness.
type Null struct{}

// Open returns a session that does nothing.
func (Null) Open(context.Context) (Session, error) { return nullSession{}, nil }

// Close does nothing.
func (Null) Close() error { return nil }

type nullSession struct{}

func (nullSession) Insert(context.Context, *models.Employee) error        { return nil }
func (nullSession) Select(context.Context, int64, *models.Employee) error { return nil }
func (nullSession) Update(context.Context, int64, string, string) error   { return nil }
func (nullSession) Delete(context.Context, int64) error                   { return nil }
func (nullSession) List(_ context.Context, _ string, limit int) (int, error) {
	return limit, nil
}
func (nullSession) Close() {}
