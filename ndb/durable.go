package ndb

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/transporter"
)

// checkpointRetryPause keeps a node that refuses to wait for a checkpoint, or
// the lack of any node, from keeping us busy.
const checkpointRetryPause = 100 * time.Millisecond

// checkpoints knows which global checkpoint is on disk. One caller at a time
// asks the cluster; the others wait for what it learns. Who waits for all commits
// so far cannot use what others have asked before; see round.
type checkpoints struct {
	mu      sync.Mutex    // guards all below
	durable uint32        // the latest checkpoint that is known to be complete
	asking  chan struct{} // closed when who asks is done; nil while nobody asks

	gathering *round    // takes in who waits for all commits so far; nil: there is none
	flying    int       // rounds that were sent off and are not over
	lastSent  time.Time // when the latest one was
}

// WaitDurable waits until a commit is on disk, so that it survives the loss of
// the whole cluster. gci is the commit's; 0, of a transaction that wrote
// nothing, is durable already, and UnknownGCI takes what WaitAllDurable takes. It
// lasts until the end of the global checkpoint, usually 2 s at most with the
// cluster's defaults. Any number of callers share one request.
//
// Call it soon after the commit: a cluster that was lost in between may have
// come back without it, and only a loss while WaitDurable waits is noticed. An
// error leaves open whether the commit will last.
func (c *Client) WaitDurable(ctx context.Context, gci GCI) (err error) {
	if gci == UnknownGCI {
		return c.WaitAllDurable(ctx) // the commit is done, if not where
	}
	begun, caller := c.callBegins(), ctx
	defer func() { c.callEnds(caller, begun, Call{Op: CallWaitDurable, Err: err}) }()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	wanted := uint32(gci >> gciCheckpointShift)
	epoch := c.cluster.epoch.Load()
	for {
		durable, asking, ask := c.checkpoints.join(wanted)
		switch {
		case c.cluster.epoch.Load() != epoch:
			if ask {
				c.checkpoints.leave()
			}
			return notDurable(errLostMeanwhile)
		case durable:
			return nil
		case ask:
			_, err := c.askCheckpoint(ctx)
			c.checkpoints.leave()
			if err != nil {
				return err
			}
		default:
			select {
			case <-asking:
			case <-ctx.Done():
				return notDurable(ctx.Err())
			}
		}
	}
}

// gciCheckpointShift takes the checkpoint from a GCI: below are epochs within
// it.
const gciCheckpointShift = 32

// join tells what the caller is to do about a checkpoint: nothing, wait for
// asking to be closed, or ask the cluster and then leave.
func (p *checkpoints) join(wanted uint32) (durable bool, asking chan struct{}, ask bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wanted <= p.durable {
		return true, nil, false
	}
	if p.asking != nil {
		return false, p.asking, false
	}
	p.asking = make(chan struct{})
	return false, nil, true
}

func (p *checkpoints) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.asking)
	p.asking = nil
}

// completed notes what a cluster has said, unless that was lost meanwhile.
func (c *Client) completed(checkpoint uint32, epoch uint64) {
	p := &c.checkpoints
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.cluster.epoch.Load() == epoch {
		p.durable = max(p.durable, checkpoint)
	}
}

// askCheckpoint waits for the end of the checkpoint that is open when the request
// comes to a data node. Where it is false without an error, it is worth asking
// again: a node that refuses, or is lost, only costs a pause.
func (c *Client) askCheckpoint(ctx context.Context) (ended bool, err error) {
	api, err := c.nextAPINode()
	if err != nil {
		return false, notDurable(err)
	}
	var l *link
	if l, err = api.coordinator(nil); err == nil {
		err = c.askCheckpointOver(ctx, l)
	}
	if err == nil {
		return true, nil
	}
	return false, sleep(ctx, checkpointRetryPause)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return notDurable(ctx.Err())
	case <-timer.C:
		return nil
	}
}

func (c *Client) askCheckpointOver(ctx context.Context, l *link) error {
	epoch := c.cluster.epoch.Load()
	m, err := c.replies.request(ctx, l, signal.GSNWaitGCPReq, func(id uint32) error {
		req := signal.WaitGCPReq{Ref: l.api.ref(), RequestID: id, Type: signal.WaitGCPComplete}
		return transporter.Send(l.conn, signal.BlockAPI, &req)
	})
	if err != nil {
		return err
	}
	if m.GSN != signal.GSNWaitGCPConf {
		return &Error{Op: "wait for a global checkpoint", Status: StatusTemporary, Classification: ClassNodeRecovery}
	}
	var s signal.WaitGCPConf
	if err := s.Decode(m); err != nil {
		return err
	}
	c.completed(uint32(s.GCI>>gciCheckpointShift), epoch)
	return nil
}

// forget is called when the cluster is lost: it may come back with lower
// numbers.
func (p *checkpoints) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.durable = 0
}

var errLostMeanwhile = errors.New("all data nodes were lost")

func notDurable(cause error) error {
	return &Error{Op: "wait for a global checkpoint", Status: StatusUnknown, Classification: ClassTimeout, Cause: cause}
}
