package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

var errClosed = errors.New("the store is closed")

// call says what a call does, for its errors.
type call struct {
	op    string
	id    int64 // 0 where it is about no single employee
	write bool
	// What a write stores, to find the property that cannot be.
	values *models.Employee
	set    []models.Property
}

// do runs try on the node whose turn it is. Where a node surely did nothing and
// another may do better, it goes on to that, so try must set its results anew
// each time. It stops at the first success, at the first other error and when
// all nodes were asked once.
func (s *Store) do(ctx context.Context, c call, try func(db *gorm.DB) error) error {
	if err := ctx.Err(); err != nil {
		return c.error("", nil, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.closing, func() { cancel(errClosed) })()

	var err error
	first := s.turn.Add(1)
	for i := range uint64(len(s.nodes)) {
		n := s.nodes[(first+i)%uint64(len(s.nodes))]
		if n.down() != nil {
			continue
		}
		a := &attempt{}
		cause := try(n.db.WithContext(withAttempt(ctx, a)))
		if cause == nil {
			return nil
		}
		f := s.diagnose(ctx, &c, a, cause)
		if f.down {
			n.fail(f.cause)
		} else if f.doubtful {
			n.suspect()
		}
		err = c.error(n.address, f.kind, f.cause)
		if !f.elsewhere || ctx.Err() != nil {
			return err
		}
	}
	if err == nil {
		err = s.allDown(c)
	}
	return err
}

func (s *Store) allDown(c call) error {
	if s.closing.Err() != nil {
		return c.error("", store.ErrUnavailable, errClosed)
	}
	return c.error("", store.ErrUnavailable, fmt.Errorf("no SQL node is up: %s", s.whyDown()))
}

// error adds what was done and where.
func (c *call) error(address string, kind, cause error) error {
	what := c.op
	if c.id != 0 {
		what = fmt.Sprintf("%s employee %d", c.op, c.id)
	}
	if address != "" {
		what += " on " + address
	}
	switch {
	case kind == nil:
		return fmt.Errorf("%s: %w", what, cause)
	case cause == nil:
		return fmt.Errorf("%s: %w", what, kind)
	default:
		return fmt.Errorf("%s: %w: %w", what, kind, cause)
	}
}
