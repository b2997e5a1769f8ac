package ndbapi

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/ndb"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// encode sets the columns of the fields, and refuses what a SQL node would
// refuse: data nodes store what they get.
func (m *mapping) encode(v *ndb.Values, set []int, row reflect.Value) error {
	v.Reset()
	for _, i := range set {
		m.put(v, i, row)
	}
	if v.Err() == nil {
		return nil
	}
	return m.refuse(v, set, row, v.Err())
}

// refuse names the fields whose values their columns cannot store: all with
// text that the character set lacks, else the first one of any other kind. first
// is the error of the first bad value.
func (m *mapping) refuse(v *ndb.Values, set []int, row reflect.Value, first error) error {
	broken := &models.ValidationError{}
	var other *models.FieldError
	for _, i := range set {
		v.Reset()
		m.put(v, i, row)
		rule := brokenRule(v.Err())
		if rule == "" {
			continue
		}
		f := columnrule.Broken(m.fields[i].property, rule)
		if rule == columnrule.Charset {
			broken.Fields = append(broken.Fields, f)
		} else if other == nil {
			other = &f
		}
	}
	if len(broken.Fields) == 0 && other != nil {
		broken.Fields = append(broken.Fields, *other)
	}
	if len(broken.Fields) == 0 {
		return first
	}
	return fmt.Errorf("%w: %w: %w", store.ErrInvalid, broken, first)
}

// brokenRule is the rule that a bad value breaks; empty for nil, and for what
// no value is to blame for.
func brokenRule(err error) string {
	var value *ndb.ValueError
	if !errors.As(err, &value) {
		return ""
	}
	switch {
	case errors.Is(err, ndb.ErrCharset):
		return columnrule.Charset
	case errors.Is(err, ndb.ErrTooLong):
		return columnrule.Max
	case errors.Is(err, ndb.ErrNull):
		return columnrule.NotNull
	case errors.Is(err, ndb.ErrRange) && value.Type.String() == "Date":
		return columnrule.StorableDate
	case errors.Is(err, ndb.ErrRange):
		return columnrule.Range
	}
	return ""
}

// fitting returns a value to compare a column with, as package ndb takes it.
// A value that no row can have is not ok.
func (m *mapping) fitting(v *ndb.Values, i int, value any) (fit any, ok bool, err error) {
	c := m.columns[i]
	fit, err = plain(c, value)
	if err != nil {
		return nil, false, fieldError(&m.fields[i], err)
	}
	text, isText := fit.(string)
	if isText && !utf8.ValidString(text) {
		return nil, false, nil
	}
	err = storable(v, c, fit)
	if isText && errors.Is(err, ndb.ErrTooLong) && padsSpace(c) {
		// The spaces at its end do not count.
		fit = strings.TrimRight(text, " ")
		err = storable(v, c, fit)
	}
	switch {
	case err == nil:
		return fit, true, nil
	case brokenRule(err) != "":
		return nil, false, nil
	default:
		return nil, false, err
	}
}

func storable(v *ndb.Values, c *ndb.Column, value any) error {
	v.Reset()
	return v.Any(c, value).Err()
}

// padsSpace tells whether texts that differ in spaces at their end are equal in
// the column: so it is in all collations but those made for Unicode 9, and the
// binary one.
func padsSpace(c *ndb.Column) bool {
	const firstOfUnicode9, lastOfUnicode9 = 255, 323
	return c.Charset != collationBinary && (c.Charset < firstOfUnicode9 || c.Charset > lastOfUnicode9)
}
