package sqlstore

import (
	"context"
	"sync/atomic"
	"time"
)

// attempt follows one try of a call on one node, so that afterwards it is known
// how far it came; database/sql tells only that it failed. It travels in the
// context to the wrapped driver. Beside progress, one goroutine at a time
// writes it.
type attempt struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	started time.Duration // on the clock of the node

	oneShot  bool // its statements are not kept
	reached  bool // it had a connection
	progress atomic.Int32
}

// A write that commits, or a COMMIT, leaves for the server only where the
// attempt was not called off, and then it can no longer be called off.
const (
	unsent int32 = iota
	sent         // it may have left
	calledOff
)

func (a *attempt) isSent() bool { return a.progress.Load() == sent }

// callOff ends an attempt that may be made again elsewhere: one that reads or
// has sent nothing.
func (a *attempt) callOff(cause error) {
	if a.progress.CompareAndSwap(unsent, calledOff) {
		a.cancel(cause)
	}
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt in ctx. A context without one gets one that
// nobody reads.
func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}
