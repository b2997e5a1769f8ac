package sqlnode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/dolthub/go-mysql-server/sql"
)

// Run executes the statements of a script, such as one that makes tables, in a
// session of its own: one after another until one fails. Nothing of their results
// comes back.
func (n *Node) Run(ctx context.Context, script string) error {
	statements, err := sqlparser.SplitStatementToPieces(script)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	s := &session{BaseSession: sql.NewBaseSession(), cluster: n.sessions.cluster}
	defer s.SessionEnd()
	for _, text := range statements {
		text = strings.TrimSpace(text)
		if _, _, err := sqlparser.ParseOne(ctx, text); errors.Is(err, sqlparser.ErrEmpty) {
			continue // a comment
		}
		if err := n.execute(ctx, s, text); err != nil {
			return fmt.Errorf("%w, in: %s", err, text)
		}
	}
	return nil
}

func (n *Node) execute(ctx context.Context, s *session, text string) error {
	if err := s.CommandBegin(); err != nil {
		return err
	}
	defer s.CommandEnd()
	sqlCtx := sql.NewContext(ctx, sql.WithSession(s), sql.WithQuery(text))
	_, rows, _, err := n.engine.Query(sqlCtx, text)
	if err != nil {
		return err
	}
	_, err = sql.RowIterToRows(sqlCtx, rows)
	return err
}
