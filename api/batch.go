package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Limits of batches.
const (
	// defaultMaxBatchBytes is what models.MaxBatchItems of the longest employees
	// take, even where all of their letters are escaped.
	defaultMaxBatchBytes = 64 << 20

	// defaultMaxItems is how many items may be in memory: two of the largest batches.
	defaultMaxItems = 2 * models.MaxBatchItems

	// batchTimeouts is how many deadlines of a request a batch has for itself.
	batchTimeouts = 6

	// batchAnswerTime is for sending the answer after that.
	batchAnswerTime = 30 * time.Second
)

// BatchTimeout is how long a batch may take, from the end of its header, where a
// request may take so long.
func BatchTimeout(request time.Duration) time.Duration { return batchTimeouts * request }

// batching adapts a handler of batches. See budget for how many run at once.
func (s *server) batching(h handler) http.HandlerFunc {
	return s.onRoadFor(s.batchTimeout, func(x *exchange) error {
		if deadline, ok := x.ctx.Deadline(); ok {
			// Some writers of tests have no connection; every real one can do it.
			_ = http.NewResponseController(x.w).SetWriteDeadline(deadline.Add(batchAnswerTime))
		}
		for _, name := range []string{"If-Match", "If-None-Match"} {
			if _, given := x.r.Header[name]; given {
				return refuseHeader(name, "unsupported", "is not for batches")
			}
		}
		if err := checkNoQuery(x.r); err != nil {
			return err
		}
		return h(x)
	})
}

// writeBatch adapts what is done with the body of a batch that writes.
func (s *server) writeBatch(newBody func() *batchBody, h func(x *exchange, b *batchBody, rows batchRows, minimal bool) error) http.HandlerFunc {
	return s.batching(s.once(func(x *exchange) error {
		if err := chooseWriting(x); err != nil {
			return err
		}
		minimal := prefersMinimal(x)
		lease := s.items.lease()
		defer lease.release()
		b := newBody()
		if err := b.read(s, x, lease); err != nil {
			return err
		}
		if x.once != nil && (b.partial || b.chunk > 0) {
			return refuseHeader(idempotencyHeader, "unsupported", "is for batches that are one transaction: leave out partial and chunk")
		}
		return h(x, b, x.batchRows(), minimal)
	}))
}

// batchRows is a road for batches. Their writes are as durable as was asked once
// settle was called after them.
type batchRows struct {
	store.Batches
	once   store.Idempotency
	settle func(ctx context.Context) error
}

func (x *exchange) batchRows() batchRows {
	road, settle := x.store, func(context.Context) error { return nil }
	if d, ok := road.(*durableStore); ok {
		road, settle = d.Employees, func(ctx context.Context) error { return d.settle(ctx, nil) }
	}
	return batchRows{Batches: road.(store.Batches), once: road.(store.Idempotency), settle: settle}
}

// batchGet reads the body before a second road is asked for comparison, which
// would find nothing left of it.
func (s *server) batchGet(x *exchange) error {
	if _, given := x.r.Header[durabilityHeader]; given {
		return refuseHeader(durabilityHeader, "unsupported", "is for calls that write")
	}
	lease := s.items.lease()
	defer lease.release()
	b := newGetBatch()
	if err := b.read(s, x, lease); err != nil {
		return err
	}
	get := func(x *exchange) error { return sendGot(x, b) }
	if _, given := x.r.Header[compareHeader]; given {
		return s.compare(x, get)
	}
	return get(x)
}

// sendGot reads the employees. It may run twice at the same time, with two
// exchanges.
func sendGot(x *exchange, b *batchBody) error {
	done, err := x.timed()
	if err != nil {
		return err
	}
	results := eachOf(b, func(b *batchBody) []store.ItemResult { return x.batchRows().GetMany(x.ctx, b.ids) })
	done()
	x.w.Header().Set("Cache-Control", "private, no-cache")
	if b.partial {
		return sendEach(x, b, results, http.StatusOK, true)
	}
	answer := gotAnswer{Employees: []models.Employee{}, Missing: []int64{}}
	for i, item := range results {
		switch {
		case item.Err == nil:
			answer.Employees = append(answer.Employees, item.Employee)
		case errors.Is(item.Err, store.ErrNotFound):
			answer.Missing = append(answer.Missing, b.ids[i])
		default:
			return item.Err
		}
	}
	return x.json(http.StatusOK, answer)
}

func (s *server) batchUpdate(x *exchange, b *batchBody, rows batchRows, minimal bool) error {
	if b.partial {
		return s.writeItems(x, b, rows, http.StatusOK, !minimal, func(b *batchBody) []store.ItemResult {
			return rows.PatchEach(x.ctx, b.updates, !minimal)
		})
	}
	if x.once != nil {
		minimal = minimalOnce(x)
	}
	var patched []models.Employee
	err := s.writeChunks(x, b, rows, func(first, end int) error {
		if x.once != nil {
			return s.onceBefore(x, b, rows.once.PatchAllOnce(x.ctx, b.updates, x.kept(b.onceReply())))
		}
		some, err := rows.PatchAll(x.ctx, b.updates[first:end], !minimal)
		patched = append(patched, some...)
		return err
	})
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, writtenAnswer{Done: len(b.ids), Employees: patched})
}

func (s *server) batchDelete(x *exchange, b *batchBody, rows batchRows, _ bool) error {
	if b.partial {
		return s.writeItems(x, b, rows, http.StatusNoContent, false, func(b *batchBody) []store.ItemResult {
			return rows.DeleteEach(x.ctx, b.ids)
		})
	}
	err := s.writeChunks(x, b, rows, func(first, end int) error {
		if x.once != nil {
			return s.onceBefore(x, b, rows.once.DeleteAllOnce(x.ctx, b.ids, x.kept(b.onceReply())))
		}
		return rows.DeleteAll(x.ctx, b.ids[first:end])
	})
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, writtenAnswer{Done: len(b.ids)})
}

// writeChunks does the items in transactions of b.chunk each, one after the other,
// or all in one, and stops at the first that fails.
func (s *server) writeChunks(x *exchange, b *batchBody, rows batchRows, write func(first, end int) error) error {
	done, err := x.timed()
	if err != nil {
		return err
	}
	defer done()
	size := len(b.ids)
	if b.chunk > 0 {
		size = b.chunk
	}
	for first := 0; first < len(b.ids); first += size {
		end := min(first+size, len(b.ids))
		if err := write(first, end); err != nil {
			return b.problem(x, first, end, err)
		}
	}
	if err := rows.settle(x.ctx); err != nil {
		return b.problem(x, len(b.ids), len(b.ids), err)
	}
	return nil
}

// writeItems does each item as a transaction of its own.
func (s *server) writeItems(x *exchange, b *batchBody, rows batchRows, status int, show bool, write func(b *batchBody) []store.ItemResult) error {
	done, err := x.timed()
	if err != nil {
		return err
	}
	results := eachOf(b, write)
	settleEach(x, rows, results)
	done()
	if show && b.employees != nil {
		for i := range results {
			if results[i].Err == nil {
				results[i].Employee = b.employees[i]
			}
		}
	}
	return sendEach(x, b, results, status, show)
}

// settleEach waits until all writes that are done are on disk, where that was
// asked.
func settleEach(x *exchange, rows batchRows, results []store.ItemResult) {
	anyDone := false
	for i := range results {
		anyDone = anyDone || results[i].Err == nil
	}
	if !anyDone {
		return
	}
	if err := rows.settle(x.ctx); err != nil {
		for i := range results {
			if results[i].Err == nil {
				results[i].Err = err
			}
		}
	}
}
