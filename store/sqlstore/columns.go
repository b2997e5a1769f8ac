package sqlstore

import (
	"fmt"
	"slices"
	"sync"

	"gorm.io/gorm/schema"

	"github.com/ndbgate/ndbgate/models"
)

// allProperties is what a create or a replace writes.
var allProperties = models.EmployeeProperties()

// columns maps properties to columns and back, as the model's gorm tags say.
type columns struct {
	table      string
	primaryKey string
	byField    map[string]string // Go field name → column
	sizes      map[string]int    // Go field name → most characters, of text
	byColumn   map[string]models.Property
	expires    string // of the table of answers
}

func readColumns() (columns, error) {
	s, err := schema.Parse(&models.Employee{}, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		return columns{}, fmt.Errorf("read the model's columns: %w", err)
	}
	if s.PrioritizedPrimaryField == nil {
		return columns{}, fmt.Errorf("model %s has no single primary key", s.Name)
	}
	c := columns{
		table:      s.Table,
		primaryKey: s.PrioritizedPrimaryField.DBName,
		byField:    map[string]string{},
		sizes:      map[string]int{},
		byColumn:   map[string]models.Property{},
	}
	answers, err := schema.Parse(&models.KeptAnswer{}, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		return columns{}, fmt.Errorf("read the columns of answers: %w", err)
	}
	c.expires = answers.LookUpField("Expires").DBName
	for _, p := range models.EmployeeProperties() {
		field := s.LookUpField(p.Field)
		if field == nil || field.DBName == "" {
			return columns{}, fmt.Errorf("property %s has no column", p.Name)
		}
		c.byField[p.Field] = field.DBName
		c.sizes[p.Field] = field.Size
		c.byColumn[field.DBName] = p
	}
	return c, nil
}

func (c *columns) of(p models.Property) string { return c.byField[p.Field] }

// readFor lists the columns that a query reads: those of the fields that are
// wanted and of the order, which ends with the primary key.
func (c *columns) readFor(q *models.EmployeeQuery, order []models.Order) []string {
	fields := q.Fields
	if fields == nil {
		fields = allProperties
	}
	var names []string
	for _, p := range fields {
		names = append(names, c.of(p))
	}
	for _, o := range order {
		if name := c.of(o.Property); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// size is how many characters the column of a property of text has room for.
func (c *columns) size(p models.Property) int { return c.sizes[p.Field] }

// assignments are the columns and values that write the properties of e. The
// primary key never changes.
func (c *columns) assignments(e *models.Employee, set []models.Property) map[string]any {
	values := make(map[string]any, len(set))
	for _, p := range set {
		if column := c.of(p); column != c.primaryKey {
			values[column] = p.Value(e)
		}
	}
	return values
}
