package sqlnode

import (
	"strings"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// parameterCollation is the key of the collation that the texts of a prepared
// statement have, in the statement's context.
type parameterCollation struct{}

// checkTexts refuses a statement with a text that the column it meets cannot
// hold, before anything is done: a parameter wherever it meets the column, a
// literal where it is compared with it. mysqld fails to convert them then.
func checkTexts(ctx *sql.Context, n sql.Node) error {
	var err error
	check := func(column, e sql.Expression, isComparison bool) {
		if err == nil {
			err = checkMeeting(ctx, column, e, isComparison)
		}
	}
	transform.InspectExpressionsWithNode(n, func(_ sql.Node, e sql.Expression) bool {
		switch e := e.(type) {
		case *expression.SetField:
			check(e.LeftChild, e.RightChild, false)
		case expression.Comparer, *expression.InTuple, *expression.HashInTuple, *expression.Between, *expression.Like:
			children := e.Children()
			for i, column := range children {
				for j, other := range children {
					if i != j {
						check(column, other, true)
					}
				}
			}
		}
		return err == nil
	})
	if insert, ok := n.(*plan.InsertInto); ok && err == nil {
		eachValue(insert, func(column *sql.Column, e sql.Expression) {
			check(expression.NewGetField(0, column.Type, column.Name, true), e, false)
		})
	}
	return err
}

// eachValue calls f for each of the VALUES of an insert.
func eachValue(insert *plan.InsertInto, f func(column *sql.Column, e sql.Expression)) {
	schema := insert.Destination.Schema()
	transform.Inspect(insert.Source, func(n sql.Node) bool {
		values, ok := n.(*plan.Values)
		if !ok {
			return true
		}
		for _, tuple := range values.ExpressionTuples {
			for i, e := range tuple {
				column := i
				if i < len(insert.ColumnNames) {
					column = schema.IndexOfColName(insert.ColumnNames[i])
				}
				if column >= 0 && column < len(schema) {
					f(schema[column], e)
				}
			}
		}
		return false
	})
}

// checkMeeting checks a literal, or those of a list, that a column meets.
func checkMeeting(ctx *sql.Context, column, e sql.Expression, isComparison bool) error {
	field, ok := column.(*expression.GetField)
	if !ok {
		return nil
	}
	t, ok := field.Type().(sql.StringType)
	if !ok {
		return nil
	}
	switch e := e.(type) {
	case expression.Tuple:
		for _, item := range e {
			if err := checkMeeting(ctx, column, item, isComparison); err != nil {
				return err
			}
		}
	case *expression.Wrapper:
		return checkMeeting(ctx, column, e.Unwrap(), isComparison)
	case *expression.Literal:
		text, ok := e.Value().(string)
		if !ok || hasAll(t.CharacterSet(), text) {
			return nil
		}
		if from, prepared := ctx.Value(parameterCollation{}).(sql.CollationID); prepared {
			return mysqlError(erImpossibleConversion, "Conversion from collation %s into %s impossible for parameter",
				from.Name(), t.Collation().Name())
		}
		if isComparison {
			return mysqlError(erCannotConvert, "Cannot convert string '%s' from utf8mb4 to %s", printable(text), t.CharacterSet().Name())
		}
	}
	return nil
}

// hasAll is whether a character set has all characters of a text.
func hasAll(charset sql.CharacterSetID, s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !hasRune(charset, r) })
}

// hasRune is whether a character set has a character.
func hasRune(charset sql.CharacterSetID, r rune) bool {
	if r < utf8.RuneSelf {
		return true // of all that the engine knows
	}
	switch charset {
	case sql.CharacterSet_utf8mb4, sql.CharacterSet_binary:
		return true
	case sql.CharacterSet_utf8mb3:
		return utf8.RuneLen(r) < utf8.UTFMax
	}
	_, ok := charset.Encoder().EncodeRune([]byte(string(r)))
	return ok
}
