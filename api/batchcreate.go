package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

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
