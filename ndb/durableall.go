package ndb

import (
	"context"
	"time"
)

const (
	// gatherPause is for callers that come together, as they do when one
	// checkpoint has let all of them go.
	gatherPause = 20 * time.Millisecond

	// roundPause is from one round to the next, while one is not over. Data nodes
	// take few requests at once, 10 for all API nodes together where they are not
	// the master, and each lasts a checkpoint.
	roundPause = 250 * time.Millisecond
)

// round is one request on behalf of all callers that came before it was sent: a
// checkpoint that was asked for earlier may have been closed, and not yet be
// complete, when what they wait for was committed.
type round struct {
	ended bool          // the checkpoint is complete; set before over is closed
	over  chan struct{} // closed when who leads the round has left
}

// WaitAllDurable waits until every commit that anybody, such as a MySQL server,
// was told of before the call is on disk, so that it survives the loss of the
// whole cluster. It lasts until the end of the global checkpoint that is open,
// usually 2 s at most with the cluster's defaults, and up to a quarter of a
// second more where others wait already. Any number of callers share one
// request.
//
// Call it soon after the commit: a cluster that was lost in between may have
// come back without it, and only a loss while WaitAllDurable waits is noticed.
// An error leaves open whether the commits will last.
func (c *Client) WaitAllDurable(ctx context.Context) (err error) {
	begun, caller := c.callBegins(), ctx
	defer func() { c.callEnds(caller, begun, Call{Op: CallWaitDurable, Err: err}) }()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	epoch := c.cluster.epoch.Load()
	for {
		r, pause, lead := c.checkpoints.joinRound()
		if lead {
			if err := c.leadRound(ctx, r, pause, epoch); err != nil {
				return err
			}
		}
		select {
		case <-r.over:
		case <-ctx.Done():
			return notDurable(ctx.Err())
		}
		switch {
		case c.cluster.epoch.Load() != epoch:
			return notDurable(errLostMeanwhile)
		case r.ended:
			return nil
		}
		// Who led the round has left: another one takes it up.
	}
}

// joinRound returns the round that gathers, or a new one that the caller is to
// lead, and to send off after a pause.
func (p *checkpoints) joinRound() (r *round, pause time.Duration, lead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gathering != nil {
		return p.gathering, 0, false
	}
	p.gathering = &round{over: make(chan struct{})}
	pause = gatherPause
	if p.flying > 0 {
		pause = max(pause, time.Until(p.lastSent.Add(roundPause)))
	}
	return p.gathering, pause, true
}

// sendRound ends the gathering: who comes from now on comes too late.
func (p *checkpoints) sendRound() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gathering, p.lastSent = nil, time.Now()
	p.flying++
}

func (p *checkpoints) endRound(r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying--
	close(r.over)
}

// leadRound asks until a checkpoint has ended, or the cluster of that epoch.
// After an error those who joined find another round.
func (c *Client) leadRound(ctx context.Context, r *round, pause time.Duration, epoch uint64) error {
	err := sleep(ctx, pause)
	c.checkpoints.sendRound() // too late to join, even where ctx is over
	defer c.checkpoints.endRound(r)
	for err == nil && !r.ended {
		r.ended, err = c.askCheckpoint(ctx)
		if c.cluster.epoch.Load() != epoch {
			return notDurable(errLostMeanwhile)
		}
	}
	return err
}
