package sqlstore

import (
	"context"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

var _ store.Queries = (*Store)(nil)

// List implements store.Employees: one SELECT of one row more than is wanted,
// which tells whether there are others behind.
func (s *Store) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	order := q.TotalOrder()
	selects := &selection{columns: &s.columns, wanted: q.Selected()}
	var found []models.Employee
	err := s.do(ctx, call{op: "list", prepare: selects.fit}, func(db *gorm.DB) error {
		found = []models.Employee{}
		if selects.fitted.SelectsNone() {
			return nil
		}
		return s.selectPage(db, &q, order, selects).Find(&found).Error
	})
	if err != nil {
		return models.EmployeePage{}, err
	}
	page := models.EmployeePage{Employees: found}
	if len(found) > q.Limit {
		page.Employees = found[:q.Limit]
		for _, o := range order { // before strange dates go: the place is where they are stored
			page.Next = append(page.Next, o.Property.Value(&found[q.Limit-1]))
		}
	}
	for i := range page.Employees {
		normalise(&page.Employees[i])
	}
	return page, nil
}

// selectPage adds all of a query to db.
func (s *Store) selectPage(db *gorm.DB, q *models.EmployeeQuery, order []models.Order, selects *selection) *gorm.DB {
	db = s.where(db, selects).Select(s.columns.readFor(q, order))
	for _, o := range order {
		db = db.Order(clause.OrderByColumn{Column: s.columns.clause(o.Property), Desc: o.Descending})
	}
	return db.Limit(q.Limit + 1)
}

func (s *Store) where(db *gorm.DB, selects *selection) *gorm.DB {
	if selects.fitted.SelectsAll() {
		return db
	}
	return db.Where(condition{&s.columns, selects.fitted, selects.plainNulls})
}

// Count implements store.Queries.
func (s *Store) Count(ctx context.Context, f models.Filter) (int64, error) {
	selects := &selection{columns: &s.columns, wanted: f.Normal()}
	var count int64
	err := s.do(ctx, call{op: "count", prepare: selects.fit}, func(db *gorm.DB) error {
		count = 0
		if selects.fitted.SelectsNone() {
			return nil
		}
		return s.where(db.Model(&models.Employee{}), selects).Count(&count).Error
	})
	return count, err
}

// selection is what a query selects, in the normal form.
type selection struct {
	columns *columns
	wanted  models.Filter
	fitted  models.Filter // by fit, for the node that is asked
	// plainNulls: IS NULL means what it says; see isNull.
	plainNulls bool
}

// fit replaces comparisons with text that its column cannot hold. With a
// character that the column's character set lacks the server would refuse the
// whole statement, of bytes that are no UTF-8 it would cut off what follows, and
// text that is longer than its column some collations compare as if it were not.
// Dates of NOT NULL columns are never null.
func (x *selection) fit(n *node, db *gorm.DB) error {
	var err error
	x.plainNulls = false
	x.fitted, err = x.wanted.Replaced(func(f models.Filter) (models.Filter, error) {
		if f.Op == models.OpNull && isDate(f.Property) {
			known, err := n.limitsOfColumns(db)
			l, ok := known[x.columns.of(f.Property)]
			if x.plainNulls = ok; ok && !l.nullable {
				return models.Or(), err
			}
			return f, err
		}
		text, _ := f.Value.(string)
		isEquality := f.Op == models.OpEqual || f.Op == models.OpNotEqual
		switch {
		case !utf8.ValidString(text):
			return columnrule.Outside(f)
		case isEquality && utf8.RuneCountInString(strings.TrimRight(text, " ")) > x.columns.size(f.Property):
			return columnrule.Outside(f)
		case !hasRuneAbove(text, utf8.RuneSelf-1):
			return f, nil // every character set has ASCII
		}
		known, err := n.limitsOfColumns(db)
		if err != nil {
			return f, err
		}
		if canStore, ok := repertoires[known[x.columns.of(f.Property)].charset]; ok && !holdsAll(canStore, text) {
			return columnrule.Outside(f)
		}
		return f, nil
	})
	return err
}
