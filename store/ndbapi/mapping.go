package ndbapi

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ndbgate/ndbgate/ndb"
)

// mapping is a shape that was checked against the table as it is at one time.
// It does not change.
type mapping struct {
	*shape
	table   *ndb.Table
	columns []*ndb.Column   // of the fields
	read    *ndb.Projection // of the same columns
	primary *ndb.Index      // the ordered index of the primary key; nil where there is none
	ordered []*ndb.Index    // the other ordered indexes
	first   *ndb.Column     // of the table's definition that was checked
}

// isCurrent tells whether the table is still what its name means, and its
// definition the one that was checked, as far as the client knows.
func (m *mapping) isCurrent() bool { return m.table.IsCurrent() && m.isDefinition() }

func (m *mapping) isDefinition() bool {
	now := m.table.Columns()
	return len(now) > 0 && now[0] == m.first
}

// newMapping checks a shape against a table. The error names all that does not
// fit.
func newMapping(s *shape, table *ndb.Table) (*mapping, error) {
	var err error
	for range bindTries {
		m := &mapping{shape: s, table: table}
		known := table.Columns()
		if len(known) > 0 {
			m.first = known[0]
		}
		if err := m.bind(known); err != nil {
			return nil, fmt.Errorf("table %s.%s: %w", table.Database(), table.Name(), err)
		}
		if err = m.choose(); err == nil && m.isDefinition() {
			return m, nil
		}
	}
	return nil, fmt.Errorf("table %s.%s: %w", table.Database(), table.Name(), cmp.Or(err, errChanging))
}

// bindTries is how often a definition is checked that changes meanwhile.
const bindTries = 3

var errChanging = errors.New("the definition changes all the time")

// bind finds the column of each field.
func (m *mapping) bind(known []*ndb.Column) error {
	byName := map[string]*ndb.Column{}
	keys := 0
	for _, c := range known {
		byName[c.Name] = c
		if c.PrimaryKey {
			keys++
		}
	}
	var wrong []string
	for i := range m.fields {
		f := &m.fields[i]
		c, ok := byName[f.column]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("column %s is missing", f.column))
			continue
		}
		if text := f.misfit(c); text != "" {
			wrong = append(wrong, fmt.Sprintf("column %s %s", f.column, text))
		}
		m.columns = append(m.columns, c)
	}
	if len(wrong) == 0 && keys != len(m.key) {
		wrong = append(wrong, fmt.Sprintf("the primary key has %d columns, that of %v has %d", keys, m.typ, len(m.key)))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// misfit tells what is wrong with a field's column, or nothing.
func (f *field) misfit(c *ndb.Column) string {
	switch {
	case !f.kind.fits(c):
		return fmt.Sprintf("has the type %s, which field %s cannot hold", describeType(c), f.name)
	case isText(c) && !c.EncodesText():
		return fmt.Sprintf("has text in collation %d: this road knows the character sets ascii, latin1, utf8mb3 and utf8mb4", c.Charset)
	case f.key && !c.PrimaryKey:
		return "is no part of the primary key"
	case !f.key && c.PrimaryKey:
		return fmt.Sprintf("is part of the primary key, field %s is not", f.name)
	case c.Nullable && !f.pointer && !f.kind.hasNull():
		return fmt.Sprintf("allows NULL, which field %s cannot hold", f.name)
	}
	return ""
}

func isText(c *ndb.Column) bool {
	return c.Type == "Char" || c.Type == "Varchar" || c.Type == "Longvarchar"
}

// collationBinary is the number of the collation of what is no text. ENUM and SET
// are stored as Char with it.
const collationBinary = 63

func describeType(c *ndb.Column) string {
	if c.Type == "Char" && c.Charset == collationBinary {
		return "Enum or Set"
	}
	return c.Type
}

// fits tells whether a column of the type can hold values of the kind.
func (k kind) fits(c *ndb.Column) bool {
	switch c.Type {
	case "Tinyint", "Smallint", "Mediumint", "Int", "Bigint",
		"Tinyunsigned", "Smallunsigned", "Mediumunsigned", "Unsigned", "Bigunsigned", "Year", "Bit":
		return k == kindInt || k == kindUint || k == kindBool || k == kindValuer
	case "Float", "Double":
		return k == kindFloat || k == kindValuer
	case "Char", "Varchar", "Longvarchar":
		return (k == kindText || k == kindValuer) && !(c.Type == "Char" && c.Charset == collationBinary)
	case "Binary", "Varbinary", "Longvarbinary":
		return k == kindBytes || k == kindValuer
	case "Date":
		return k == kindDate || k == kindText || k == kindValuer
	case "Datetime2", "Timestamp2":
		return k == kindTime || k == kindText || k == kindValuer
	case "Decimal", "Decimalunsigned", "Time2":
		return k == kindText || k == kindValuer
	default: // what the client cannot read
		return false
	}
}

// hasNull tells whether values of the kind can be NULL without a pointer.
func (k kind) hasNull() bool { return k == kindValuer || k == kindBytes }

// choose makes what operations need of the table.
func (m *mapping) choose() error {
	names := make([]string, len(m.fields))
	for i := range m.fields {
		names[i] = m.fields[i].column
	}
	var err error
	if m.read, err = m.table.Select(names...); err != nil {
		return err
	}
	for i, c := range m.read.Columns() {
		if c != m.columns[i] {
			return errChanging
		}
	}
	for _, index := range m.table.Indexes() {
		switch {
		case index.Unique:
		case m.primary == nil && m.isPrimary(index):
			m.primary = index
		default:
			m.ordered = append(m.ordered, index)
		}
	}
	return nil
}

func (m *mapping) isPrimary(index *ndb.Index) bool {
	for _, c := range index.Columns {
		if !c.PrimaryKey {
			return false
		}
	}
	return len(index.Columns) == len(m.key)
}
