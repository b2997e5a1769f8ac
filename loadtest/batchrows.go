package loadtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ndbgate/ndbgate/loadtest/target"
	"github.com/ndbgate/ndbgate/models"
)

// batchesOf makes the rows of a writer: ID and two strings, as in the article.
func (r *batchRunner) batchesOf(size, writer int) [][]models.Employee {
	batches := make([][]models.Employee, r.config.Runs)
	next := r.config.FirstID + int64(writer*r.config.Runs*size)
	for i := range batches {
		for range size {
			e := row(r.config.Seed, next)
			batches[i] = append(batches[i], models.Employee{ID: e.ID, First: e.First, Last: e.Last, Department: models.DefaultDepartment})
			next++
		}
	}
	return batches
}

// deleteChunk is how many rows are deleted at once.
const deleteChunk = 1000

// deleteTimeout bounds how long the rows of a cell are deleted.
const deleteTimeout = 5 * time.Minute

// sweep deletes the rows that an earlier run has left in the table.
func (r *batchRunner) sweep(ctx context.Context, session target.BatchSession) error {
	return eachLeft(ctx, session, r.config.FirstID, r.config.FirstID+ownedIDs-1, func(found []int64) error {
		return patiently(ctx, func() error { return session.DeleteAny(ctx, found) })
	})
}

// deleteRows deletes what the cell may have written.
func (r *batchRunner) deleteRows(ctx context.Context, all []*batchWriter) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	for _, w := range all {
		for _, rows := range w.batches[:w.tried] {
			if err := w.delete(ctx, rows); err != nil {
				return fmt.Errorf("delete the rows of the run: %w", err)
			}
		}
	}
	return nil
}

// reopen gives the writers new sessions where ctx has ended: that may have been in
// the midst of a statement, which takes the connection with it.
func reopen(ctx context.Context, table BatchTable, all []*batchWriter) error {
	if ctx.Err() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	for i, w := range all {
		session, err := table.Open(ctx, i)
		if err != nil {
			return err
		}
		w.session.Close()
		w.session = session
	}
	return nil
}

func (w *batchWriter) delete(ctx context.Context, rows []models.Employee) error {
	for part := range slices.Chunk(rows, deleteChunk) {
		ids := make([]int64, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		if err := patiently(ctx, func() error { return w.session.DeleteAny(ctx, ids) }); err != nil {
			return err
		}
	}
	return nil
}
