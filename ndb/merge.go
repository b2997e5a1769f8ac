package ndb

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// The rows of each fragment come in the order of the index. To merge them, each
// fragment's next row must be known: the heads that have one are a heap, the
// first row at its top.

// errDisorder says that rows of one fragment came in another order than ours.
// The table was spread over more fragments meanwhile, or this package is wrong
// about the order.
var errDisorder = errors.New("ndb: rows of a scan came out of order; perhaps the table is being reorganised")

func (s *Scanner) advanceMerged(ctx context.Context) (more bool, err error) {
	if s.sorted == nil {
		if err := s.fillHeap(ctx); err != nil {
			return false, err
		}
	} else if err := s.advanceTop(ctx); err != nil {
		return false, err
	}
	if len(s.sorted) == 0 {
		return false, nil
	}
	s.current = &s.heads[s.sorted[0]]
	return true, nil
}

// fillHeap waits for the first row of each fragment.
func (s *Scanner) fillHeap(ctx context.Context) error {
	s.sorted = make([]int, 0, len(s.heads))
	for i := range s.heads {
		more, err := s.step(ctx, &s.heads[i])
		if err != nil {
			return err
		}
		if more {
			s.sorted = append(s.sorted, i)
		}
	}
	for i := len(s.sorted)/2 - 1; i >= 0; i-- {
		if err := s.sink(i); err != nil {
			return err
		}
	}
	return nil
}

// advanceTop goes on behind the row at the top of the heap.
func (s *Scanner) advanceTop(ctx context.Context) error {
	h := &s.heads[s.sorted[0]]
	more, err := s.step(ctx, h)
	if err != nil {
		return err
	}
	if !more {
		last := len(s.sorted) - 1
		s.sorted[0] = s.sorted[last]
		s.sorted = s.sorted[:last]
		return s.sink(0)
	}
	order, err := s.plan.compare(&h.before, h.beforeRange, &h.row, h.rangeNo)
	if err == nil && order > 0 {
		err = errDisorder
	}
	if err != nil {
		return err
	}
	return s.sink(0)
}

// sink moves the head at place i of the heap down to where it belongs.
func (s *Scanner) sink(i int) error {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.sorted); child++ {
			order, err := s.compareHeads(child, first)
			if err != nil {
				return err
			}
			if order < 0 {
				first = child
			}
		}
		if first == i {
			return nil
		}
		s.sorted[i], s.sorted[first] = s.sorted[first], s.sorted[i]
		i = first
	}
}

func (s *Scanner) compareHeads(i, j int) (int, error) {
	a, b := &s.heads[s.sorted[i]], &s.heads[s.sorted[j]]
	return s.plan.compare(&a.row, a.rangeNo, &b.row, b.rangeNo)
}

// compare orders two rows as they are to come: below 0 where a comes first.
func (p *scanPlan) compare(a *Row, aRange uint32, b *Row, bRange uint32) (int, error) {
	if aRange != bRange {
		return cmp.Compare(aRange, bRange), nil
	}
	for _, place := range p.order {
		c := p.columns.columns[place]
		order, ok := row.CompareSpans(c.info, a.buf, a.spans[place], b.buf, b.spans[place])
		if !ok {
			return 0, fmt.Errorf("%w: column %s, collation %d", ErrUnknownOrder, c.Name, c.Charset)
		}
		switch {
		case order == 0:
		case p.descending:
			return -order, nil
		default:
			return order, nil
		}
	}
	return 0, nil
}

// keep makes the current row the one before.
func (h *scanHead) keep() {
	h.before, h.row = h.row, h.before
	h.beforeRange = h.rangeNo
}

// keepBeyondBatch copies the row before, as the memory of its batch goes to the
// next one.
func (h *scanHead) keepBeyondBatch() {
	h.copied = append(h.copied[:0], h.before.buf...)
	h.before.buf = h.copied
}
