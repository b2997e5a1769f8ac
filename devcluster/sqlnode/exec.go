package sqlnode

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/rowexec"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// builder is the engine's own way of executing a plan.
var builder sql.NodeExecBuilder = rowexec.DefaultBuilder

// executor executes plans as MySQL would: rows are locked where a statement
// asks for it, values are checked as strictly as mysqld does, and errors are
// MySQL's.
type executor struct {
	databases *databases
}

func (x executor) Build(ctx *sql.Context, n sql.Node, row sql.Row) (sql.RowIter, error) {
	if create, ok := n.(*plan.CreateTable); ok {
		return x.databases.createTable(ctx, create)
	}
	st := &sessionOf(ctx).statement
	*st = statementOf(ctx, n)
	if err := checkTexts(ctx, n); err != nil {
		return nil, err
	}
	n, err := rewrite(ctx, n)
	if err != nil {
		return nil, err
	}
	iter, err := builder.Build(ctx, n, row)
	if err != nil {
		return nil, statementError(ctx, err)
	}
	if _, ok := n.(*plan.DescribeQuery); ok {
		return inOneRow(ctx, iter)
	}
	if !st.forUpdate && !st.insert {
		return iter, nil
	}
	return &changeIter{RowIter: iter}, nil
}

// inOneRow returns the rows of a plan, each a line, as one text: where the query
// that is explained gives at most one row, the engine takes no more of the plan.
func inOneRow(ctx *sql.Context, iter sql.RowIter) (sql.RowIter, error) {
	rows, err := sql.RowIterToRows(ctx, iter)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = fmt.Sprint(row[0])
	}
	return sql.RowsToRowIter(sql.NewRow(strings.Join(lines, "\n"))), nil
}

// statement is what has to be known about the statement being executed.
type statement struct {
	forUpdate bool // the rows it reads are to be locked
	insert    bool
	replace   bool // it is a REPLACE
	upsert    bool // it has ON DUPLICATE KEY UPDATE
	batch     bool // it inserts several rows within a transaction

	table       string     // that an insert or update changes
	destination sql.Schema // of an insert: all columns of the table

	// The rows so far.
	inserted, deleted  int
	changed, unchanged int // by an update
}

// row is the number of the row that the statement is at.
func (s *statement) row() int { return s.inserted + s.changed + s.unchanged + 1 }

func statementOf(ctx *sql.Context, n sql.Node) statement {
	st := statement{forUpdate: locksRows(ctx, ctx.Query())}
	transform.Inspect(n, func(n sql.Node) bool {
		switch n := n.(type) {
		case *plan.Update:
			st.forUpdate = true
			if t, err := plan.GetUpdatable(n.Child); err == nil {
				st.table = t.Name()
			}
		case *plan.UpdateJoin, *plan.DeleteFrom:
			st.forUpdate = true
		case *plan.InsertInto:
			st.insert = true
			st.replace = n.IsReplace
			st.upsert = len(n.OnDupExprs) > 0
			st.batch = ctx.GetIgnoreAutoCommit() && insertsSeveral(n)
			st.destination = n.Destination.Schema()
			if t, err := plan.GetInsertable(n.Destination); err == nil {
				st.table = t.Name()
			}
		}
		return true
	})
	return st
}

func insertsSeveral(insert *plan.InsertInto) bool {
	several := false
	transform.Inspect(insert.Source, func(n sql.Node) bool {
		if v, ok := n.(*plan.Values); ok && len(v.ExpressionTuples) > 1 {
			several = true
		}
		return true
	})
	return several
}

// locksRows is whether the query is a SELECT … FOR UPDATE. LOCK IN SHARE MODE
// locks in the same way: there are no shared locks. Of a prepared statement
// called by its name the query does not tell, so it locks.
func locksRows(ctx context.Context, query string) bool {
	q := strings.ToLower(query)
	if !strings.Contains(q, "for update") && !strings.Contains(q, "share") && !strings.Contains(q, "execute") {
		return false
	}
	parsed, _, err := sqlparser.ParseOne(ctx, query)
	if err != nil {
		return false
	}
	switch s := parsed.(type) {
	case *sqlparser.Select:
		return s.Lock != ""
	case *sqlparser.SetOp:
		return s.Lock != ""
	case *sqlparser.Execute:
		return true
	default:
		return false
	}
}

// changeIter executes a statement that changes or locks rows, and gives its
// errors and its count of rows in MySQL's way.
type changeIter struct {
	sql.RowIter
}

var _ sql.MutableRowIter = (*changeIter)(nil)

func (i *changeIter) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := i.RowIter.Next(ctx)
	if err == io.EOF {
		return nil, err
	}
	if err != nil {
		return nil, statementError(ctx, err)
	}
	if types.IsOkResult(row) {
		return sql.NewRow(counted(ctx, types.GetOkResult(row))), nil
	}
	return row, nil
}

// counted returns the result of a statement with as many rows affected as NDB
// says. The engine does not see a change of a letter's case, and takes the
// REPLACE of a row for two changes.
func counted(ctx *sql.Context, ok types.OkResult) types.OkResult {
	st := &sessionOf(ctx).statement
	switch {
	case st.replace:
		ok.RowsAffected = uint64(st.inserted)
	case st.upsert:
		ok.RowsAffected = uint64(st.inserted + 2*st.changed)
		if ctx.Client().Capabilities&mysql.CapabilityClientFoundRows != 0 {
			ok.RowsAffected += uint64(st.unchanged)
		}
	}
	return ok
}

// GetChildIter implements sql.MutableRowIter: the engine puts its counting of
// rows between.
func (i *changeIter) GetChildIter() sql.RowIter { return i.RowIter }

func (i *changeIter) WithChildIter(child sql.RowIter) sql.RowIter {
	return &changeIter{RowIter: child}
}
