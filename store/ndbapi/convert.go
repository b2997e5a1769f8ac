package ndbapi

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
)

// put sets the column of field i to its value in row. What does not fit makes
// the values bad.
func (m *mapping) put(v *ndb.Values, i int, row reflect.Value) {
	f, c := &m.fields[i], m.columns[i]
	value := f.of(row)
	if f.pointer {
		if value.IsNil() {
			v.Null(c)
			return
		}
		value = value.Elem()
	}
	switch f.kind {
	case kindInt:
		v.Int64(c, value.Int())
	case kindUint:
		v.Uint64(c, value.Uint())
	case kindFloat:
		v.Float64(c, value.Float())
	case kindBool:
		v.Any(c, value.Bool())
	case kindText:
		v.String(c, value.String())
	case kindBytes:
		putBytes(v, c, value.Bytes())
	case kindDate:
		putDate(v, c, *value.Addr().Interface().(*models.Date))
	case kindTime:
		v.Time(c, storableTime(c, *value.Addr().Interface().(*time.Time)))
	case kindValuer:
		putValuer(v, c, value.Interface().(driver.Valuer))
	}
}

// putDate refuses the zero value, which a data node would store as 0000-00-00.
func putDate(v *ndb.Values, c *ndb.Column, d models.Date) {
	if d.IsZero() {
		v.Date(c, 0, 0, 1)
		return
	}
	v.Date(c, d.Year(), d.Month(), d.Day())
}

func putBytes(v *ndb.Values, c *ndb.Column, b []byte) {
	if b == nil {
		v.Null(c)
		return
	}
	v.Bytes(c, b)
}

// storableTime rounds to what the column holds, as a SQL node does, and takes
// UTC for the clock of columns without a time zone, as the driver of the SQL
// road does.
func storableTime(c *ndb.Column, t time.Time) time.Time {
	unit := time.Second
	for range c.Precision {
		unit /= 10
	}
	return t.UTC().Round(unit)
}

func putValuer(v *ndb.Values, c *ndb.Column, from driver.Valuer) {
	value, err := from.Value()
	if err != nil {
		// An error of the value's own: no column takes this type, which says so.
		v.Any(c, err)
		return
	}
	v.Any(c, forColumn(c, value))
}

// forColumn returns a value of a driver as Values.Any takes it for the column.
func forColumn(c *ndb.Column, value driver.Value) any {
	switch value := value.(type) {
	case []byte:
		if !isBinary(c) && value != nil {
			return string(value)
		}
	case time.Time:
		if c.Type == "Datetime2" || c.Type == "Timestamp2" {
			return storableTime(c, value)
		}
	}
	return value
}

func isBinary(c *ndb.Column) bool { return strings.HasSuffix(strings.ToLower(c.Type), "binary") }

// decoder makes structs of rows. It is used again and again, by one goroutine.
type decoder struct {
	text []byte
	ends []int // of the texts in it
}

// decode fills row with the columns of all fields. Those of text and dates
// share memory that is theirs alone.
func (d *decoder) decode(m *mapping, from *ndb.Row, row reflect.Value) error {
	text, err := d.takeText(m, from)
	if err != nil {
		return err
	}
	var texts []string
	if m.textPointers > 0 {
		texts = make([]string, 0, m.textPointers)
	}
	var dates []models.Date
	start, at := 0, 0
	for i := range m.fields {
		f := &m.fields[i]
		value := f.of(row)
		if f.kind == kindText {
			end := d.ends[at]
			at++
			if end >= 0 {
				texts = setText(f, value, text[start:end], texts)
				start = end
				continue
			}
		}
		if from.IsNull(i) {
			value.SetZero()
			continue
		}
		switch {
		case f.kind == kindDate && value.Type() != dateType:
			date, ok, err := readDate(from, i)
			if err != nil {
				return fieldError(f, err)
			}
			if !ok {
				value.SetZero()
				continue
			}
			if dates == nil {
				dates = make([]models.Date, 0, m.datePointers)
			}
			dates = append(dates, date)
			value.Set(reflect.ValueOf(&dates[len(dates)-1]))
		default:
			if f.pointer {
				value.Set(reflect.New(value.Type().Elem()))
				value = value.Elem()
			}
			if err := readInto(f, value, from, i); err != nil {
				return fieldError(f, err)
			}
		}
	}
	return nil
}

// takeText gathers the text of all fields in one string. Where each ends stands
// in d.ends; NULL is -1.
func (d *decoder) takeText(m *mapping, from *ndb.Row) (string, error) {
	d.text, d.ends = d.text[:0], d.ends[:0]
	for i := range m.fields {
		f := &m.fields[i]
		if f.kind != kindText {
			continue
		}
		if from.IsNull(i) {
			d.ends = append(d.ends, -1)
			continue
		}
		var err error
		if d.text, err = from.AppendText(d.text, i); err != nil {
			return "", fieldError(f, err)
		}
		d.ends = append(d.ends, len(d.text))
	}
	return string(d.text), nil
}

// setText sets a field of text. texts is the memory that pointers point into.
func setText(f *field, value reflect.Value, text string, texts []string) []string {
	switch {
	case !f.pointer:
		value.SetString(text)
	case value.Type().Elem() == stringType:
		texts = append(texts, text)
		value.Set(reflect.ValueOf(&texts[len(texts)-1]))
	default: // a type of its own
		value.Set(reflect.New(value.Type().Elem()))
		value.Elem().SetString(text)
	}
	return texts
}

// readDate reads a date. What is none of the calendar, such as 0000-00-00, is not
// ok: others can have stored it.
func readDate(from *ndb.Row, i int) (date models.Date, ok bool, err error) {
	year, month, day, err := from.Date(i)
	if err != nil {
		return models.Date{}, false, err
	}
	date, outside := models.NewDate(year, month, day)
	return date, outside == nil, nil
}

// readInto reads column i into a field that is not a pointer.
func readInto(f *field, value reflect.Value, from *ndb.Row, i int) error {
	switch f.kind {
	case kindInt:
		x, err := from.Int64(i)
		if err == nil && value.OverflowInt(x) {
			err = fmt.Errorf("%d: %w", x, ndb.ErrRange)
		}
		value.SetInt(x)
		return err
	case kindUint:
		x, err := from.Uint64(i)
		if err == nil && value.OverflowUint(x) {
			err = fmt.Errorf("%d: %w", x, ndb.ErrRange)
		}
		value.SetUint(x)
		return err
	case kindFloat:
		x, err := from.Float64(i)
		value.SetFloat(x)
		return err
	case kindBool:
		x, err := from.Int64(i)
		value.SetBool(x != 0)
		return err
	case kindBytes:
		b, err := from.Bytes(i)
		value.SetBytes(append([]byte{}, b...))
		return err
	case kindDate:
		date, _, err := readDate(from, i)
		value.Set(reflect.ValueOf(date))
		return err
	case kindTime:
		x, err := from.Any(i)
		if err == nil {
			value.Set(reflect.ValueOf(asTime(x)))
		}
		return err
	case kindValuer:
		x, err := from.Any(i)
		if err != nil {
			return err
		}
		return value.Addr().Interface().(sql.Scanner).Scan(asDriverValue(x))
	}
	panic(fmt.Sprintf("ndbapi: field %s has the kind %d", f.name, f.kind))
}

// asTime takes a DATETIME for UTC. What is no date of the calendar is the zero
// time.
func asTime(x any) time.Time {
	switch x := x.(type) {
	case time.Time:
		return x
	case ndb.DateTime:
		if x.Month == 0 || x.Day == 0 {
			return time.Time{}
		}
		return time.Date(x.Year, time.Month(x.Month), x.Day, x.Hour, x.Minute, x.Second, x.Microsecond*1000, time.UTC)
	}
	panic(fmt.Sprintf("ndbapi: a column of times gave a %T", x))
}

// asDriverValue turns what Row.Any returns into what a driver of database/sql
// would give.
func asDriverValue(x any) any {
	switch x := x.(type) {
	case uint64:
		return int64(x)
	case ndb.Date:
		return x.String()
	case ndb.DateTime:
		return asTime(x)
	case time.Duration:
		return x.String()
	}
	return x
}

func fieldError(f *field, err error) error { return fmt.Errorf("field %s: %w", f.name, err) }
