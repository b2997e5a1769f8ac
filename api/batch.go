package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	done := x.timed()
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

func (s *server) batchCreate(x *exchange, b *batchBody, rows batchRows, minimal bool) error {
	if b.partial {
		return s.writeItems(x, b, rows, http.StatusCreated, !minimal, func(b *batchBody) []store.ItemResult {
			return s.createEach(x, rows, b)
		})
	}
	if err := s.writeChunks(x, b, rows, func(first, end int) error { return s.createAll(x, rows, b, first, end) }); err != nil {
		return err
	}
	if minimal {
		return x.json(http.StatusOK, writtenAnswer{Done: len(b.ids), IDs: b.ids})
	}
	return x.json(http.StatusOK, writtenAnswer{Done: len(b.ids), Employees: b.employees})
}

// createAll creates some employees as one transaction. Where an ID that was
// assigned is taken, those from there on are assigned anew.
func (s *server) createAll(x *exchange, rows batchRows, b *batchBody, first, end int) error {
	for range maxIDTries {
		err := s.createOnce(x, rows, b, first, end)
		failed, ok := errors.AsType[*store.BatchError](err)
		if !ok || !errors.Is(err, store.ErrConflict) {
			return err
		}
		taken := first + failed.Index
		place, assigned := slices.BinarySearch(b.assigned, taken)
		if !assigned {
			return err
		}
		s.reassign(x, b, b.assigned[place:])
	}
	return errIDsTaken
}

// createEach creates each employee, and those again whose assigned IDs were taken.
func (s *server) createEach(x *exchange, rows batchRows, b *batchBody) []store.ItemResult {
	results := rows.CreateEach(x.ctx, b.employees)
	for range maxIDTries - 1 {
		taken := takenOf(b, results)
		if len(taken) == 0 {
			break
		}
		s.reassign(x, b, taken)
		again := make([]models.Employee, len(taken))
		for k, i := range taken {
			again[k] = b.employees[i]
		}
		for k, item := range rows.CreateEach(x.ctx, again) {
			results[taken[k]] = item
		}
	}
	for _, i := range takenOf(b, results) {
		results[i].Err = errIDsTaken
	}
	return results
}

var errIDsTaken = fmt.Errorf("%w: %d assigned ids were taken", store.ErrUnavailable, maxIDTries)

// takenOf lists the items whose assigned ID another gateway has given too.
func takenOf(b *batchBody, results []store.ItemResult) []int {
	var taken []int
	for _, i := range b.assigned {
		if errors.Is(results[i].Err, store.ErrConflict) {
			taken = append(taken, i)
		}
	}
	return taken
}

// reassign gives the items other IDs; that of the first of them was taken.
func (s *server) reassign(x *exchange, b *batchBody, items []int) {
	s.metrics.idConflicts.WithLabelValues(x.road).Inc()
	s.ids.NextAfter(b.ids[items[0]]) // those that follow are in another block
	b.assign(s.ids, items)
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
	defer x.timed()()
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
	done := x.timed()
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
