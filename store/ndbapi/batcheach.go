package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
)

// CreateEach implements store.Batches; see writeEach.
func (s *Store) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	return s.writeEach(ctx, s.creation(employees), false)
}

// PatchEach implements store.Batches; see writeEach.
func (s *Store) PatchEach(ctx context.Context, updates []models.EmployeeUpdate, returnRows bool) []store.ItemResult {
	return s.writeEach(ctx, s.patching(updates, nil), returnRows)
}

// DeleteEach implements store.Batches; see writeEach.
func (s *Store) DeleteEach(ctx context.Context, ids []int64) []store.ItemResult {
	return s.writeEach(ctx, s.deletion(ids), false)
}

// writeEach does a batch as transactions of one operation, eachWindow of them in
// flight. Those that surely were not done and may succeed are done again by the
// policy of all calls.
func (s *Store) writeEach(ctx context.Context, b *batch, returnRows bool) []store.ItemResult {
	select {
	case s.eaching <- struct{}{}:
		defer func() { <-s.eaching }()
	case <-ctx.Done():
		return store.FailedItems(b.size, fmt.Errorf("%s each: %w: %d such batches are running: %w", b.op, store.ErrUnavailable, maxEach, ctx.Err()))
	}
	e := &each{batch: b, returnRows: returnRows, results: make([]store.ItemResult, b.size), left: make([]int, b.size)}
	for i := range e.left {
		e.left[i] = i
	}
	e.run(ctx, s)
	for i := range e.results {
		if err := e.results[i].Err; err != nil {
			if isUnknown(err) {
				s.counters.unknown.Add(1)
			}
			e.results[i] = store.ItemResult{Err: b.itemError(i, err)}
		}
	}
	return e.results
}

// each is a batch of single writes on its way.
type each struct {
	tries
	batch      *batch
	returnRows bool
	results    []store.ItemResult
	left       []int // items that are to be done, in their order
	untrue     []int // items whose condition was false

	// Of a round.
	sent      []int            // items by the number of their operation
	again     []int            // items that another round may do
	rows      map[int]*ndb.Row // of items in flight
	free      []*ndb.Row
	forgotten bool // a commit is done of which the checkpoint is not known
}

// run does rounds until nothing is left that another one may do.
func (e *each) run(ctx context.Context, s *Store) {
	var err error
	if e.tries, err = s.newSession().beginType(employeeType, reflect.Value{}, true); err == nil {
		for e.next(ctx) {
			e.err = e.round(ctx)
		}
		err = translate(ctx, e.err, true)
	}
	for _, i := range e.left {
		if e.results[i].Err == nil { // it was not tried
			e.results[i].Err = err
		}
	}
	e.mend(ctx, s)
}

// round does the items that are left once. The error, if any, is that of one
// which another round may do.
func (e *each) round(ctx context.Context) error {
	e.sent, e.again, e.rows, e.free, e.forgotten = e.sent[:0], nil, map[int]*ndb.Row{}, nil, false
	var failure error
	b := e.client.NewBatch(ctx, ndb.BatchOptions{Window: eachWindow, Result: func(n int, err error) {
		i := e.sent[n]
		if err := e.take(ctx, i, err); err != nil {
			e.again = append(e.again, i)
			if failure == nil || mayBeOfOldTable(err) {
				failure = err
			}
		}
	}})
	var row models.Employee
	for _, i := range e.left {
		set := e.batch.fill(i, &row)
		if err := e.work.mapping.encode(e.work.values, set, reflect.ValueOf(&row).Elem()); err != nil {
			e.results[i].Err = err
			continue
		}
		e.sent = append(e.sent, i)
		e.start(b, i, set)
	}
	b.Wait()
	if e.forgotten {
		e.session.store.commits.acknowledge(ndb.UnknownGCI)
	}
	e.session.store.commits.acknowledge(b.GCI())
	slices.Sort(e.again)
	e.left = e.again
	return failure
}

// start adds the operation of item i, whose values are set.
func (e *each) start(b *ndb.Batch, i int, set []int) {
	v, read := e.work.values, e.work.mapping.read
	switch e.batch.kind {
	case batchInsert:
		b.Insert(v)
		return
	case batchDelete:
		b.Delete(v)
		return
	case batchSave:
		b.Write(v)
		return
	}
	if !e.session.store.sets(set) {
		b.Read(v, read, e.rowFor(i))
		return
	}
	b.UpdateWith(v, func(op *ndb.Operation) {
		if only := conditionOf(e.batch.patch(i)); only != nil {
			op.If(only(e.work.mapping))
		}
		if e.returnRows {
			op.Returning(read, e.rowFor(i))
		}
	})
}

func (e *each) rowFor(i int) *ndb.Row {
	row := &ndb.Row{}
	if last := len(e.free) - 1; last >= 0 {
		row, e.free = e.free[last], e.free[:last]
	}
	e.rows[i] = row
	return row
}

// take takes the outcome of item i, and returns why another round may do it; nil
// where none may.
func (e *each) take(ctx context.Context, i int, err error) (again error) {
	if row, ok := e.rows[i]; ok {
		delete(e.rows, i)
		defer func() { e.free = append(e.free, row) }()
		if err == nil && e.returnRows {
			err = e.work.decoder.decode(e.work.mapping, row, reflect.ValueOf(&e.results[i].Employee).Elem())
		}
	}
	if wasCommitted(err) {
		e.forgotten = true
		if !e.returnRows {
			err = nil // nothing was to be read
		}
	}
	if isConditionFalse(err) {
		e.untrue, err = append(e.untrue, i), nil
	}
	e.results[i].Err = translate(ctx, err, true)
	switch {
	case !ndb.SurelyNotDone(err): // also where there is no error
		return nil
	case errors.Is(err, ndb.ErrNoNode) && e.hasNode():
		return errLinkLost
	case mayTryAgain(err) || mayBeOfOldTable(err):
		return err
	default:
		return nil
	}
}

// errLinkLost is what happens to operations whose node is lost before they leave.
// They wait for nothing, so that they do not go to another node by themselves.
var errLinkLost = &ndb.Error{Status: ndb.StatusTemporary, Classification: ndb.ClassNodeRecovery}

func (e *each) hasNode() bool {
	return slices.ContainsFunc(e.client.Nodes(), func(n ndb.NodeInfo) bool { return n.Usable })
}

// mend patches the employees whose condition was false: that knows less of
// strange dates than EmployeePatch.Merge. Most of them are refused by a look at
// the row.
func (e *each) mend(ctx context.Context, s *Store) {
	if len(e.untrue) == 0 {
		return
	}
	x, err := s.Session(ctx)
	if err == nil {
		defer x.Close()
	}
	for first := 0; first < len(e.untrue); first += trainRows {
		items := e.untrue[first:min(first+trainRows, len(e.untrue))]
		ids, found := make([]int64, len(items)), make([]store.ItemResult, len(items))
		for at, i := range items {
			ids[at] = e.batch.id(i)
		}
		if err == nil {
			err = x.findMany(ctx, ids, found)
		}
		for at, i := range items {
			if err != nil {
				found[at].Err = err
			}
			e.results[i] = e.mendOne(ctx, x, i, found[at])
		}
	}
}

// mendOne patches the employee of item i, which was read as found.
func (e *each) mendOne(ctx context.Context, x *Session, i int, found store.ItemResult) store.ItemResult {
	if found.Err != nil {
		return found
	}
	patch := e.batch.patch(i)
	if _, err := patch.Merge(found.Employee); err != nil {
		return store.ItemResult{Err: fmt.Errorf("%w: %w", store.ErrInvalid, err)}
	}
	patched, err := e.session.store.patch(ctx, x, e.batch.id(i), *patch, store.PatchOptions{ReturnRow: e.returnRows})
	if err != nil || !e.returnRows {
		return store.ItemResult{Err: err}
	}
	return store.ItemResult{Employee: patched}
}
