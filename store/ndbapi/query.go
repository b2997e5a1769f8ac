package ndbapi

import (
	"container/heap"
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
)

// Query selects rows in ascending order of their primary key. The table's
// primary key must be one column of integers, with an ordered index.
type Query struct {
	Equal []Equal
	// After leaves out rows whose primary key is not greater. It is an integer;
	// nil leaves out none.
	After any
	// Limit is the most rows to return; 0 means all.
	Limit int
}

// Equal asks that a column equals a value, with the logic of SQL: NULL equals
// nothing. Text compares by the collation of its column.
type Equal struct {
	Field string // name of the Go field
	Value any    // of the field's type, without pointer
}

// Query appends the rows to the slice that rows points to; none is no error. They
// are read as they were last committed, each by itself, so that together they
// are no snapshot.
func (x *Session) Query(ctx context.Context, rows any, q Query) error {
	v := reflect.ValueOf(rows)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Slice || v.Elem().Type().Elem().Kind() != reflect.Struct {
		return fmt.Errorf("rows go into a pointer to a slice of structs, not %T", rows)
	}
	slice := v.Elem()
	t, err := x.beginType(slice.Type().Elem(), reflect.Value{}, false)
	if err != nil {
		return err
	}
	before := slice.Len()
	for t.next(ctx) {
		slice.SetLen(before) // a try that failed may have left rows
		t.err = t.query(ctx, slice, &q)
	}
	if t.err != nil {
		slice.SetLen(before)
	}
	return t.result(ctx)
}

// plan is a query for one mapping.
type plan struct {
	mapping *mapping
	scan    ndb.Scan
	key     any  // the only primary key that rows can have, where nothing else is asked
	none    bool // no row can match
	sorted  bool // rows come in the order of the primary key
	limit   int
}

func (t *tries) query(ctx context.Context, slice reflect.Value, q *Query) error {
	p, err := t.work.plan(q)
	if err != nil || p.none {
		return err
	}
	if p.key != nil {
		return t.queryKey(ctx, slice, p.key)
	}
	scanner, err := t.client.Scan(ctx, p.scan)
	if err != nil {
		return err
	}
	defer scanner.Close()
	c := &collector{plan: p, decoder: &t.work.decoder, slice: slice, before: slice.Len()}
	for scanner.Next(ctx) {
		if err := c.add(scanner.Row()); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	c.finish()
	return nil
}

// queryKey reads one row by its primary key.
func (t *tries) queryKey(ctx context.Context, slice reflect.Value, key any) error {
	w := t.work
	w.values.Reset()
	err := t.client.Read(ctx, w.values.Any(w.mapping.columns[w.mapping.key[0]], key), w.mapping.read, &w.row)
	if isClass(err, ndb.ClassNoDataFound) {
		return nil
	}
	if err != nil {
		return err
	}
	grow(slice)
	return w.decoder.decode(w.mapping, &w.row, slice.Index(slice.Len()-1))
}

// grow appends an empty row.
func grow(slice reflect.Value) {
	slice.Set(reflect.Append(slice, reflect.Zero(slice.Type().Elem())))
}

// plan chooses the way to the rows: by their primary key, by an index of columns
// that must equal something, or in the order of the primary key from After on.
func (w *work) plan(q *Query) (*plan, error) {
	m := w.mapping
	p := &plan{mapping: m, limit: q.Limit}
	if len(m.key) != 1 || !isInteger(m.fields[m.key[0]].kind) {
		return nil, fmt.Errorf("a query of %v: its primary key is not one integer", m.typ)
	}
	key := m.columns[m.key[0]]
	var filters []ndb.Filter
	values := map[*ndb.Column]any{}
	for _, e := range q.Equal {
		i, ok := m.byName[e.Field]
		if !ok {
			return nil, fmt.Errorf("a query of %v: it has no field %s", m.typ, e.Field)
		}
		value, ok, err := m.fitting(w.values, i, e.Value)
		if err != nil || !ok {
			p.none = true
			return p, err
		}
		values[m.columns[i]] = value
		filters = append(filters, ndb.Eq(m.columns[i], value))
	}
	if q.After != nil {
		filters = append(filters, ndb.Gt(key, q.After))
	}
	p.scan = ndb.Scan{Table: m.table, Columns: m.read}
	if len(filters) > 0 {
		p.scan.Filter = ndb.And(filters...)
	}
	p.choose(q, key, values)
	return p, nil
}

func (p *plan) choose(q *Query, key *ndb.Column, values map[*ndb.Column]any) {
	m := p.mapping
	if id, ok := values[key]; ok {
		if len(q.Equal) == 1 && q.After == nil {
			p.key = id
			return
		}
		p.byIndex(m.primary, ndb.Exactly(id))
		return
	}
	for _, index := range m.ordered {
		if value, ok := values[index.Columns[0]]; ok {
			p.byIndex(index, ndb.Exactly(value))
			return
		}
	}
	if m.primary == nil {
		return
	}
	p.sorted = true
	p.scan.Index, p.scan.Order, p.scan.Limit = m.primary, ndb.Ascending, q.Limit
	if q.After != nil {
		p.scan.Ranges = []ndb.Range{{Low: []any{q.After}, LowStrict: true}}
	}
}

// byIndex narrows the scan to a range; without the index, the filter alone
// chooses the rows.
func (p *plan) byIndex(index *ndb.Index, r ndb.Range) {
	if index != nil {
		p.scan.Index, p.scan.Ranges = index, []ndb.Range{r}
	}
}

func isInteger(k kind) bool { return k == kindInt || k == kindUint }

// collector gathers rows. Where they come in any order it keeps the ones with the
// smallest keys, in a heap whose first one has the greatest.
type collector struct {
	*plan
	decoder *decoder
	slice   reflect.Value
	before  int // rows of others in the slice
	keys    []uint64
	swap    func(i, j int)
	swapCap int // of the slice for which swap was made
}

func (c *collector) add(row *ndb.Row) error {
	if c.sorted {
		grow(c.slice)
		return c.decoder.decode(c.mapping, row, c.slice.Index(c.slice.Len()-1))
	}
	key, err := c.keyOf(row)
	if err != nil {
		return err
	}
	if c.limit > 0 && len(c.keys) == c.limit {
		if key >= c.keys[0] {
			return nil
		}
		c.keys[0] = key
		if err := c.decoder.decode(c.mapping, row, c.slice.Index(c.before)); err != nil {
			return err
		}
		heap.Fix(c, 0)
		return nil
	}
	grow(c.slice)
	c.keys = append(c.keys, key)
	if err := c.decoder.decode(c.mapping, row, c.slice.Index(c.slice.Len()-1)); err != nil {
		return err
	}
	heap.Fix(c, len(c.keys)-1)
	return nil
}

// keyOf returns the primary key as a number that orders as it does.
func (c *collector) keyOf(row *ndb.Row) (uint64, error) {
	i := c.mapping.key[0]
	if c.mapping.fields[i].kind == kindUint {
		return row.Uint64(i)
	}
	key, err := row.Int64(i)
	return uint64(key) ^ (1 << 63), err
}

// finish puts the rows in order.
func (c *collector) finish() {
	for n := len(c.keys) - 1; n > 0; n-- {
		c.Swap(0, n)
		c.keys = c.keys[:n]
		heap.Fix(c, 0)
	}
}

// Len, Less, Swap, Push and Pop make a heap of the rows.
func (c *collector) Len() int           { return len(c.keys) }
func (c *collector) Less(i, j int) bool { return c.keys[i] > c.keys[j] }

func (c *collector) Swap(i, j int) {
	if n := c.slice.Cap(); c.swapCap != n { // the slice has moved
		c.swap, c.swapCap = reflect.Swapper(c.slice.Slice(c.before, n).Interface()), n
	}
	c.keys[i], c.keys[j] = c.keys[j], c.keys[i]
	c.swap(i, j)
}

func (c *collector) Push(any) { panic("ndbapi: rows are added by add") }
func (c *collector) Pop() any { panic("ndbapi: rows are taken by finish") }

// plain returns a value of a field's type as package ndb takes it for its column.
func plain(c *ndb.Column, value any) (any, error) {
	switch value := value.(type) {
	case nil:
		return nil, fmt.Errorf("nothing equals NULL")
	case models.Date:
		return asNDBDate(value), nil
	case time.Time:
		return storableTime(c, value), nil
	case driver.Valuer:
		inner, err := value.Value()
		return forColumn(c, inner), err
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("a value of type %T cannot be compared with a column", value)
}

func asNDBDate(d models.Date) ndb.Date {
	return ndb.Date{Year: d.Year(), Month: d.Month(), Day: d.Day()}
}
