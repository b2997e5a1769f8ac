package sqlnode

import (
	"context"
	"fmt"

	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"

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

// ComStmtExecute executes a prepared statement, and lets those who check its
// texts know that it is one.
func (h *handler) ComStmtExecute(
	ctx context.Context, c *mysql.Conn, prepare *mysql.PrepareData, callback func(*sqltypes.Result) error,
) error {
	ctx = context.WithValue(ctx, parameterCollation{}, sql.CollationID(c.CharacterSet))
	return h.Handler.ComStmtExecute(ctx, c, prepare, callback)
}
