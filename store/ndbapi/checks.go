package ndbapi

import (
	"errors"
	"fmt"
	"reflect"

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

// refuse names the fields whose values their columns cannot store. first is the
// error of the first bad value.
func (m *mapping) refuse(v *ndb.Values, set []int, row reflect.Value, first error) error {
	broken := &models.ValidationError{}
	for _, i := range set {
		v.Reset()
		m.put(v, i, row)
		if rule := brokenRule(v.Err()); rule != "" {
			broken.Fields = append(broken.Fields, columnrule.Broken(m.fields[i].property, rule))
		}
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

// padsSpace tells whether texts that differ in spaces at their end are equal in
// the column: so it is in all collations but those made for Unicode 9, and the
// binary one.
func padsSpace(c *ndb.Column) bool {
	const firstOfUnicode9, lastOfUnicode9 = 255, 323
	return c.Charset != collationBinary && (c.Charset < firstOfUnicode9 || c.Charset > lastOfUnicode9)
}
