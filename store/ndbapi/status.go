package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// Ping implements store.Backend: it reads an employee that nobody has. It waits
// for the first attempt to connect, and needs no session.
func (s *Store) Ping(ctx context.Context) error {
	select {
	case <-s.tried:
	case <-ctx.Done():
	case <-s.closing.Done():
	}
	if _, err := s.connected(); err != nil {
		return err
	}
	err := s.newSession().Find(ctx, &models.Employee{})
	switch {
	case err == nil || errors.Is(err, store.ErrNotFound):
		return nil
	case errors.Is(err, store.ErrUnavailable):
		return err
	default:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
}

// Status implements store.Backend. The pool is shown as one node, which is the
// whole cluster.
func (s *Store) Status() store.Status {
	p := s.pool.stats()
	node := store.NodeStatus{
		Address: s.cfg.Connectstring, Max: s.cfg.MaxTransactions,
		InUse: p.inUse, Idle: p.idle, Waiting: p.waiting, Waits: p.waits, WaitTime: p.waitTime,
	}
	status := store.Status{}
	if err := s.whyDown(); err != nil {
		status.Reason = err.Error()
	} else {
		status.Up, node.Up = true, true
	}
	status.Nodes = []store.NodeStatus{node}
	return status
}

var errNoDataNode = errors.New("no data node can be used")

func (s *Store) whyDown() error {
	client, err := s.connected()
	if err != nil {
		return err
	}
	if s.closing.Err() != nil {
		return errClosed
	}
	if err := s.employees.misfit(); err != nil {
		return err
	}
	for _, node := range client.Nodes() {
		if node.Usable {
			return nil
		}
	}
	return errNoDataNode
}

// Nodes tells how the data nodes are, as ndb.Client.Nodes does; none before the
// cluster was reached.
func (s *Store) Nodes() []ndb.NodeInfo {
	if client := s.client.Load(); client != nil {
		return client.Nodes()
	}
	return nil
}

// Client returns the client below, or ErrUnavailable before the cluster was
// reached. It belongs to the store, whose Close ends it. What is done with it
// takes no session.
func (s *Store) Client() (*ndb.Client, error) { return s.connected() }

// counters count since Open.
type counters struct {
	retries, unknown atomic.Uint64
}

// Counters implements store.Counting.
func (s *Store) Counters() store.Counters {
	return store.Counters{Retries: s.counters.retries.Load(), UnknownOutcomes: s.counters.unknown.Load()}
}

// Stats tells what the store has done since Open, and does at this moment.
type Stats struct {
	store.Counters

	SessionsInUse int
	SessionsIdle  int
	Waiting       int           // callers that wait for a session
	Waits         int64         // callers that had to wait, as long as they are not refused at once
	WaitTime      time.Duration // sum of the waits that are over

	Client ndb.Stats // zero before the cluster was reached
}

// Stats may be called at any time; its numbers are not all of the same instant.
func (s *Store) Stats() Stats {
	p := s.pool.stats()
	stats := Stats{
		Counters: s.Counters(), SessionsInUse: p.inUse, SessionsIdle: p.idle, Waiting: p.waiting, Waits: p.waits, WaitTime: p.waitTime,
	}
	if client := s.client.Load(); client != nil {
		stats.Client = client.Stats()
	}
	return stats
}
