package ndbapi

import (
	"container/heap"
	"reflect"
	"slices"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
)

// collector gathers the first rows of a plan's order, and one more where there is
// a limit, which tells whether others come behind. A scan gives them in groups:
// those of one group are equal in the columns of the order that the scan keeps,
// and come in any order. Of a group only the rows that can still be among the
// first ones are kept, in a heap whose first one is the last of them.
type collector struct {
	*plan
	decoder *decoder
	slice   reflect.Value
	before  int // rows of others in the slice
	most    int // rows to keep; 0: all
	kept    []keptRow
	group   int // where the last group begins in kept
	heaped  bool
	err     error // of a comparison
}

// keptRow is a row of the slice.
type keptRow struct {
	at   int      // its place in the slice
	keys [][]byte // its values of plan.place, as they are stored
}

func newCollector(p *plan, d *decoder, slice reflect.Value) *collector {
	c := &collector{plan: p, decoder: d, slice: slice, before: slice.Len()}
	if p.limit > 0 {
		c.most = p.limit + 1
	}
	return c
}

// add takes the next row of the scan, and tells whether more are wanted.
func (c *collector) add(row *ndb.Row) (more bool, err error) {
	if c.inOrder() {
		return c.keep(row)
	}
	if c.group < len(c.kept) && c.sorted > 0 {
		same, err := c.isOfGroup(row)
		if err != nil {
			return false, err
		}
		if !same {
			if err := c.endGroup(); err != nil || len(c.kept) == c.most && c.most > 0 {
				return false, err
			}
		}
	}
	if len(c.kept) < c.most || c.most == 0 {
		return c.keep(row)
	}
	if !c.heaped {
		heap.Init(c)
		c.heaped = true
	}
	last := &c.kept[c.group]
	if order := c.compareWith(row, last); order >= 0 || c.err != nil {
		return true, c.err
	}
	if err := c.decoder.decode(c.mapping, row, c.slice.Index(last.at)); err != nil {
		return false, err
	}
	if err := c.takeKeys(last, row); err != nil {
		return false, err
	}
	heap.Fix(c, 0)
	return true, c.err
}

// keep adds a row to those that are kept.
func (c *collector) keep(row *ndb.Row) (more bool, err error) {
	grow(c.slice)
	r := keptRow{at: c.slice.Len() - 1}
	if err := c.decoder.decode(c.mapping, row, c.slice.Index(r.at)); err != nil {
		return false, err
	}
	if !c.inOrder() || len(c.kept) == c.limit-1 { // which a cursor may need
		if err := c.takeKeys(&r, row); err != nil {
			return false, err
		}
	}
	c.kept = append(c.kept, r)
	return true, nil
}

// takeKeys copies the values by which rows are ordered.
func (c *collector) takeKeys(r *keptRow, row *ndb.Row) error {
	if r.keys == nil {
		r.keys = make([][]byte, len(c.place))
	}
	for n, s := range c.place {
		stored, err := row.Bytes(s.at)
		if err != nil {
			return err
		}
		switch {
		case stored == nil:
			r.keys[n] = nil
		case r.keys[n] == nil: // empty text is not NULL
			r.keys[n] = append(make([]byte, 0, len(stored)), stored...)
		default:
			r.keys[n] = append(r.keys[n][:0], stored...)
		}
	}
	return nil
}

func (c *collector) isOfGroup(row *ndb.Row) (bool, error) {
	first := &c.kept[c.group]
	for _, s := range c.order[:c.sorted] {
		stored, err := row.Bytes(s.at)
		if err != nil {
			return false, err
		}
		if order, err := s.column.Compare(stored, first.keys[s.place]); err != nil || order != 0 {
			return false, err
		}
	}
	return true, nil
}

// endGroup puts the rows of the last group in order.
func (c *collector) endGroup() error {
	slices.SortFunc(c.kept[c.group:], func(a, b keptRow) int { return c.compare(&a, &b) })
	c.group, c.heaped = len(c.kept), false
	return c.err
}

// compareWith is compare for a row that is not kept.
func (c *collector) compareWith(row *ndb.Row, b *keptRow) int {
	for _, s := range c.order {
		stored, err := row.Bytes(s.at)
		if err != nil {
			c.err = err
			return 0
		}
		if order := c.compareKeys(s, stored, b.keys[s.place]); order != 0 {
			return order
		}
	}
	return 0
}

func (c *collector) compare(a, b *keptRow) int {
	for _, s := range c.order {
		if order := c.compareKeys(s, a.keys[s.place], b.keys[s.place]); order != 0 {
			return order
		}
	}
	return 0
}

func (c *collector) compareKeys(s sortColumn, a, b []byte) int {
	order, err := s.column.Compare(a, b)
	if err != nil {
		c.err = err
		return 0
	}
	if s.descending {
		return -order
	}
	return order
}

// finish puts the rows into the slice in their order, and returns the place of
// the last one where others come behind it.
func (c *collector) finish() (next models.Cursor, err error) {
	if !c.inOrder() {
		if err := c.endGroup(); err != nil {
			return nil, err
		}
		ordered := reflect.MakeSlice(c.slice.Type(), len(c.kept), len(c.kept))
		for n, r := range c.kept {
			ordered.Index(n).Set(c.slice.Index(r.at))
		}
		reflect.Copy(c.slice.Slice(c.before, c.slice.Len()), ordered)
	}
	more := c.limit > 0 && len(c.kept) > c.limit
	if more {
		c.kept = c.kept[:c.limit]
	}
	c.slice.SetLen(c.before + len(c.kept))
	if !more {
		return nil, nil
	}
	last := len(c.kept) - 1
	return c.cursor(&c.kept[last], c.slice.Index(c.before+last)), nil
}

// cursor is the place of a row: its values as the struct has them, but for dates,
// of which the struct has only those of the calendar.
func (c *collector) cursor(r *keptRow, row reflect.Value) models.Cursor {
	place := make(models.Cursor, len(c.place))
	for n, s := range c.place {
		f := &c.mapping.fields[s.at]
		switch value := f.of(row); {
		case r.keys[n] == nil: // NULL
		case f.kind == kindDate:
			place[n] = storedDate(r.keys[n])
		case f.pointer:
			place[n] = value.Elem().Interface()
		default:
			place[n] = value.Interface()
		}
	}
	return place
}

// storedDate reads a DATE of three bytes: from the lowest on, 5 bits of the day,
// 4 of the month, and the year.
func storedDate(stored []byte) models.Date {
	bits := int(stored[0]) | int(stored[1])<<8 | int(stored[2])<<16
	return models.StoredDate(bits>>9, bits>>5&0xf, bits&0x1f)
}

// Len, Less, Swap, Push and Pop make a heap of the last group.
func (c *collector) Len() int { return len(c.kept) - c.group }

func (c *collector) Less(i, j int) bool {
	return c.compare(&c.kept[c.group+i], &c.kept[c.group+j]) > 0
}

func (c *collector) Swap(i, j int) {
	c.kept[c.group+i], c.kept[c.group+j] = c.kept[c.group+j], c.kept[c.group+i]
}

func (c *collector) Push(any) { panic("ndbapi: rows are added by add") }
func (c *collector) Pop() any { panic("ndbapi: rows are taken by finish") }
