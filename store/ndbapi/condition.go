package ndbapi

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// fitted returns a filter in its normal form whose values are such that package
// ndb takes them for their columns. What no row can have is left out: a SQL node
// compares with it all the same, so that must have the same result.
func (m *mapping) fitted(f models.Filter) (models.Filter, error) {
	return f.Normal().Replaced(func(f models.Filter) (models.Filter, error) {
		i, ok := m.byName[f.Property.Field]
		if !ok {
			return f, fmt.Errorf("a query of %v: it has no field %s", m.typ, f.Property.Field)
		}
		if f.Op == models.OpNull || f.Op == models.OpNotNull {
			return f, nil
		}
		fit, err := fit(m.columns[i], f)
		if err != nil {
			return f, fieldError(&m.fields[i], err)
		}
		return fit, nil
	})
}

func fit(c *ndb.Column, f models.Filter) (models.Filter, error) {
	value, err := plain(c, f.Value)
	if err != nil {
		return f, err
	}
	f.Value = value
	text, isText := value.(string)
	if isText && !canHold(c, text) {
		return columnrule.Outside(f)
	}
	if f.Op == models.OpLike || f.Op == models.OpNotLike {
		if !isText {
			return f, fmt.Errorf("a pattern is text, not %T", f.Value)
		}
		return f, nil
	}
	switch _, err = c.Stored(value); {
	case err == nil:
		return f, nil
	case isText && errors.Is(err, ndb.ErrTooLong):
		return fitLong(c, f, text)
	case errors.Is(err, ndb.ErrRange):
		return fitNumber(f)
	default:
		return f, err
	}
}

// canHold tells whether text is of characters that the column can store.
func canHold(c *ndb.Column, text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		if r < utf8.RuneSelf {
			return false // which every character set has
		}
		_, err := c.Stored(string(r))
		return errors.Is(err, ndb.ErrCharset)
	})
}

// never and always are what comparisons come to that do not depend on the value,
// but for NULL.
func never(models.Filter) models.Filter    { return models.Or() }
func always(f models.Filter) models.Filter { return models.IsNotNull(f.Property) }

// fitNumber compares with a number that the column cannot hold: all that it can
// hold are on one side of it.
func fitNumber(f models.Filter) (models.Filter, error) {
	above := false // the number is above all others
	switch v := reflect.ValueOf(f.Value); v.Kind() {
	case reflect.Int64:
		above = v.Int() > 0
	case reflect.Uint64:
		above = true
	case reflect.Float64:
		above = v.Float() > 0
	default:
		if f.Op.IsOrdering() {
			return f, fmt.Errorf("%v is none of the values of the column", f.Value)
		}
	}
	switch f.Op {
	case models.OpEqual:
		return never(f), nil
	case models.OpNotEqual:
		return always(f), nil
	case models.OpLess, models.OpLessOrEqual:
		if above {
			return always(f), nil
		}
		return never(f), nil
	default:
		if above {
			return never(f), nil
		}
		return always(f), nil
	}
}

// fitLong compares with text that is longer than the column. It equals none, but
// where only spaces at its end are too many. In order it stands right behind, or
// right before, its longest part that fits.
func fitLong(c *ndb.Column, f models.Filter, text string) (models.Filter, error) {
	if trimmed := strings.TrimRight(text, " "); padsSpace(c) {
		if _, err := c.Stored(trimmed); err == nil {
			f.Value = trimmed
			return f, nil
		}
	}
	switch f.Op {
	case models.OpEqual:
		return never(f), nil
	case models.OpNotEqual:
		return always(f), nil
	}
	if !c.HasKnownOrder() {
		return f, fmt.Errorf("%w: text that is longer than column %s of collation %d", store.ErrOrderUnsupported, c.Name, c.Charset)
	}
	chars := []rune(text)
	n := sort.Search(len(chars), func(n int) bool {
		_, err := c.Stored(string(chars[:n+1]))
		return err != nil
	})
	behind, err := isBehindNothing(c, chars[n:], n)
	if err != nil {
		return f, err
	}
	f.Value = string(chars[:n])
	switch upTo := f.Op == models.OpLess || f.Op == models.OpLessOrEqual; {
	case upTo && behind:
		f.Op = models.OpLessOrEqual
	case upTo:
		f.Op = models.OpLess
	case behind:
		f.Op = models.OpGreater
	default:
		f.Op = models.OpGreaterOrEqual
	}
	return f, nil
}

// isBehindNothing tells whether text that goes on so comes behind text that ends
// there. n characters fit into the column.
func isBehindNothing(c *ndb.Column, rest []rune, n int) (bool, error) {
	for len(rest) > 0 {
		piece := rest[:min(n, len(rest))]
		stored, err := c.Stored(string(piece))
		if err != nil {
			return false, err
		}
		order, err := c.Compare(stored, []byte{})
		if err != nil || order != 0 {
			return order > 0, err
		}
		rest = rest[len(piece):]
	}
	return true, nil
}

// condition translates a filter that is fitted; nil is for all rows.
func (m *mapping) condition(f models.Filter) ndb.Filter {
	if f.SelectsAll() {
		return nil
	}
	return m.translate(&f)
}

var comparisons = map[models.FilterOp]func(*ndb.Column, any) ndb.Filter{
	models.OpEqual: ndb.Eq, models.OpNotEqual: ndb.Ne,
	models.OpLess: ndb.Lt, models.OpLessOrEqual: ndb.Le, models.OpGreater: ndb.Gt, models.OpGreaterOrEqual: ndb.Ge,
}

func (m *mapping) translate(f *models.Filter) ndb.Filter {
	if f.Op == models.OpAnd || f.Op == models.OpOr {
		members := make([]ndb.Filter, len(f.Members))
		for i := range f.Members {
			members[i] = m.translate(&f.Members[i])
		}
		if f.Op == models.OpAnd {
			return ndb.And(members...)
		}
		return ndb.Or(members...)
	}
	c := m.columns[m.byName[f.Property.Field]]
	switch f.Op {
	case models.OpNull:
		return ndb.IsNull(c)
	case models.OpNotNull:
		return ndb.IsNotNull(c)
	case models.OpLike:
		return ndb.Like(c, f.Value.(string))
	case models.OpNotLike:
		return ndb.NotLike(c, f.Value.(string))
	}
	compare, ok := comparisons[f.Op]
	if !ok {
		panic(fmt.Sprintf("ndbapi: no comparison for %v", f))
	}
	return compare(c, f.Value)
}

// plain returns a value of a field's type as package ndb takes it for its column.
func plain(c *ndb.Column, value any) (any, error) {
	switch value := value.(type) {
	case nil:
		return nil, fmt.Errorf("nothing compares with NULL")
	case models.Date:
		if !value.InCalendar() {
			return ndb.StoredDate(asNDBDate(value)), nil
		}
		return asNDBDate(value), nil
	case time.Time:
		return storableTime(c, value), nil
	case driver.Valuer:
		inner, err := value.Value()
		if inner == nil && err == nil {
			return plain(c, nil)
		}
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
