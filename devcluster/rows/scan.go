package rows

import (
	"context"
	"slices"
)

// pageSize is how many rows a scan takes at a time: the store is free for
// others in between.
const pageSize = 256

// Scan reads the rows of a range in the order of an index. It sees the changes
// that its transaction made before the scan began, not those made since: a
// statement that moves rows ahead in the index it reads does not meet them
// again.
type Scan struct {
	t         *Tx
	index     Index
	whole     Range
	rest      Range // what is not in a page yet
	reverse   bool
	forUpdate bool

	own  []entry            // rows of the range that the transaction had changed, nearest first
	skip map[int64]struct{} // all rows that it had changed
	page []entry            // committed rows, nearest first
	last bool               // page is the last one
	met  map[int64]struct{} // rows already returned, kept when forUpdate
}

// Scan starts reading a range, backwards with reverse. With forUpdate each row
// is locked, and read again then, before it is returned.
func (t *Tx) Scan(index Index, r Range, reverse, forUpdate bool) *Scan {
	s := &Scan{
		t: t, index: index, whole: r, rest: r, reverse: reverse, forUpdate: forUpdate,
		skip: make(map[int64]struct{}, len(t.own)),
		met:  make(map[int64]struct{}),
	}
	for id, v := range t.own {
		s.skip[id] = struct{}{}
		if pos := v.position(index, id); v.row != nil && r.contains(pos) {
			s.own = append(s.own, entry{pos: pos, row: v.row})
		}
	}
	slices.SortFunc(s.own, func(a, b entry) int { return s.order(a.pos, b.pos) })
	return s
}

// Next returns the next row, nil after the last one.
func (s *Scan) Next(ctx context.Context) (Row, error) {
	for {
		if len(s.page) == 0 && !s.last {
			s.fill()
		}
		if len(s.own) > 0 && (len(s.page) == 0 || s.order(s.own[0].pos, s.page[0].pos) < 0) {
			row := s.own[0].row
			s.own = s.own[1:]
			return row, nil
		}
		if len(s.page) == 0 {
			return nil, nil
		}
		e := s.page[0]
		s.page = s.page[1:]
		if !s.forUpdate {
			return e.row, nil
		}
		if row, err := s.lock(ctx, e.pos.ID); row != nil || err != nil {
			return row, err
		}
	}
}

// lock returns the row as it is once it is locked, nil if it is of no interest
// any more: deleted, moved out of the range, or met before.
func (s *Scan) lock(ctx context.Context, id int64) (Row, error) {
	if _, ok := s.met[id]; ok {
		return nil, nil
	}
	_, held := s.t.held[id]
	row, err := s.t.lockRow(ctx, id)
	if row == nil || err != nil {
		return nil, err
	}
	pos := Position{ID: id}
	if s.index == Secondary {
		pos.Key = s.t.s.cfg.Key(row)
	}
	if !s.whole.contains(pos) {
		if !held {
			s.t.unlock(id)
		}
		return nil, nil
	}
	s.met[id] = struct{}{}
	return row, nil
}

// fill reads the next page of committed rows.
func (s *Scan) fill() {
	add := func(e entry) bool {
		if !s.rest.contains(e.pos) {
			// Descending starts at rest.To, which is not in the range.
			return s.reverse && e.pos == s.rest.To
		}
		if _, ok := s.skip[e.pos.ID]; !ok {
			s.page = append(s.page, e)
		}
		return len(s.page) < pageSize
	}
	s.page = make([]entry, 0, 8)
	tree := s.t.s.committed[s.index]

	s.t.s.mu.Lock()
	if s.reverse {
		tree.DescendLessOrEqual(entry{pos: s.rest.To}, add)
	} else {
		tree.AscendGreaterOrEqual(entry{pos: s.rest.From}, add)
	}
	s.t.s.mu.Unlock()

	if len(s.page) < pageSize {
		s.last = true
		return
	}
	end := s.page[len(s.page)-1].pos
	if s.reverse {
		s.rest.To = end
	} else {
		s.rest.From = After(end.Key, end.ID)
	}
}

// order compares positions in the direction of the scan.
func (s *Scan) order(a, b Position) int {
	if s.reverse {
		return b.compare(a)
	}
	return a.compare(b)
}
