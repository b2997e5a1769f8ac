package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// silentAfter is how long a node may leave everything unanswered, a probe
	// at half of that time too. It then comes last in the turn.
	silentAfter = time.Second
	listenEvery = silentAfter / 10
)

var errSilent = errors.New("the node does not answer")

// waiting are the attempts on a node that have not ended.
type waiting struct {
	mu       sync.Mutex // guards attempts
	attempts map[*attempt]struct{}
}

func (w *waiting) add(a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.attempts == nil {
		w.attempts = map[*attempt]struct{}{}
	}
	w.attempts[a] = struct{}{}
}

func (w *waiting) remove(a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.attempts, a)
}

func (w *waiting) all() []*attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*attempt, 0, len(w.attempts))
	for a := range w.attempts {
		all = append(all, a)
	}
	return all
}

// clock tells the time since the node was opened.
func (n *node) clock() time.Duration { return time.Since(n.opened) }

// begin starts an attempt; end must be called after it.
func (n *node) begin(ctx context.Context) *attempt {
	a := &attempt{started: n.clock()}
	ctx, a.cancel = context.WithCancelCause(ctx)
	a.ctx = withAttempt(ctx, a)
	n.waiting.add(a)
	return a
}

func (n *node) end(a *attempt) {
	n.waiting.remove(a)
	a.cancel(nil)
}

// answered takes note that the server said something.
func (n *node) answered() {
	n.lastAnswer.Store(int64(n.clock()))
	if n.silent.Load() && n.silent.Swap(false) {
		n.log.Info("SQL node answers again")
	}
}

// listen looks after silent nodes until the store is closed. While another node
// answers, what may be asked again does not wait for a silent one.
func (s *Store) listen() {
	ticker := time.NewTicker(listenEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closing.Done():
			return
		case <-ticker.C:
		}
		heard := false
		for _, n := range s.nodes {
			n.listen()
			heard = heard || n.down() == nil && !n.silent.Load()
		}
		for _, n := range s.nodes {
			if heard && n.silent.Load() {
				n.callOff()
			}
		}
	}
}

// listen marks the node as silent where nothing was answered for too long.
// Where it is but one slow statement, the probe is answered.
func (n *node) listen() {
	quiet := n.quiet()
	if quiet >= silentAfter/2 {
		n.suspect()
	}
	if quiet >= silentAfter && !n.silent.Swap(true) {
		n.log.Warn("SQL node is silent", "for", quiet.Round(listenEvery))
	}
}

// quiet is how long something has waited without any answer from the node.
func (n *node) quiet() time.Duration {
	now := n.clock()
	longest := time.Duration(0)
	for _, a := range n.waiting.all() {
		longest = max(longest, now-a.started)
	}
	return min(longest, now-time.Duration(n.lastAnswer.Load()))
}

func (n *node) callOff() {
	for _, a := range n.waiting.all() {
		a.callOff(errSilent)
	}
}
