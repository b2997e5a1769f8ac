package sqlnode

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dolthub/vitess/go/sqltypes"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// rewrite changes a plan, in the last moment before it is executed, where the
// engine would do something else than MySQL.
func rewrite(ctx *sql.Context, n sql.Node) (sql.Node, error) {
	n, _, err := transform.NodeExprs(n, func(e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		switch e := e.(type) {
		case *expression.SetField:
			return checkedSet(e)
		case *expression.HashInTuple:
			// It compares by hashes that were made of the unpadded texts.
			in, same, err := paddedComparison(ctx, expression.NewInTuple(e.Left(), e.Right()))
			if same {
				return e, same, err
			}
			return in, same, err
		case expression.Comparer, *expression.Between:
			return paddedComparison(ctx, e)
		default:
			return e, transform.SameTree, nil
		}
	})
	if err != nil {
		return nil, err
	}
	if n, err = padOrder(ctx, n); err != nil {
		return nil, err
	}
	if insert, ok := n.(*plan.InsertInto); ok {
		roomy := *insert
		roomy.Destination = plan.NewInsertDestination(roomySchema(insert.Destination.Schema()), insert.Destination)
		return &roomy, nil
	}
	update, ok := n.(*plan.Update)
	if !ok {
		return n, nil
	}
	updated, err := plan.GetUpdatable(update.Child)
	if err != nil {
		return nil, err
	}
	switch t := updated.(type) {
	case *table:
		return update.WithChildren(&exactSource{Node: update.Child, table: t})
	case *indexedTable:
		return update.WithChildren(&exactSource{Node: update.Child, table: t.table})
	}
	return n, nil
}

// checkedSet makes an assignment, of an UPDATE or an ON DUPLICATE KEY UPDATE,
// refuse what does not fit its column: the engine would store the nearest
// value that does.
func checkedSet(set *expression.SetField) (sql.Expression, transform.TreeIdentity, error) {
	field, ok := set.LeftChild.(*expression.GetField)
	if !ok {
		return set, transform.SameTree, nil
	}
	column := &sql.Column{Name: field.Name(), Type: field.Type(), Nullable: field.IsNullable()}
	value := &checkedValue{Expression: set.RightChild, column: column}
	roomy := expression.NewGetField(field.Index(), roomyType(field.Type()), field.Name(), field.IsNullable())
	return expression.NewSetField(roomy, value), transform.NewTree, nil
}

// roomyType is a type with the same values, and room for what the engine takes
// for their length where a character of the set is one byte: that of their UTF-8.
// What is really too long is found elsewhere.
func roomyType(t sql.Type) sql.Type {
	text, ok := t.(sql.StringType)
	if !ok || types.IsBinaryType(text) || text.CharacterSet().MaxLength() > 1 {
		return t
	}
	return types.MustCreateString(sqltypes.VarChar, utf8.UTFMax*text.Length(), text.Collation())
}

func roomySchema(schema sql.Schema) sql.Schema {
	roomy := schema.Copy()
	for _, c := range roomy {
		c.Type = roomyType(c.Type)
	}
	return roomy
}

// checkedValue is an expression whose value is about to be put in a column.
type checkedValue struct {
	sql.Expression
	column *sql.Column
}

func (v *checkedValue) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	value, err := v.Expression.Eval(ctx, row)
	if err != nil {
		return nil, err
	}
	value = fitted(ctx, v.column, value)
	return value, checkValue(ctx, v.column, value, sessionOf(ctx).statement.row())
}

// paddedComparison makes a comparison of texts disregard the spaces at their
// ends, where the collation wants it.
func paddedComparison(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
	children := e.Children()
	collation, coercibility := sql.Collation_binary, byte(ignorable)
	for _, c := range children {
		if !isText(c) {
			return e, transform.SameTree, nil
		}
		other, weight := sql.GetCoercibility(ctx, c)
		if weight < coercibility {
			collation, coercibility = other, weight
		}
	}
	if collation.PadAttribute() != padSpace {
		return e, transform.SameTree, nil
	}
	padded := make([]sql.Expression, len(children))
	for i, c := range children {
		padded[i] = pad(c, collation)
	}
	e, err := e.WithChildren(padded...)
	return e, transform.NewTree, err
}

// ignorable is the coercibility of what has no say in the collation of a
// comparison, and padSpace the attribute of collations to which spaces at the
// end are nothing.
const (
	ignorable = 7
	padSpace  = "PAD SPACE"
)

// isText is whether an expression, or each one of a list, is a text or NULL.
func isText(e sql.Expression) bool {
	if list, ok := e.(expression.Tuple); ok {
		return !slices.ContainsFunc(list, func(item sql.Expression) bool { return !isText(item) })
	}
	t := e.Type()
	return t == types.Null || types.IsText(t) && !types.IsBinaryType(t)
}

func pad(e sql.Expression, collation sql.CollationID) sql.Expression {
	list, ok := e.(expression.Tuple)
	if !ok {
		return &paddedText{e, collation}
	}
	padded := make(expression.Tuple, len(list))
	for i, item := range list {
		padded[i] = pad(item, collation)
	}
	return padded
}

// padOrder makes sorting disregard the spaces at the ends of texts, where their
// collation wants it.
func padOrder(ctx *sql.Context, n sql.Node) (sql.Node, error) {
	n, _, err := transform.Node(n, func(n sql.Node) (sql.Node, transform.TreeIdentity, error) {
		sort, ok := n.(sql.Expressioner)
		switch n.(type) {
		case *plan.Sort, *plan.TopN:
		default:
			ok = false
		}
		if !ok {
			return n, transform.SameTree, nil
		}
		columns := sort.Expressions()
		for i, c := range columns {
			collation, _ := sql.GetCoercibility(ctx, c)
			if isText(c) && c.Type() != types.Null && collation.PadAttribute() == padSpace {
				columns[i] = pad(c, collation)
			}
		}
		n, err := sort.WithExpressions(columns...)
		return n, transform.NewTree, err
	})
	return n, err
}

// padding is what stands for all the spaces that a text ends with in theory. One
// would do, if there were no characters that come before a space.
var padding = strings.Repeat(" ", 128)

// paddedText is the value of an expression with its padding.
type paddedText struct {
	sql.Expression
	collation sql.CollationID
}

func (p *paddedText) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	value, err := p.Expression.Eval(ctx, row)
	if s, ok := value.(string); ok && err == nil {
		return padText(s, p.collation), nil
	}
	return value, err
}

// CollationCoercibility is that of the expression: the padding has no say in
// how a comparison is made.
func (p *paddedText) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	return sql.GetCoercibility(ctx, p.Expression)
}

// padText takes what weighs as much as a space for one.
func padText(s string, collation sql.CollationID) string {
	weight := collation.Sorter()
	space := weight(' ')
	return strings.TrimRightFunc(s, func(r rune) bool { return weight(r) == space }) + padding
}

// exactSource is the source of rows of an UPDATE. To the engine it is also the
// table to update, with a schema under which only rows that are the same byte
// for byte are equal: the engine does not update a row to an equal one, and to
// the collation of the columns a letter in another case is no difference.
type exactSource struct {
	sql.Node
	table *table
}

var (
	_ sql.UpdatableTable = (*exactSource)(nil)
	_ sql.ExecSourceRel  = (*exactSource)(nil)
)

func (s *exactSource) Name() string                               { return s.table.Name() }
func (s *exactSource) Collation() sql.CollationID                 { return s.table.Collation() }
func (s *exactSource) Schema() sql.Schema                         { return s.table.exact }
func (s *exactSource) Updater(ctx *sql.Context) sql.RowUpdater    { return s.table.Updater(ctx) }
func (s *exactSource) Children() []sql.Node                       { return nil }
func (s *exactSource) WithChildren(...sql.Node) (sql.Node, error) { return s, nil }

func (s *exactSource) Partitions(ctx *sql.Context) (sql.PartitionIter, error) {
	return s.table.Partitions(ctx)
}

func (s *exactSource) PartitionRows(ctx *sql.Context, p sql.Partition) (sql.RowIter, error) {
	return s.table.PartitionRows(ctx, p)
}

func (s *exactSource) RowIter(ctx *sql.Context, row sql.Row) (sql.RowIter, error) {
	return builder.Build(ctx, s.Node, row)
}

// exactSchema is a schema with the same columns, whose texts compare byte for
// byte.
func exactSchema(schema sql.Schema) sql.Schema {
	exact := schema.Copy()
	for _, c := range exact {
		if t, ok := c.Type.(sql.StringType); ok && !types.IsBinaryType(t) {
			c.Type = types.MustCreateString(sqltypes.VarChar, t.Length(), sql.Collation_utf8mb4_0900_bin)
		}
	}
	return exact
}
