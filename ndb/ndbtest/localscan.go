package ndbtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// localPage is how many rows a LocalRows takes at a time. They are from one
// moment.
const localPage = 256

// LocalScan says which rows a LocalRows gives.
type LocalScan struct {
	// Index is the name of an ordered index, whose order the rows have. Empty
	// means all rows, in the order of their making.
	Index string
	// Low and High bound the first columns of the index; empty ones leave that
	// side open. nil values are NULL, which comes first.
	Low, High             []any
	LowStrict, HighStrict bool
	Reverse               bool
	// ForUpdate locks each row before it is returned, as it is then. Rows that
	// have left the bounds meanwhile are left out.
	ForUpdate bool
}

// LocalRows gives the rows of a scan. It sees the changes that its transaction
// had made when the scan began, and not those made since: who moves rows ahead
// in the index that they are read by does not meet them again. Not safe for
// concurrent use.
type LocalRows struct {
	tx      *LocalTx
	rows    *Rows
	scan    LocalScan
	columns []dictinfo.Column
	index   *orderedIndex // nil: none
	bounds  keyRange

	own  []indexEntry       // rows that the transaction had changed when the scan began, nearest first
	skip map[*rowEntry]bool // all of them
	page []indexEntry       // committed rows, nearest first
	last indexEntry         // of all pages so far
	over bool               // no page comes any more
	met  map[*rowEntry]bool // rows already returned, kept where the scan locks
}

// Scan begins to read rows. Nothing is locked yet.
func (tx *LocalTx) Scan(r *Rows, scan LocalScan) (*LocalRows, error) {
	s := &LocalRows{tx: tx, rows: r, scan: scan, skip: map[*rowEntry]bool{}, met: map[*rowEntry]bool{}}
	var err error
	tx.cluster.do(func() { err = s.begin() })
	return s, err
}

func (s *LocalRows) begin() error {
	t := s.rows.table
	s.columns = t.desc.Columns
	for _, index := range t.ordered {
		if s.scan.Index != "" && indexName(index.desc) == s.scan.Index {
			s.index = index
		}
	}
	if s.index == nil && s.scan.Index != "" {
		return fmt.Errorf("ndbtest: no ordered index %s", s.scan.Index)
	}
	if s.index != nil {
		var err error
		if s.bounds.lower, err = s.index.encodeSide(s.scan.Low, s.scan.LowStrict); err != nil {
			return err
		}
		if s.bounds.upper, err = s.index.encodeSide(s.scan.High, s.scan.HighStrict); err != nil {
			return err
		}
	}
	for _, r := range s.tx.txn.changes {
		if r.table != t {
			continue
		}
		s.skip[r] = true
		if e := (indexEntry{r, r.pending}); e.version != nil && s.contains(e) {
			s.own = append(s.own, e)
		}
	}
	slices.SortFunc(s.own, s.compare)
	return nil
}

func (index *orderedIndex) encodeSide(values []any, strict bool) (side, error) {
	s := side{strict: strict && len(values) > 0}
	if len(values) > len(index.columns) {
		return s, fmt.Errorf("ndbtest: a bound of %d columns", len(values))
	}
	for i, v := range values {
		c := &index.base.desc.Columns[index.columns[i]]
		if v == nil {
			s.values = append(s.values, nil)
			continue
		}
		value, err := row.AppendValue(nil, row.FormBare, c, numberFor(c, v))
		if err != nil {
			return s, fmt.Errorf("ndbtest: %w", err)
		}
		s.values = append(s.values, value)
	}
	return s, nil
}

// contains tells whether an entry lies within the bounds.
func (s *LocalRows) contains(e indexEntry) bool {
	return s.index == nil || !s.index.below(e, &s.bounds) && !s.index.above(e, &s.bounds)
}

// compare orders entries as the scan does.
func (s *LocalRows) compare(a, b indexEntry) int {
	switch {
	case s.index == nil:
		return cmp.Compare(a.row.seq, b.row.seq)
	case s.scan.Reverse:
		a, b = b, a
	}
	return s.index.compare(a, b)
}

// Next returns the next row, nil after the last one.
func (s *LocalRows) Next(ctx context.Context) ([]any, error) {
	for {
		e, own, err := s.take()
		switch {
		case err != nil || e.row == nil:
			return nil, err
		case own || !s.scan.ForUpdate:
			return decode(s.columns, e.version), nil
		}
		v, err := s.lock(ctx, e.row)
		if err != nil {
			return nil, err
		}
		if v != nil {
			return decode(s.columns, v), nil
		}
	}
}

// take returns the first entry in the order of the scan, and whether it is one
// of the transaction's own; at the end there is no row.
func (s *LocalRows) take() (e indexEntry, own bool, err error) {
	if len(s.page) == 0 && !s.over {
		s.tx.cluster.do(func() {
			if err = s.tx.usable(s.rows.table); err == nil {
				s.fill()
			}
		})
		if err != nil {
			return e, false, err
		}
	}
	from := &s.page
	if len(s.own) > 0 && (len(s.page) == 0 || s.compare(s.own[0], s.page[0]) < 0) {
		from, own = &s.own, true
	}
	if len(*from) > 0 {
		e, *from = (*from)[0], (*from)[1:]
	}
	return e, own, nil
}

// fill reads the next page: what is committed in all fragments, in order.
func (s *LocalRows) fill() {
	fragments := s.rows.table.fragments
	cursors := make([]*cursor, len(fragments))
	heads := make([]indexEntry, len(fragments))
	for i, f := range fragments {
		c := newCursor(s.rows.table, f, s.index, []keyRange{s.bounds}, s.scan.Reverse)
		c.started, c.last = s.last.row != nil, s.last
		cursors[i], heads[i] = c, s.committed(c)
	}
	for len(s.page) < localPage {
		best := -1
		for i, head := range heads {
			if head.row != nil && (best < 0 || s.compare(head, heads[best]) < 0) {
				best = i
			}
		}
		if best < 0 {
			s.over = true
			return
		}
		s.last = heads[best]
		s.page = append(s.page, s.last)
		heads[best] = s.committed(cursors[best])
	}
}

// committed moves a cursor on to the next committed row that the transaction had
// not changed.
func (s *LocalRows) committed(c *cursor) indexEntry {
	for {
		r, v, _ := c.next()
		switch {
		case r == nil:
			return indexEntry{}
		case s.skip[r], r.committed == nil, s.index != nil && !s.index.isAt(indexEntry{r, v}, r.committed):
			continue
		}
		return indexEntry{r, r.committed}
	}
}

// lock returns the row as it is once it is locked, nil where it is of no interest
// any more: deleted, out of the bounds, or met before.
func (s *LocalRows) lock(ctx context.Context, r *rowEntry) (v *version, err error) {
	var held bool
	s.tx.cluster.do(func() { held = r.lock.holds(s.tx.txn, lockExclusive) })
	op := &rowOp{table: s.rows.table, kind: signal.OpReadExclusive, lock: lockExclusive, keyInfo: r.keyInfo}
	if ok, err := found(s.tx.run(ctx, op)); !ok || err != nil {
		return nil, err
	}
	s.tx.cluster.do(func() {
		if s.tx.txn.over {
			err = s.tx.usable(s.rows.table)
			return
		}
		r := op.row
		switch v = r.visible(s.tx.txn); {
		case v == nil || s.met[r]:
			v = nil
		case !s.contains(indexEntry{r, v}):
			v = nil
			if !held {
				s.tx.txn.unlock(r)
			}
		default:
			s.met[r] = true
		}
	})
	return v, err
}
