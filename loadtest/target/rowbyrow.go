package target

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/models"
)

// RowByRow is a table that is written as JDBC's addBatch does by itself: a
// prepared INSERT for each row, each a round trip, in one transaction.
type RowByRow struct {
	DB      *sql.DB
	Table   string
	Timeout time.Duration // of one batch
}

// Open returns a session with a connection of its own.
func (t *RowByRow) Open(ctx context.Context) (BatchSession, error) {
	conn, err := t.DB.Conn(ctx)
	if err != nil {
		return nil, &Error{Connection, err}
	}
	insert, err := conn.PrepareContext(ctx, "INSERT INTO "+t.Table+" (id, first, last) VALUES (?, ?, ?)")
	if err != nil {
		return nil, &Error{Other, fmt.Errorf("%w (%w)", err, conn.Close())}
	}
	return &rowByRowSession{conn: conn, insert: insert, table: t.Table, timeout: t.Timeout}, nil
}

// BatchSession is what batches need of a session.
type BatchSession interface {
	Batches
	Ranges
	Close()
}

type rowByRowSession struct {
	conn    *sql.Conn
	insert  *sql.Stmt
	table   string
	timeout time.Duration
}

func (s *rowByRowSession) InsertAll(ctx context.Context, rows []models.Employee) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return &Error{Connection, err}
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing left to do
	insert := tx.StmtContext(ctx, s.insert)
	for i := range rows {
		if _, err := insert.ExecContext(ctx, rows[i].ID, rows[i].First, rows[i].Last); err != nil {
			return &Error{Other, err}
		}
	}
	if err := tx.Commit(); err != nil {
		return &Error{UnknownOutcome, err}
	}
	return nil
}

func (s *rowByRowSession) DeleteAny(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	_, err := s.conn.ExecContext(ctx, "DELETE FROM "+s.table+" WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", args...)
	if err != nil {
		return &Error{Other, err}
	}
	return nil
}

// Rows implements Ranges.
func (s *rowByRowSession) Rows(ctx context.Context, first, last int64, limit int) (rows []models.Employee, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	found, err := s.conn.QueryContext(ctx, "SELECT id, first, last FROM "+s.table+" WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", first, last, limit)
	if err != nil {
		return nil, &Error{Other, err}
	}
	defer found.Close()
	for found.Next() {
		var e models.Employee
		if err := found.Scan(&e.ID, &e.First, &e.Last); err != nil {
			return nil, &Error{Other, err}
		}
		rows = append(rows, e)
	}
	if err := found.Err(); err != nil {
		return nil, &Error{Other, err}
	}
	return rows, nil
}

func (s *rowByRowSession) Close() {
	_ = s.insert.Close() // the connection ends with it, in the worst case
	_ = s.conn.Close()
}
