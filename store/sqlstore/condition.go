package sqlstore

import (
	"fmt"
	"strings"

	"gorm.io/gorm/clause"

	"github.com/ndbgate/ndbgate/models"
)

// clause is a property's column in GORM's clauses.
func (c *columns) clause(p models.Property) clause.Column {
	return clause.Column{Table: clause.CurrentTable, Name: c.of(p)}
}

// condition is a filter in its normal form, as GORM builds it into a statement.
type condition struct {
	columns    *columns
	filter     models.Filter
	plainNulls bool // IS NULL means what it says; see isNull
}

var _ clause.Expression = condition{}

// Build implements clause.Expression.
func (c condition) Build(b clause.Builder) { c.build(b, &c.filter) }

// operators stand between a column and a value.
var operators = map[models.FilterOp]string{
	models.OpEqual: " = ", models.OpNotEqual: " <> ",
	models.OpLess: " < ", models.OpLessOrEqual: " <= ", models.OpGreater: " > ", models.OpGreaterOrEqual: " >= ",
	models.OpLike: " LIKE ", models.OpNotLike: " NOT LIKE ",
}

var negatedPatterns = map[models.FilterOp]models.FilterOp{models.OpLike: models.OpNotLike, models.OpNotLike: models.OpLike}

func (c condition) build(b clause.Builder, f *models.Filter) {
	switch f.Op {
	case models.OpAnd:
		c.group(b, f, " AND ", "1 = 1")
	case models.OpOr:
		c.group(b, f, " OR ", "1 = 0")
	case models.OpNull:
		b.WriteQuoted(c.columns.clause(f.Property))
		write(b, c.isNull(f.Property))
	case models.OpNotNull:
		b.WriteQuoted(c.columns.clause(f.Property))
		write(b, " IS NOT NULL")
	default:
		op, value := f.Op, f.Value
		if negated, isPattern := negatedPatterns[op]; isPattern && value == "" {
			// The server hands the pattern without characters down to the data
			// nodes, which read it as NULL. What it matches is what no pattern with a
			// character does.
			op, value = negated, "_%"
		}
		if pattern, ok := value.(string); ok && (op == models.OpLike || op == models.OpNotLike) {
			value = wholePattern(pattern)
		}
		operator, ok := operators[op]
		if !ok {
			panic(fmt.Sprintf("sqlstore: no operator for %v", f))
		}
		b.WriteQuoted(c.columns.clause(f.Property))
		if d, ok := f.Value.(models.Date); ok && !d.InCalendar() {
			// Where others have stored it: the server takes no such date, but a number.
			write(b, " + 0"+operator)
			b.AddVar(b, d.Number())
			return
		}
		write(b, operator)
		b.AddVar(b, value)
	}
}

// wholePattern escapes a \ at the end: the last one stands for itself, but some
// servers refuse it alone.
func wholePattern(pattern string) string {
	if n := len(pattern) - len(strings.TrimRight(pattern, `\`)); n%2 == 1 {
		return pattern + `\`
	}
	return pattern
}

// isNull is the test for NULL. Of dates that are NOT NULL the server takes IS
// NULL for a question for 0000-00-00. The other way to ask it does not hand down
// to the data nodes, so it is for tables of which not all is known.
func (c condition) isNull(p models.Property) string {
	if isDate(p) && !c.plainNulls {
		return " <=> NULL"
	}
	return " IS NULL"
}

func isDate(p models.Property) bool {
	_, ok := p.Pointer(new(models.Employee)).(**models.Date)
	return ok
}

func (c condition) group(b clause.Builder, f *models.Filter, between, none string) {
	if len(f.Members) == 0 {
		write(b, none)
		return
	}
	write(b, "(")
	for i := range f.Members {
		if i > 0 {
			write(b, between)
		}
		c.build(b, &f.Members[i])
	}
	write(b, ")")
}

// write writes to a builder of GORM, which keeps all in memory and never fails.
func write(b clause.Builder, text string) { _, _ = b.WriteString(text) }
