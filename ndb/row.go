package ndb

import (
	"errors"
	"fmt"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// Projection is a set of columns to read, in the order in which a Row has them.
// It is made once and safe for concurrent use.
type Projection struct {
	def      *definition
	columns  []*Column
	decoder  *row.Projection
	readList []byte
}

// Select returns the projection of the named columns, or of all columns that
// can be read where none is named.
func (t *Table) Select(names ...string) (*Projection, error) {
	def := t.def.Load()
	columns := make([]*Column, 0, len(names))
	for _, name := range names {
		c, err := def.column(name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	if len(names) == 0 {
		for _, c := range def.columns {
			if row.Supported(c.info) == nil {
				columns = append(columns, c)
			}
		}
	}
	return newProjection(def, columns)
}

func newProjection(def *definition, columns []*Column) (*Projection, error) {
	p := &Projection{def: def, columns: columns}
	infos := infosOf(columns)
	var err error
	if p.decoder, err = row.NewProjection(infos); err != nil {
		return nil, fmt.Errorf("ndb: %w", err)
	}
	p.readList = p.decoder.AppendReadList(nil)
	if len(columns) == 0 {
		// A committed read of nothing would never be answered.
		p.readList = row.AppendAttrHeader(nil, row.AttrFragment, 0)
	}
	return p, nil
}

// Columns returns the columns in their order. The slice must not be changed.
func (p *Projection) Columns() []*Column { return p.columns }

// Row holds what a read has read. The zero value is ready for use, and its
// memory is used again by each read. Columns are numbered as in the Projection.
// A Row belongs to one operation at a time; not safe for concurrent use.
type Row struct {
	projection *Projection
	buf        []byte
	spans      []row.Span
	filled     bool
}

// errNoRow is the answer of a Row that no read has filled.
var errNoRow = errors.New("ndb: the row was not read")

func (r *Row) begin(p *Projection) {
	r.projection, r.buf, r.filled = p, r.buf[:0], false
}

// receive keeps a copy of the words of TRANSID_AI. It runs on a reader
// goroutine, under the lock of the record.
func (r *Row) receive(attributes []byte) { r.buf = append(r.buf, attributes...) }

// decode finds the values once all words have come.
func (r *Row) decode() error {
	n := len(r.projection.columns)
	if cap(r.spans) < n {
		r.spans = make([]row.Span, n)
	}
	r.spans = r.spans[:n]
	if n > 0 {
		if _, err := r.projection.decoder.Decode(r.buf, r.spans); err != nil {
			return fmt.Errorf("ndb: %w", err)
		}
	}
	r.filled = true
	return nil
}

// value returns column i and where its value lies.
func (r *Row) value(i int) (*Column, row.Span, error) {
	if !r.filled {
		return nil, row.Span{}, errNoRow
	}
	return r.projection.columns[i], r.spans[i], nil
}

// IsNull tells whether column i is NULL.
func (r *Row) IsNull(i int) bool { return r.filled && r.spans[i].Null }

// Int64 returns column i of an integer type, YEAR or BIT.
func (r *Row) Int64(i int) (int64, error) {
	c, s, err := r.value(i)
	if err != nil {
		return 0, err
	}
	return row.Int64(c.info, r.buf, s)
}

// Uint64 returns column i of an integer type, YEAR or BIT, or the number of an
// ENUM or SET.
func (r *Row) Uint64(i int) (uint64, error) {
	c, s, err := r.value(i)
	if err != nil {
		return 0, err
	}
	return row.Uint64(c.info, r.buf, s)
}

// Float64 returns column i of type FLOAT or DOUBLE.
func (r *Row) Float64(i int) (float64, error) {
	c, s, err := r.value(i)
	if err != nil {
		return 0, err
	}
	return row.Float64(c.info, r.buf, s)
}

// String returns column i as text, whatever its type.
func (r *Row) String(i int) (string, error) {
	c, s, err := r.value(i)
	if err != nil {
		return "", err
	}
	return row.String(c.info, r.buf, s)
}

// AppendText appends what String returns to dst.
func (r *Row) AppendText(dst []byte, i int) ([]byte, error) {
	c, s, err := r.value(i)
	if err != nil {
		return dst, err
	}
	return row.AppendText(dst, c.info, r.buf, s)
}

// Bytes returns the stored bytes of column i, without those that hold their
// length; nil for NULL. They are valid until the row is used again.
func (r *Row) Bytes(i int) ([]byte, error) {
	_, s, err := r.value(i)
	if err != nil {
		return nil, err
	}
	return s.Bytes(r.buf), nil
}

// Date returns column i of type DATE. What others have stored can be no date of
// the calendar: 0000-00-00.
func (r *Row) Date(i int) (year, month, day int, err error) {
	c, s, err := r.value(i)
	if err != nil {
		return 0, 0, 0, err
	}
	d, err := row.GetDate(c.info, r.buf, s)
	return d.Year, d.Month, d.Day, err
}

// Time returns column i of type TIMESTAMP, in UTC. A DATETIME has no location: Any
// and String return it.
func (r *Row) Time(i int) (time.Time, error) {
	c, s, err := r.value(i)
	if err != nil {
		return time.Time{}, err
	}
	return row.Time(c.info, r.buf, s)
}

// Date is what Any returns of a DATE column. Others can have stored one that is
// not in the calendar.
type Date = row.Date

// StoredDate is a value to compare DATE columns with that the calendar has not:
// what others can have stored, as in 2020-05-00.
type StoredDate = row.StoredDate

// DateTime is what Any returns of a DATETIME column: a date and a clock without a
// time zone.
type DateTime = row.DateTime

// Any returns column i as the Go type that fits it best; nil is NULL.
func (r *Row) Any(i int) (any, error) {
	c, s, err := r.value(i)
	if err != nil {
		return nil, err
	}
	return row.Value(c.info, r.buf, s)
}
