package ndbapi

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/ndbgate/ndbgate/ndb"
)

// The policy of doing a call again: only what surely was not done and may
// succeed, a few times, with growing pauses of random length, not long after the
// first failure, and never after the context has ended. Where no data node is
// usable, or too much waits already, the caller learns of it at once.
const (
	maxTries   = 8
	firstPause = 4 * time.Millisecond
	maxPause   = 250 * time.Millisecond
	// lockWait is how long the data nodes let an operation wait for a lock by
	// default, and a little more. A try that may be cut off in such a wait could
	// only end with an unknown outcome.
	lockWait = 1500 * time.Millisecond
	// retryTime is how long after its first failure a call is begun again: a
	// wait for a lock takes 1.2 s by default, and another one may follow.
	retryTime = 2 * time.Second
)

func mayTryAgain(err error) bool {
	return ndb.SurelyNotDone(err) && ndb.MayRetry(err) && !errors.Is(err, ndb.ErrNoNode) && !errors.Is(err, ndb.ErrQueueFull)
}

// tries are the tries of one call:
//
//	for t.next(ctx) {
//		t.err = …
//	}
//	return t.result(ctx)
type tries struct {
	session *Session
	client  *ndb.Client
	work    *work
	row     reflect.Value // the caller's struct; not valid for queries
	also    *alsoWork     // nil: the call is about one table
	write   bool

	n       int
	failed  time.Time // when the first try did
	err     error     // of the last try
	renewed bool      // the mapping was made anew once
}

// alsoWork is a row of a second table that takes part.
type alsoWork struct {
	*work
	row reflect.Value
}

// next tells whether there is to be a try, with mappings that are current.
func (t *tries) next(ctx context.Context) bool {
	if t.n > 0 && (t.err == nil || !t.again(ctx)) {
		return false
	}
	t.n++
	t.err = t.work.update(ctx, t.client)
	if t.err == nil && t.also != nil {
		t.err = t.also.update(ctx, t.client)
	}
	return t.err == nil
}

func (t *tries) areCurrent() bool {
	return t.work.mapping.isCurrent() && (t.also == nil || t.also.mapping.isCurrent())
}

// again decides about another try, and waits until it is time for it.
func (t *tries) again(ctx context.Context) bool {
	if isKind(t.err) && t.areCurrent() || ctx.Err() != nil {
		return false
	}
	if t.n == 1 {
		t.failed = time.Now()
	}
	if t.mayBeOld() {
		t.renewed = true
		changed, err := t.relearn(ctx)
		if err != nil {
			t.err = err
			return false
		}
		if changed {
			t.session.store.counters.retries.Add(1)
			return true
		}
	}
	if !mayTryAgain(t.err) || t.n >= maxTries || time.Since(t.failed) > retryTime || t.locked() && timeLeft(ctx) < lockWait {
		return false
	}
	t.session.store.counters.retries.Add(1)
	return pause(ctx, t.n)
}

// relearn makes the mappings anew, and tells whether any is another one now.
func (t *tries) relearn(ctx context.Context) (changed bool, err error) {
	changed, err = t.work.mapper.relearn(ctx, t.client, t.work.mapping)
	if err != nil || t.also == nil {
		return changed, err
	}
	alsoChanged, err := t.also.mapper.relearn(ctx, t.client, t.also.mapping)
	return changed || alsoChanged, err
}

// locked tells whether the try has waited for a lock in vain.
func (t *tries) locked() bool { return isClass(t.err, ndb.ClassTimeout) }

func timeLeft(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return math.MaxInt64
}

// mayBeOld tells whether the try surely did nothing and perhaps failed because
// the table is not as its mapping has it.
func (t *tries) mayBeOld() bool {
	if t.renewed || !ndb.SurelyNotDone(t.err) {
		return false
	}
	return !t.areCurrent() || mayBeOfOldTable(t.err)
}

// mayBeOfOldTable tells whether the error may come from a table that is not as its
// mapping has it.
func mayBeOfOldTable(err error) bool {
	var e *ndb.Error
	return errors.As(err, &e) && (e.Classification == ndb.ClassSchema || isMissingValue(e))
}

// pause waits after try n, and tells whether it could.
func pause(ctx context.Context, n int) bool {
	longest := min(firstPause<<(n-1), maxPause)
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// result is the error of the last try, with its kind.
func (t *tries) result(ctx context.Context) error {
	err := translate(ctx, t.err, t.write)
	if isUnknown(err) {
		t.session.store.counters.unknown.Add(1)
	}
	return err
}
