package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

// Backend is one road to the rows with its pool.
type Backend interface {
	Employees
	Queries
	Batches
	Idempotency

	// Ping makes one round trip to the database that proves it can serve, or
	// returns ErrUnavailable with the reason.
	Ping(ctx context.Context) error

	// Status is what is known now, without a round trip.
	Status() Status

	// Close ends the pool. Calls still running end with an error.
	Close() error
}

// Status describes a backend. It holds no secrets.
type Status struct {
	Up     bool   // requests are served, as far as is known
	Reason string // why not, for people; empty while Up
	Nodes  []NodeStatus
}

// NodeStatus describes the connections to one server of a backend.
type NodeStatus struct {
	Address  string // host:port
	Up       bool   // false from a failure until the node answers again
	Max      int    // the most connections at once
	InUse    int
	Idle     int
	Waiting  int           // requests that wait for a connection now
	Waits    int64         // requests that had to wait for a connection
	WaitTime time.Duration // sum of those waits
}

// Unavailable is a backend that answers every call with ErrUnavailable and the
// reason.
type Unavailable struct {
	Reason string
}

var (
	_ Backend = Unavailable{}
	_ Durable = Unavailable{}
)

func (u Unavailable) err() error { return fmt.Errorf("%w: %s", ErrUnavailable, u.Reason) }

// Get returns ErrUnavailable, as do all other methods that can fail.
func (u Unavailable) Get(context.Context, int64) (models.Employee, error) {
	return models.Employee{}, u.err()
}

// List returns ErrUnavailable.
func (u Unavailable) List(context.Context, models.EmployeeQuery) (models.EmployeePage, error) {
	return models.EmployeePage{}, u.err()
}

// Count returns ErrUnavailable.
func (u Unavailable) Count(context.Context, models.Filter) (int64, error) { return 0, u.err() }

// Explain returns ErrUnavailable.
func (u Unavailable) Explain(context.Context, models.EmployeeQuery) (AccessPath, error) {
	return AccessPath{}, u.err()
}

// Create returns ErrUnavailable.
func (u Unavailable) Create(context.Context, models.Employee) error { return u.err() }

// Save returns ErrUnavailable.
func (u Unavailable) Save(context.Context, models.Employee, Precondition) (bool, error) {
	return false, u.err()
}

// Patch returns ErrUnavailable.
func (u Unavailable) Patch(context.Context, int64, models.EmployeePatch, PatchOptions) (models.Employee, error) {
	return models.Employee{}, u.err()
}

// Delete returns ErrUnavailable.
func (u Unavailable) Delete(context.Context, int64, Precondition) error { return u.err() }

// WaitDurable returns ErrUnavailable.
func (u Unavailable) WaitDurable(context.Context) error { return u.err() }

// Ping returns ErrUnavailable.
func (u Unavailable) Ping(context.Context) error { return u.err() }

// Status gives the reason.
func (u Unavailable) Status() Status { return Status{Reason: u.Reason} }

// Close does nothing.
func (u Unavailable) Close() error { return nil }
