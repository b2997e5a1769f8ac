package sqlnode

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

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

// ComStmtExecute executes a prepared statement. Before it starts, mysqld
// converts each text parameter into the character set of the column it is for.
// This one does it for all of them, because a text is hardly for anything but
// one of the three text columns.
func (h *handler) ComStmtExecute(
	ctx context.Context, c *mysql.Conn, prepare *mysql.PrepareData, callback func(*sqltypes.Result) error,
) error {
	for _, v := range prepare.BindVars {
		if sqltypes.IsQuoted(v.Type) && !storable(string(v.Value)) {
			return mysqlError(erImpossibleConversion, "Conversion from collation %s into %s impossible for parameter",
				sql.CollationID(c.CharacterSet).Name(), collation.Name())
		}
	}
	return h.Handler.ComStmtExecute(ctx, c, prepare, callback)
}

// storable is whether a text is of characters of at most three bytes, which is
// what the character set has room for.
func storable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return utf8.RuneLen(r) == utf8.UTFMax
	})
}
