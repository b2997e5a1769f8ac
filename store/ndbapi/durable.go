package ndbapi

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// commits knows the latest global checkpoint of all commits that were
// acknowledged. Of some it is not known: a node that takes over for a
// coordinator tells of a commit, but not its checkpoint.
type commits struct {
	latest  atomic.Uint64 // ndb.GCI
	blind   atomic.Uint64 // number of commits of unknown checkpoint
	settled atomic.Uint64 // so many of them are on disk
}

// acknowledge is called before the caller learns of a commit.
func (c *commits) acknowledge(gci ndb.GCI) {
	if gci == ndb.UnknownGCI {
		c.blind.Add(1)
		return
	}
	raise(&c.latest, uint64(gci))
}

func raise(to *atomic.Uint64, value uint64) {
	for {
		now := to.Load()
		if now >= value || to.CompareAndSwap(now, value) {
			return
		}
	}
}

// WaitDurable implements store.Durable. With the cluster's defaults it takes 2 s
// at most, and longer only for a commit that a node has finished for another one
// that failed.
func (s *Store) WaitDurable(ctx context.Context) error {
	blind, latest := s.commits.blind.Load(), s.commits.latest.Load()
	client, err := s.connected()
	if err != nil {
		return err
	}
	// A cluster that came back may count its checkpoints from lower numbers.
	if s.commits.settled.Load() < blind || client.ClustersLost() > 0 {
		if err := s.WaitAllDurable(ctx); err != nil {
			return err
		}
		raise(&s.commits.settled, blind)
		return nil
	}
	return notDurable(ctx, client.WaitDurable(ctx, ndb.GCI(latest)))
}

// WaitAllDurable is WaitDurable for everything that anybody has committed in the
// cluster before the call, SQL nodes included.
func (s *Store) WaitAllDurable(ctx context.Context) error {
	client, err := s.connected()
	if err != nil {
		return err
	}
	return notDurable(ctx, client.WaitDurable(ctx, ndb.UnknownGCI))
}

func notDurable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("wait for disk: %w", err)
	default:
		return fmt.Errorf("wait for disk: %w: %w", store.ErrUnavailable, err)
	}
}
