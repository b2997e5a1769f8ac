package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Values of X-Durability: where an acknowledged write is.
const (
	inMemory = "memory" // of all data nodes that hold the row, as always
	onDisk   = "disk"   // of them, too
)

// chooseDurability reads X-Durability. It refuses what the road cannot do
// before anything is written.
func chooseDurability(x *exchange) error {
	wanted, err := onlyValue(x.r.Header, durabilityHeader)
	if err != nil {
		return err
	}
	switch wanted {
	case inMemory:
		x.store = &durableStore{Employees: x.store, x: x}
		return nil
	case onDisk:
		disk, err := store.CheckDurable(x.store)
		if errors.Is(err, store.ErrUnavailable) {
			return fmt.Errorf("%w: %w", noDurabilityNow(), err)
		}
		if err != nil {
			return newProblem(codeDurabilityUnavailable, "nothing was done; leave out X-Durability, or choose another backend than "+x.road)
		}
		x.store = &durableStore{Employees: x.store, x: x, disk: disk}
		return nil
	default:
		return refuseHeader(durabilityHeader, "invalid", "must be disk or memory")
	}
}

// noDurabilityNow is about all roads: the connection that tells what is on disk is
// the same for each.
func noDurabilityNow() *problem {
	return newProblem(codeUnavailable, "nothing was done: the connection of this gateway that tells when a write is on disk is down; "+
		"try again, or leave out X-Durability: disk").withHeader("Retry-After", retryAfterSeconds)
}

// durableStore is the road of one exchange whose writes return once they are as
// durable as was asked, and which says so in the answer.
type durableStore struct {
	store.Employees
	x    *exchange
	disk store.Durable // nil: memory is enough
}

func (d *durableStore) Create(ctx context.Context, e models.Employee) error {
	return d.settle(ctx, d.Employees.Create(ctx, e))
}

// CreateOnce also waits where the write was done before, by whomever: its answer
// may have been one that did not wait, or none.
func (d *durableStore) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	err := onceStoreOf(d.Employees).CreateOnce(ctx, e, a)
	answered, ok := errors.AsType[*store.AnsweredError](err)
	if !ok || !answered.Answer.Answers(&a) {
		return d.settle(ctx, err)
	}
	return cmp.Or(d.settle(ctx, nil), err)
}

func (d *durableStore) Save(ctx context.Context, e models.Employee, pre store.Precondition) (bool, error) {
	created, err := d.Employees.Save(ctx, e, pre)
	return created, d.settle(ctx, err)
}

func (d *durableStore) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	e, err := d.Employees.Patch(ctx, id, p, opts)
	return e, d.settle(ctx, err)
}

func (d *durableStore) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	return d.settle(ctx, d.Employees.Delete(ctx, id, pre))
}

// settle waits until a write that ended with err is on disk, unless nothing was
// written or nobody knows.
func (d *durableStore) settle(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	reached := inMemory
	if d.disk != nil {
		d.x.leavePlace() // any number of writes may wait: that costs the road nothing
		begun := time.Now()
		err = d.disk.WaitDurable(ctx)
		d.x.waitedForDisk += time.Since(begun)
		if err == nil {
			reached = onDisk
		}
	}
	d.x.w.Header().Set(durabilityHeader, reached)
	if err != nil {
		return &notOnDiskError{err}
	}
	return nil
}

// notOnDiskError says that a write is done, but not known to be on disk. It
// hides its cause from errors.Is: a kind such as ErrUnavailable would claim
// that nothing was written.
type notOnDiskError struct {
	cause error
}

func (e *notOnDiskError) Error() string {
	return "committed, but not known to be on disk: " + e.cause.Error()
}
