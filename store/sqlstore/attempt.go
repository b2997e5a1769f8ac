package sqlstore

import "context"

// attempt follows one try of a call on one node, so that afterwards it is known
// how far it came; database/sql tells only that it failed. It travels in the
// context to the wrapped driver. One goroutine at a time writes it.
type attempt struct {
	reached bool // it had a connection
	sent    bool // a write that commits, or a COMMIT, may have left for the server
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt in ctx. A context without one, as the probes
// have, gets one that nobody reads.
func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}
