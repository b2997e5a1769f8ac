package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/store"
)

const (
	// eachWorkers is how many steps of a batch of single writes run at once.
	eachWorkers = 4
	// stepRounds bounds how often a step is done again without the items that were
	// to blame; then those that are left are done one by one.
	stepRounds = 3
)

// writeEach does a batch as single writes, some of which are one transaction as
// long as all goes well.
func (s *Store) writeEach(ctx context.Context, b *batch) []store.ItemResult {
	e := &each{batch: b, store: s, results: make([]store.ItemResult, b.size), last: lastBegin(ctx, time.Now())}
	var next atomic.Int64
	var working sync.WaitGroup
	steps := (b.size + stepRows - 1) / stepRows
	for range min(eachWorkers, steps) {
		working.Go(func() { // ends after the steps, which end by the context
			for step := int(next.Add(1)) - 1; step < steps; step = int(next.Add(1)) - 1 {
				e.run(ctx, span(step*stepRows, min((step+1)*stepRows, b.size)))
			}
		})
	}
	working.Wait()
	return e.results
}

// each is a batch of single writes on its way. Of an element of results only the
// goroutine knows that does its item.
type each struct {
	*batch
	store   *Store
	results []store.ItemResult
	last    time.Time // after which nothing is begun any more; zero: never
}

// lockTime is what a write may spend in waits for locks, each of 1.2 s by default
// (TransactionDeadlockDetectionTimeout), before it is done or refused.
const lockTime = 3 * time.Second

// errNoTime says that a write was not begun: cut off in a wait for a lock, nobody
// would know what became of it.
var errNoTime = errors.New("no time is left to begin with it")

// lastBegin leaves writes lockTime before the deadline, where that is far away.
func lastBegin(ctx context.Context, now time.Time) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return deadline.Add(-min(lockTime, deadline.Sub(now)/2))
}

// isLate tells whether nothing is to be begun any more.
func (e *each) isLate() bool { return !e.last.IsZero() && time.Now().After(e.last) }

// run does some items: together, without those that were to blame, or one by one.
func (e *each) run(ctx context.Context, items []int) {
	for range stepRounds {
		if len(items) <= 1 {
			break
		}
		if e.isLate() {
			e.fail(items, fmt.Errorf("%w: %w", store.ErrUnavailable, errNoTime))
			return
		}
		verdicts, err := e.try(ctx, items)
		if err == nil || errors.Is(err, errBlamed) {
			items = e.take(items, verdicts, err)
			continue
		}
		if errors.Is(err, errPacket) {
			e.run(ctx, items[:len(items)/2])
			e.run(ctx, items[len(items)/2:])
			return
		}
		if ctx.Err() != nil || errors.Is(err, store.ErrUnknownOutcome) {
			e.fail(items, err)
			return
		}
		break // surely nothing was done, and it may succeed item by item
	}
	for k, i := range items {
		if e.isLate() {
			e.fail(items[k:], fmt.Errorf("%w: %w", store.ErrUnavailable, errNoTime))
			return
		}
		e.results[i] = e.single(ctx, i)
	}
}

// errPacket says that a statement would be longer than the server takes.
var errPacket = errors.New("more than a packet of the server holds")

// fail gives all items the same error.
func (e *each) fail(items []int, err error) {
	if errors.Is(err, store.ErrUnknownOutcome) {
		e.store.unknown.Add(uint64(len(items) - 1)) // one is counted already
	}
	for _, i := range items {
		e.results[i].Err = fmt.Errorf("%s employee %d: %w", e.op, e.id(i), err)
	}
}

// take notes the items that are to blame, and returns those that are to be done: the
// others after an error, else none.
func (e *each) take(items []int, verdicts []error, err error) (left []int) {
	for k, i := range items {
		switch {
		case k < len(verdicts) && verdicts[k] != nil:
			e.results[i].Err = fmt.Errorf("%s employee %d: %w", e.op, e.id(i), verdicts[k])
		case err != nil:
			left = append(left, i)
		}
	}
	return left
}

// try does some items as one transaction. Without an error those are done that the
// verdicts do not blame; with errBlamed none.
func (e *each) try(ctx context.Context, items []int) (verdicts []error, err error) {
	var asked *node
	c := call{op: e.op + " each", write: true, oneShot: true, prepare: func(n *node, db *gorm.DB) error {
		asked, verdicts = n, nil
		limits, err := n.limitsOfBatches(db)
		if err == nil && e.bytesOf(items) > limits.stepBytes() {
			return errPacket
		}
		return err
	}}
	err = e.store.do(ctx, c, func(db *gorm.DB) (err error) {
		verdicts, err = e.badValues(asked, db, items, (*call).hasTextToLookAt)
		if err != nil || verdicts != nil {
			return errors.Join(err, errBlamed)
		}
		if verdicts, err = e.transact(db, items); err == nil {
			e.blameValues(asked, db, items, verdicts)
			return nil
		}
		if !isOfItem(err) {
			return err
		}
		cause := err
		if verdicts, err = e.badValues(asked, db, items, anyCall); err == nil && verdicts == nil {
			verdicts, err = e.look(db, items)
		}
		if err != nil || errors.Join(verdicts...) == nil {
			return cause
		}
		return errBlamed
	})
	return verdicts, err
}

// transact does some items as one transaction, or tells which are to blame.
func (e *each) transact(db *gorm.DB, items []int) (verdicts []error, err error) {
	if e.autocommits {
		return e.step(db, items)
	}
	err = db.Transaction(func(tx *gorm.DB) (err error) {
		verdicts, err = e.step(tx, items)
		if err == nil && slices.ContainsFunc(verdicts, func(v error) bool { return errors.Is(v, store.ErrInvalid) }) {
			return errBlamed
		}
		return err
	})
	return verdicts, err
}

// blameValues blames values that cannot be stored rather than rows that are there
// or are not: as with single writes, they count first. Where they cannot be looked
// at, the verdict stays, which is true as well.
func (e *each) blameValues(n *node, db *gorm.DB, items []int, verdicts []error) {
	for k, verdict := range verdicts {
		if verdict == nil {
			continue
		}
		if err := e.store.badValue(n, db, e.batch, items[k], anyCall); errors.Is(err, store.ErrInvalid) {
			verdicts[k] = err
		}
	}
}

// badValues blames the items with values that their columns cannot hold; nil where
// there are none.
func (e *each) badValues(n *node, db *gorm.DB, items []int, worth func(*call) bool) ([]error, error) {
	var verdicts []error
	for k, i := range items {
		err := e.store.badValue(n, db, e.batch, i, worth)
		if err != nil && !errors.Is(err, store.ErrInvalid) {
			return nil, err
		}
		if err != nil {
			if verdicts == nil {
				verdicts = make([]error, len(items))
			}
			verdicts[k] = err
		}
	}
	return verdicts, nil
}
