package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	// shares: no node gets all the time that is left while there is another.
	shares bool
	// oneShot: its statements with arguments are like no others, and not kept.
	oneShot bool
	// prepare is done on each node that is asked, before the rest; it may be nil.
	prepare func(n *node, db *gorm.DB) error
	// tooLarge makes the error of a refusal for the size of the transaction. Where
	// it is nil, such a refusal is like any other.
	tooLarge func(cause error) error
	// keyFirst: its first statement keeps an answer under a key, so a refusal leaves
	// open whether the values can be stored, and that counts first.
	keyFirst bool
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
	var err error
	first := s.turn.Add(1)
	asked := make([]*node, 0, 8)
	for {
		n := s.next(first, asked)
		if n == nil {
			break
		}
		if len(asked) > 0 {
			s.retries.Add(1)
		}
		asked = append(asked, n)
		a, cause := s.attempt(ctx, n, &c, s.next(first, asked) != nil, try)
		if cause == nil {
			n.serves()
			return nil
		}
		f := s.diagnose(ctx, &c, a, cause)
		if f.down {
			n.fail(f.cause)
		} else if f.doubtful {
			n.suspect()
		}
		if f.kind == store.ErrUnknownOutcome {
			s.unknown.Add(1)
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

// next is the node to ask, in turn, or nil where all that are up were asked.
// Silent ones come last.
func (s *Store) next(first uint64, asked []*node) *node {
	var silent *node
	for i := range uint64(len(s.nodes)) {
		n := s.nodes[(first+i)%uint64(len(s.nodes))]
		switch {
		case n.down() != nil || slices.Contains(asked, n):
		case !n.silent.Load():
			return n
		case silent == nil:
			silent = n
		}
	}
	return silent
}

// attempt runs try on one node. It ends with the context, with Close, or when
// it is called off because another node will answer sooner.
func (s *Store) attempt(ctx context.Context, n *node, c *call, others bool, try func(db *gorm.DB) error) (*attempt, error) {
	if deadline, ok := ctx.Deadline(); ok && c.shares && others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Until(deadline)/2, errSilent)
		defer cancel()
	}
	n.calls.Add(1)
	defer n.calls.Add(-1)
	a := n.begin(ctx)
	defer n.end(a)
	defer context.AfterFunc(s.closing, func() { a.cancel(errClosed) })()
	a.oneShot = c.oneShot
	db := n.db.WithContext(a.ctx)
	if c.prepare != nil {
		if err := c.prepare(n, db); err != nil {
			return a, err
		}
	}
	if c.write {
		return a, n.write(a.ctx, db, &s.columns, c, try)
	}
	return a, try(db)
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
