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

// What writes the data set and removes it.
const (
	loaders   = 8   // sessions
	loadChunk = 250 // rows at once
)

// ids are some rows by their IDs.
type ids interface {
	at(i int64) int64
	len() int64
}

// idRange is rows one after the other.
type idRange struct{ first, n int64 }

func (r idRange) at(i int64) int64 { return r.first + i }
func (r idRange) len() int64       { return r.n }

// idList is any rows.
type idList []int64

func (l idList) at(i int64) int64 { return l[i] }
func (l idList) len() int64       { return int64(len(l)) }

// forEach calls do for some rows after the other, spread over sessions of the
// first road, and returns the first error, which ends all of it.
func (r *runner) forEach(ctx context.Context, road Road, doing string, rows ids, do func(context.Context, target.Session, []int64) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, finished atomic.Int64
	var running sync.WaitGroup
	for range min(loaders, (rows.len()+loadChunk-1)/loadChunk) {
		running.Go(func() { // ends with the rows, or with the context
			session, err := road.Target.Open(ctx)
			if err != nil {
				cancel(err)
				return
			}
			defer session.Close()
			for ctx.Err() == nil {
				first := next.Add(loadChunk) - loadChunk
				var some []int64
				for i := first; i < min(first+loadChunk, rows.len()); i++ {
					some = append(some, rows.at(i))
				}
				if len(some) == 0 {
					return
				}
				if err := do(ctx, session, some); err != nil {
					cancel(fmt.Errorf("%s: rows from %d on: %w", road.Name, some[0], err))
					return
				}
				r.told(doing, finished.Add(int64(len(some))), rows.len())
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// retries and retryPause bound how often preparing tries again what a loaded
// target has refused for now.
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

// putAll makes rows as the data set wants them, whatever was there.
func (r *runner) putAll(ctx context.Context, session target.Session, some []int64) error {
	rows := make([]models.Employee, len(some))
	for i, id := range some {
		rows[i] = row(r.data.seed, id)
	}
	if batches, ok := session.(target.Batches); ok {
		err := patiently(ctx, func() error { return batches.InsertAll(ctx, rows) })
		if err == nil || target.Kind(err) != target.Conflict {
			return err
		}
	}
	for i := range rows {
		if err := patiently(ctx, func() error { return put(ctx, session, rows[i]) }); err != nil {
			return err
		}
	}
	return nil
}

func put(ctx context.Context, session target.Session, want models.Employee) error {
	err := session.Insert(ctx, &want)
	if err == nil || target.Kind(err) != target.Conflict {
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

func removeAll(ctx context.Context, session target.Session, some []int64) error {
	if batches, ok := session.(target.Batches); ok {
		return patiently(ctx, func() error { return batches.DeleteAny(ctx, some) })
	}
	for _, id := range some {
		if err := patiently(ctx, func() error { return remove(ctx, session, id) }); err != nil {
			return err
		}
	}
	return nil
}

// load writes the rows that stay, by the first road.
func (r *runner) load(ctx context.Context) error {
	return r.forEach(ctx, r.config.Targets[0], "making rows", idRange{r.data.first, r.data.rows}, r.putAll)
}

// fill inserts rows until that many are left to delete.
func (r *runner) fill(ctx context.Context, want int) error {
	n := int64(want - r.data.leftRows())
	if n <= 0 {
		return nil
	}
	from := r.data.nextID.Add(n) - n
	return r.forEach(ctx, r.config.Targets[0], "making rows to delete", idRange{from, n}, func(ctx context.Context, session target.Session, some []int64) error {
		if err := r.putAll(ctx, session, some); err != nil {
			r.data.doubt(some...)
			return err
		}
		r.data.leave(some...)
		return nil
	})
}

// trim deletes all rows that inserts have left.
func (r *runner) trim(ctx context.Context) error {
	left := idList(r.data.takeAll())
	return r.forEach(ctx, r.config.Targets[0], "deleting rows", left, func(ctx context.Context, session target.Session, some []int64) error {
		err := removeAll(ctx, session, some)
		if err != nil {
			r.data.doubt(some...)
		}
		return err
	})
}

// clean deletes all that the run has written.
func (r *runner) clean(ctx context.Context) error {
	if err := r.trim(ctx); err != nil {
		return err
	}
	if err := r.forEach(ctx, r.config.Targets[0], "deleting rows", idList(r.data.takeDoubtful()), removeAll); err != nil || r.config.Keep {
		return err
	}
	return r.forEach(ctx, r.config.Targets[0], "deleting rows", idRange{r.data.first, r.data.rows}, removeAll)
}

// sweepStep is how many IDs are asked for at once.
const sweepStep = 1000

// sweep deletes rows above the data set that an earlier run has left, where the
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
		found, err := ranges.IDs(ctx, from, r.data.lastID(), sweepStep)
		if err != nil {
			return fmt.Errorf("%s: look for rows of earlier runs: %w", road.Name, err)
		}
		if err := r.forEach(ctx, road, "deleting rows of earlier runs", idList(found), removeAll); err != nil {
			return err
		}
		if len(found) < sweepStep {
			return nil
		}
		from = found[len(found)-1] + 1
	}
}
