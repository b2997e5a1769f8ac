package loadtest

import (
	"context"
	"errors"
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

// putAll makes rows as the data set wants them, whatever a run has left there.
// Where it fails, those of which nobody knows are doubtful.
func (r *runner) putAll(ctx context.Context, session target.Session, some []int64) error {
	rows := make([]models.Employee, len(some))
	for i, id := range some {
		rows[i] = row(r.data.seed, id)
	}
	if batches, ok := session.(target.Batches); ok {
		err := patiently(ctx, func() error { return batches.InsertAll(ctx, rows) })
		if err == nil {
			return nil
		}
		if target.Kind(err) != target.Conflict {
			r.data.doubt(some...)
			return err
		}
	}
	for i := range rows {
		if err := patiently(ctx, func() error { return put(ctx, session, rows[i]) }); err != nil {
			r.data.doubt(some[:i]...)
			if !errors.Is(err, ErrRows) {
				r.data.doubt(some[i])
			}
			return err
		}
	}
	return nil
}

// put makes a row. One that no run has made is an ErrRows, and stays.
func put(ctx context.Context, session target.Session, want models.Employee) error {
	err := session.Insert(ctx, &want)
	if err == nil || target.Kind(err) != target.Conflict {
		return err
	}
	var got models.Employee
	if err := session.Select(ctx, want.ID, &got); err != nil && target.Kind(err) != target.NotFound {
		return err
	} else if err == nil && !isOwn(&got) {
		return notOwn(want.ID)
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

// load writes the rows that stay, by the first road. Where it cannot make all of
// them, those that it made are doubtful.
func (r *runner) load(ctx context.Context) error {
	var mu sync.Mutex // guards made
	var made []idRange
	err := r.forEach(ctx, r.config.Targets[0], "making rows", idRange{r.data.first, r.data.rows}, func(ctx context.Context, session target.Session, some []int64) error {
		if err := r.putAll(ctx, session, some); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		made = append(made, idRange{some[0], int64(len(some))})
		return nil
	})
	if err == nil {
		r.loaded = true
		return nil
	}
	for _, part := range made {
		for i := range part.n {
			r.data.doubt(part.at(i))
		}
	}
	return err
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
			return err
		}
		r.data.leave(some...)
		return nil
	})
}

// trim deletes all rows that inserts have left. Where it cannot, all of them are
// doubtful: some may be gone.
func (r *runner) trim(ctx context.Context) error {
	return r.deleteAll(ctx, r.data.takeAll())
}

func (r *runner) deleteAll(ctx context.Context, rows []int64) error {
	err := r.forEach(ctx, r.config.Targets[0], "deleting rows", idList(rows), removeAll)
	if err != nil {
		r.data.doubt(rows...)
	}
	return err
}

// clean deletes all that the run has written.
func (r *runner) clean(ctx context.Context) error {
	if err := errors.Join(r.trim(ctx), r.deleteAll(ctx, r.data.takeDoubtful())); err != nil || r.config.Keep || !r.loaded {
		return err
	}
	return r.forEach(ctx, r.config.Targets[0], "deleting rows", idRange{r.data.first, r.data.rows}, removeAll)
}

// sweep deletes rows that an earlier run has left, where the target can tell
// them. A row that none has made is an ErrRows.
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
	err = eachLeft(ctx, ranges, r.data.first, r.data.lastID(), func(found []int64) error {
		return r.forEach(ctx, road, "deleting rows of earlier runs", idList(found), removeAll)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", road.Name, err)
	}
	return nil
}

// sweepStep is how many rows are asked for at once.
const sweepStep = 1000

// eachLeft calls do for the rows that earlier runs have left from first to last,
// some at a time. It ends with an ErrRows at one that no run has made.
func eachLeft(ctx context.Context, ranges target.Ranges, first, last int64, do func(found []int64) error) error {
	for {
		rows, err := ranges.Rows(ctx, first, last, sweepStep)
		if err != nil {
			return fmt.Errorf("look for rows of earlier runs: %w", err)
		}
		var found []int64
		for i := range rows {
			if !isOwn(&rows[i]) {
				return notOwn(rows[i].ID)
			}
			found = append(found, rows[i].ID)
		}
		if len(found) > 0 {
			if err := do(found); err != nil {
				return err
			}
		}
		if len(rows) < sweepStep {
			return nil
		}
		first = rows[len(rows)-1].ID + 1
	}
}
