package sqlstore

import (
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// hasIDIn is true of the rows of the items. The IDs stand in the statement itself:
// as placeholders they would have it prepared, a round trip more.
func hasIDIn(b *batch, items []int) clause.Expression {
	return clause.Expr{SQL: "? IN (" + idList(b, items) + ")", Vars: []any{idColumn}}
}

func idList(b *batch, items []int) string {
	text := make([]byte, 0, 20*len(items))
	for k, i := range items {
		if k > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, b.id(i), 10)
	}
	return string(text)
}

// rowsOf reads the rows of the items, as far as they are there.
func rowsOf(db *gorm.DB, b *batch, items []int) (map[int64]models.Employee, error) {
	var rows []models.Employee
	if err := db.Where(hasIDIn(b, items)).Find(&rows).Error; err != nil {
		return nil, err
	}
	byID := make(map[int64]models.Employee, len(rows))
	for i := range rows {
		normalise(&rows[i])
		byID[rows[i].ID] = rows[i]
	}
	return byID, nil
}

// verdicts judges each item by whether its row is there.
func (b *batch) verdicts(tx *gorm.DB, items []int, judge func(exists bool) error) ([]error, error) {
	rows, err := rowsOf(tx, b, items)
	if err != nil {
		return nil, err
	}
	verdicts := make([]error, len(items))
	for k, i := range items {
		_, exists := rows[b.id(i)]
		verdicts[k] = judge(exists)
	}
	return verdicts, nil
}

// absent blames the items whose rows are not there.
func (b *batch) absent(tx *gorm.DB, items []int) ([]error, error) {
	return b.verdicts(tx, items, func(exists bool) error {
		if exists {
			return nil
		}
		return store.ErrNotFound
	})
}

// statement is one UPDATE of the rows of the items:
//
//	UPDATE t SET city = CASE id WHEN 1 THEN ? WHEN 3 THEN ? ELSE city END, … WHERE id IN (1,2,3)
//
// A column that all items set to the same value takes it without a CASE, which
// spares NDB reading the rows.
func (p *patching) statement(tx *gorm.DB, items []int) (query string, args []any) {
	id := tx.Statement.Quote(p.store.columns.primaryKey)
	var b strings.Builder
	b.WriteString("UPDATE " + tx.Statement.Quote(tx.Statement.Table) + " SET ")
	first := true
	for _, property := range allProperties {
		setters := slices.DeleteFunc(slices.Clone(items), func(i int) bool {
			return !slices.Contains(p.store.columnsSet(&p.updates[i].Patch), property)
		})
		if len(setters) == 0 {
			continue
		}
		if !first {
			b.WriteString(",")
		}
		first = false
		column := tx.Statement.Quote(p.store.columns.of(property))
		b.WriteString(column + "=")
		if len(setters) == len(items) && p.setTheSame(property, items) {
			b.WriteString("?")
			args = append(args, property.Value(&p.updates[items[0]].Patch.Values))
			continue
		}
		b.WriteString("CASE " + id)
		for _, i := range setters {
			b.WriteString(" WHEN " + strconv.FormatInt(p.updates[i].ID, 10) + " THEN ?")
			args = append(args, property.Value(&p.updates[i].Patch.Values))
		}
		b.WriteString(" ELSE " + column + " END")
	}
	b.WriteString(" WHERE " + id + " IN (" + idList(p.batch, items) + ")")
	return b.String(), args
}

func (p *patching) setTheSame(property models.Property, items []int) bool {
	value := property.Value(&p.updates[items[0]].Patch.Values)
	return !slices.ContainsFunc(items, func(i int) bool { return property.Value(&p.updates[i].Patch.Values) != value })
}
