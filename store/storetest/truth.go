package storetest

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ndbgate/ndbgate/models"
)

// truth is a value of SQL's logic.
type truth uint8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// holds is what a filter is for an employee, by the book: three values, and NOT
// where it stands. Text is of the alphabet of this suite; see folded.
func holds(f models.Filter, e *models.Employee) truth {
	switch f.Op {
	case models.OpAnd:
		all := yes
		for _, m := range f.Members {
			all = min(all, holds(m, e))
		}
		return all
	case models.OpOr:
		any := no
		for _, m := range f.Members {
			any = max(any, holds(m, e))
		}
		return any
	case models.OpNot:
		return yes - holds(f.Members[0], e)
	}
	value := f.Property.Value(e)
	switch {
	case f.Op == models.OpNull:
		return truthOf(value == nil)
	case f.Op == models.OpNotNull:
		return truthOf(value != nil)
	case value == nil:
		return unknown
	}
	switch f.Op {
	case models.OpLike:
		return truthOf(isLike(value.(string), f.Value.(string)))
	case models.OpNotLike:
		return truthOf(!isLike(value.(string), f.Value.(string)))
	}
	order := compareValues(value, f.Value)
	return truthOf(map[models.FilterOp]bool{
		models.OpEqual: order == 0, models.OpNotEqual: order != 0,
		models.OpLess: order < 0, models.OpLessOrEqual: order <= 0,
		models.OpGreater: order > 0, models.OpGreaterOrEqual: order >= 0,
	}[f.Op])
}

// folded is what text of this suite's alphabet is to utf8mb3_general_ci.
func folded(text string) string {
	return strings.ReplaceAll(strings.ToUpper(text), "É", "E")
}

// compareText goes on with spaces where a text has ended.
func compareText(a, b string) int {
	a, b = folded(a), folded(b)
	n := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	return cmp.Compare(fmt.Sprintf("%-*s", n, a), fmt.Sprintf("%-*s", n, b))
}

func compareValues(a, b any) int {
	switch a := a.(type) {
	case string:
		return compareText(a, b.(string))
	case models.Date:
		return a.Compare(b.(models.Date))
	case int64:
		return cmp.Compare(a, b.(int64))
	default:
		return cmp.Compare(a.(int32), b.(int32))
	}
}

// isLike matches as LIKE does: spaces at the end count.
func isLike(text, pattern string) bool {
	var expression strings.Builder
	escaped := false
	for _, c := range folded(pattern) {
		switch {
		case !escaped && c == '\\':
			escaped = true
			continue
		case !escaped && c == '%':
			expression.WriteString("(?s:.*)")
		case !escaped && c == '_':
			expression.WriteString("(?s:.)")
		default:
			expression.WriteString(regexp.QuoteMeta(string(c)))
		}
		escaped = false
	}
	if escaped { // the last one stands for itself
		expression.WriteString(`\\`)
	}
	return regexp.MustCompile("^" + expression.String() + "$").MatchString(folded(text))
}

// compareEmployees orders as a query does.
func compareEmployees(order []models.Order, a, b *models.Employee) int {
	for _, o := range order {
		x, y := o.Property.Value(a), o.Property.Value(b)
		c := 0
		switch {
		case x == nil && y == nil:
		case x == nil:
			c = -1
		case y == nil:
			c = 1
		default:
			c = compareValues(x, y)
		}
		if o.Descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
