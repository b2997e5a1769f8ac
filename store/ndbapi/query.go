package ndbapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
)

// Query selects rows of a type and says in which order they come. The type's
// primary key must be one column. Properties of the filter and the order count by
// the name of their Go field, values are of the fields' types without pointer.
type Query struct {
	Filter models.Filter
	Order  []models.Order // ties come in ascending order of the primary key
	// After leaves out the rows up to a place in the order: what an earlier query
	// of the same Order has returned. Nil leaves out none.
	After models.Cursor
	Limit int // the most rows to return; 0 means all
	// Fields are the names of the Go fields that are wanted; those of the order
	// and the primary key are read in any case. Nil means all.
	Fields []string
}

// Query appends the rows to the slice that rows points to; none is no error. They
// are read as they were last committed, each by itself, so that together they
// are no snapshot. It returns the place of the last row in the order where others
// come behind it, else nil. Memory is bounded by the limit, whatever is selected.
func (x *Session) Query(ctx context.Context, rows any, q Query) (next models.Cursor, err error) {
	v := reflect.ValueOf(rows)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Slice || v.Elem().Type().Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("rows go into a pointer to a slice of structs, not %T", rows)
	}
	slice := v.Elem()
	t, err := x.beginType(slice.Type().Elem(), reflect.Value{}, false)
	if err != nil {
		return nil, err
	}
	before := slice.Len()
	for t.next(ctx) {
		slice.SetLen(before) // a try that failed may have left rows
		next, t.err = t.query(ctx, slice, &q)
	}
	if t.err != nil {
		slice.SetLen(before)
		next = nil
	}
	return next, t.result(ctx)
}

// Count returns how many rows of the type that row points to a filter selects.
// The data nodes count: no row is read, but for one that its key selects.
func (x *Session) Count(ctx context.Context, row any, f models.Filter) (count int64, err error) {
	t, err := x.begin(row, false)
	if err != nil {
		return 0, err
	}
	for t.next(ctx) {
		count, t.err = t.count(ctx, f)
	}
	return count, t.result(ctx)
}

func (t *tries) query(ctx context.Context, slice reflect.Value, q *Query) (models.Cursor, error) {
	p, err := t.work.mapping.plan(q)
	if err != nil || p.none {
		return nil, err
	}
	if p.key != nil {
		return nil, t.queryKey(ctx, slice, p)
	}
	before := slice.Len()
	for {
		c := newCollector(p, &t.work.decoder, slice)
		err := t.collect(ctx, c)
		if errors.Is(err, errTooManyRows) {
			slice.SetLen(before)
			p = p.then
			continue
		}
		if err != nil {
			return nil, err
		}
		return c.finish()
	}
}

// errTooManyRows says that it is time for another plan.
var errTooManyRows = errors.New("ndbapi: too many rows")

func (t *tries) collect(ctx context.Context, c *collector) error {
	scanner, err := t.client.Scan(ctx, c.scan)
	if err != nil {
		return err
	}
	defer scanner.Close()
	for read := 1; scanner.Next(ctx); read++ {
		if c.then != nil && read > c.maxRows {
			return errTooManyRows
		}
		if more, err := c.add(scanner.Row()); err != nil || !more {
			return err
		}
	}
	return scanner.Err()
}

// queryKey reads one row by its primary key.
func (t *tries) queryKey(ctx context.Context, slice reflect.Value, p *plan) error {
	found, err := t.readKey(ctx, p)
	if err != nil || !found {
		return err
	}
	grow(slice)
	return t.work.decoder.decode(p.mapping, &t.work.row, slice.Index(slice.Len()-1))
}

func (t *tries) readKey(ctx context.Context, p *plan) (found bool, err error) {
	w := t.work
	w.values.Reset()
	err = t.client.Read(ctx, w.values.Any(w.mapping.columns[w.mapping.key[0]], p.key), p.mapping.read, &w.row)
	if isClass(err, ndb.ClassNoDataFound) {
		return false, nil
	}
	return err == nil, err
}

// grow appends an empty row.
func grow(slice reflect.Value) {
	slice.Set(reflect.Append(slice, reflect.Zero(slice.Type().Elem())))
}

func (t *tries) count(ctx context.Context, f models.Filter) (int64, error) {
	p, err := t.work.mapping.planCount(f)
	switch {
	case err != nil || p.none:
		return 0, err
	case p.key == nil:
		return t.client.Count(ctx, p.scan)
	}
	found, err := t.readKey(ctx, p)
	if found {
		return 1, nil
	}
	return 0, err
}
