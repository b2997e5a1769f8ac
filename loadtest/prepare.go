package loadtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// loaders is how many sessions write the data set, and remove it.
const loaders = 16

// forEach calls do for all IDs, spread over sessions of the road, and returns the
// first error, which ends all of it. What is told of the work goes to progress.
func forEach(ctx context.Context, road Road, ids func(i int64) int64, n int64, told func(done int64), do func(context.Context, target.Session, int64) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, finished atomic.Int64
	var running sync.WaitGroup
	for range min(loaders, n) {
		running.Go(func() { // ends after n IDs, or with the context
			session, err := road.Target.Open(ctx)
			if err != nil {
				cancel(err)
				return
			}
			defer session.Close()
			for i := next.Add(1) - 1; i < n && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := do(ctx, session, ids(i)); err != nil {
					cancel(fmt.Errorf("%s: row %d: %w", road.Name, ids(i), err))
					return
				}
				told(finished.Add(1))
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// retries and retryPause bound how often preparing tries a row again that a
// loaded target has refused for now.
const (
	retries    = 20
	retryPause = 50 * time.Millisecond
)

// patiently does work again that surely was not done and may be done later.
func patiently(ctx context.Context, do func() error) error {
	for try := 0; ; try++ {
		err := do()
		if err == nil || target.Kind(err) != target.Unavailable || try == retries {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return err
		}
	}
}

// put makes a row as the data set wants it, whatever was there.
func put(ctx context.Context, session target.Session, want models.Employee) error {
	err := session.Insert(ctx, &want)
	if target.Kind(err) != target.Conflict || err == nil {
		return err
	}
	var got models.Employee
	if err := session.Select(ctx, want.ID, &got); err == nil && checksum([]models.Employee{got}) == checksum([]models.Employee{want}) {
		return nil
	}
	if err := remove(ctx, session, want.ID); err != nil {
		return err
	}
	return session.Insert(ctx, &want)
}

// remove deletes a row that may be there.
func remove(ctx context.Context, session target.Session, id int64) error {
	if err := session.Delete(ctx, id); err != nil && target.Kind(err) != target.NotFound {
		return err
	}
	return nil
}

// load writes the rows that stay, by the first road.
func (r *runner) load(ctx context.Context) error {
	first := r.data.first
	return forEach(ctx, r.config.Targets[0], func(i int64) int64 { return first + i }, r.data.rows, r.told("loading rows", r.data.rows),
		func(ctx context.Context, session target.Session, id int64) error {
			return patiently(ctx, func() error { return put(ctx, session, row(r.data.seed, id)) })
		})
}

// fill inserts rows until that many are left to delete.
func (r *runner) fill(ctx context.Context, want int) error {
	n := int64(want - r.data.leftRows())
	if n <= 0 {
		return nil
	}
	from := r.data.nextID.Add(n) - n
	return forEach(ctx, r.config.Targets[0], func(i int64) int64 { return from + i }, n, r.told("inserting rows to delete", n),
		func(ctx context.Context, session target.Session, id int64) error {
			err := patiently(ctx, func() error { return put(ctx, session, row(r.data.seed, id)) })
			if err == nil {
				r.data.leave(id)
			}
			return err
		})
}

// trim deletes rows that inserts have left until at most that many are there.
func (r *runner) trim(ctx context.Context, most int) error {
	n := int64(r.data.leftRows() - most)
	if n <= 0 {
		return nil
	}
	return forEach(ctx, r.config.Targets[0], func(int64) int64 { return 0 }, n, r.told("deleting rows", n),
		func(ctx context.Context, session target.Session, _ int64) error {
			id, err := r.data.take()
			if err != nil {
				return err
			}
			if err = patiently(ctx, func() error { return remove(ctx, session, id) }); err != nil {
				r.data.doubt(id)
			}
			return err
		})
}

// clean deletes all that the run has written.
func (r *runner) clean(ctx context.Context) error {
	if err := r.trim(ctx, 0); err != nil {
		return err
	}
	doubtful := r.data.takeDoubtful()
	if err := r.removeAll(ctx, func(i int64) int64 { return doubtful[i] }, int64(len(doubtful))); err != nil || r.config.Keep {
		return err
	}
	return r.removeAll(ctx, func(i int64) int64 { return r.data.first + i }, r.data.rows)
}

func (r *runner) removeAll(ctx context.Context, ids func(int64) int64, n int64) error {
	return forEach(ctx, r.config.Targets[0], ids, n, r.told("deleting rows", n),
		func(ctx context.Context, session target.Session, id int64) error {
			return patiently(ctx, func() error { return remove(ctx, session, id) })
		})
}

// sweepStep is how many IDs are asked for at once.
const sweepStep = 1000

// sweep deletes rows in the run's range that an earlier run has left, where the
// target can tell them.
func (r *runner) sweep(ctx context.Context) error {
	road := r.config.Targets[0]
	session, err := road.Target.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	ranges, ok := session.(target.Ranges)
	if !ok {
		return nil
	}
	for from := r.data.first + r.data.rows; ; {
		ids, err := ranges.IDs(ctx, from, r.data.lastID(), sweepStep)
		if err != nil {
			return fmt.Errorf("%s: rows of earlier runs: %w", road.Name, err)
		}
		if err := r.removeAll(ctx, func(i int64) int64 { return ids[i] }, int64(len(ids))); err != nil {
			return err
		}
		if len(ids) < sweepStep {
			return nil
		}
		from = ids[len(ids)-1] + 1
	}
}
