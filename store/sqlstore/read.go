package sqlstore

import (
	"context"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
)

// Get implements store.Employees.
func (s *Store) Get(ctx context.Context, id int64) (models.Employee, error) {
	return s.get(ctx, call{op: "get", id: id})
}

func (s *Store) get(ctx context.Context, c call) (models.Employee, error) {
	var e models.Employee
	err := s.do(ctx, c, func(db *gorm.DB) (err error) {
		e, err = takeRow(db, c.id)
		return err
	})
	return e, err
}

// List implements store.Employees.
func (s *Store) List(ctx context.Context, q models.EmployeeQuery) ([]models.Employee, error) {
	if !s.canMatch(q.Matches) {
		return []models.Employee{}, ctx.Err()
	}
	var found []models.Employee
	err := s.do(ctx, call{op: "list"}, func(db *gorm.DB) error {
		found = []models.Employee{}
		err := db.Where(s.conditions(q)).Order(byID).Limit(q.Limit).Find(&found).Error
		if errorNumber(err) == errCharset {
			// No row can hold text that the column's character set lacks.
			found, err = []models.Employee{}, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		normalise(&found[i])
	}
	return found, nil
}

// canMatch is false of text that equals nothing, though the server may find rows
// for it. Bytes that are no UTF-8 it would cut off. Text that is longer than its
// column it compares as well, and some collations pass over some characters.
func (s *Store) canMatch(matches []models.Match) bool {
	for _, m := range matches {
		text, _ := m.Value.(string)
		if !utf8.ValidString(text) || utf8.RuneCountInString(strings.TrimRight(text, " ")) > s.columns.size(m.Property) {
			return false
		}
	}
	return true
}

var byID = clause.OrderByColumn{Column: idColumn}

func (s *Store) conditions(q models.EmployeeQuery) clause.Expression {
	conditions := []clause.Expression{clause.Gt{Column: idColumn, Value: q.AfterID}}
	for _, m := range q.Matches {
		column := clause.Column{Table: clause.CurrentTable, Name: s.columns.of(m.Property)}
		conditions = append(conditions, clause.Eq{Column: column, Value: m.Value})
	}
	return clause.And(conditions...)
}

// idColumn stands for the model's primary key in GORM's clauses.
var idColumn = clause.Column{Table: clause.CurrentTable, Name: clause.PrimaryKey}

func hasID(id int64) clause.Expression { return clause.Eq{Column: idColumn, Value: id} }

// takeRow reads a row, or returns gorm.ErrRecordNotFound.
func takeRow(db *gorm.DB, id int64) (models.Employee, error) {
	var e models.Employee
	if err := db.Where(hasID(id)).Take(&e).Error; err != nil {
		return models.Employee{}, err
	}
	normalise(&e)
	return e, nil
}

// normalise makes NULL of what is no date of the calendar, such as 0000-00-00.
func normalise(e *models.Employee) {
	if e.Started != nil && e.Started.IsZero() {
		e.Started = nil
	}
	if e.Ended != nil && e.Ended.IsZero() {
		e.Ended = nil
	}
}

// readAnyRow proves that the table and all its columns can be read.
func readAnyRow(db *gorm.DB) error {
	var rows []models.Employee
	return db.Limit(1).Find(&rows).Error
}
