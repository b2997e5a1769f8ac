package sqlstore

import (
	"context"

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
	if e.Started != nil && !e.Started.InCalendar() {
		e.Started = nil
	}
	if e.Ended != nil && !e.Ended.InCalendar() {
		e.Ended = nil
	}
}

// readAnyRow proves that the table and all its columns can be read.
func readAnyRow(db *gorm.DB) error {
	var rows []models.Employee
	return db.Limit(1).Find(&rows).Error
}
