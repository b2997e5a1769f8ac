package sqlnode

import (
	"context"
	"fmt"
	"strings"

	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
)

// handler serves the commands of a connection.
type handler struct {
	*server.Handler
}

func newHandler(h mysql.Handler) (mysql.Handler, error) {
	engine, ok := h.(*server.Handler)
	if !ok {
		return nil, fmt.Errorf("unexpected handler %T", h)
	}
	return &handler{engine}, nil
}

// ComPrepare prepares a statement. The engine counts no parameters of an EXPLAIN,
// and knows no other form of it than that of a tree.
func (h *handler) ComPrepare(ctx context.Context, c *mysql.Conn, query string, prepare *mysql.PrepareData) ([]*querypb.Field, error) {
	const explain = "EXPLAIN FORMAT="
	explained, ok := strings.CutPrefix(query, explain+"TRADITIONAL ")
	parsed, err := sqlparser.Parse(explained)
	if _, isSelect := parsed.(*sqlparser.Select); !ok || err != nil || !isSelect {
		return h.Handler.ComPrepare(ctx, c, query, prepare)
	}
	parameters := 0
	err = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if v, ok := n.(*sqlparser.SQLVal); ok && v.Type == sqlparser.ValArg {
			parameters++
		}
		return true, nil
	}, parsed)
	if err != nil {
		return nil, err
	}
	prepare.PrepareStmt = explain + "TREE " + explained
	prepare.ParamsCount = uint16(parameters)
	prepare.ParamsType = make([]int32, parameters)
	prepare.BindVars = make(map[string]*querypb.BindVariable, parameters)
	return []*querypb.Field{{Name: "plan", Type: sqltypes.VarChar, Charset: mysql.CharacterSetUtf8}}, nil
}

// ComStmtExecute executes a prepared statement, and lets those who check its
// texts know that it is one.
func (h *handler) ComStmtExecute(
	ctx context.Context, c *mysql.Conn, prepare *mysql.PrepareData, callback func(*sqltypes.Result) error,
) error {
	ctx = context.WithValue(ctx, parameterCollation{}, sql.CollationID(c.CharacterSet))
	return h.Handler.ComStmtExecute(ctx, c, prepare, callback)
}
