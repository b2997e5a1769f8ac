package sqlnode

import (
	"slices"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/devcluster/rows"
)

func (t *table) Inserter(*sql.Context) sql.RowInserter { return &editor{table: t} }
func (t *table) Updater(*sql.Context) sql.RowUpdater   { return &editor{table: t} }
func (t *table) Deleter(*sql.Context) sql.RowDeleter   { return &editor{table: t} }
func (t *table) Replacer(*sql.Context) sql.RowReplacer { return &editor{table: t} }

// Truncate deletes all rows, in the transaction: the engine also comes here
// for a DELETE without WHERE.
func (t *table) Truncate(ctx *sql.Context) (int, error) {
	primary := t.indexes[0]
	scan := tx(ctx).Scan(rows.Primary, rows.Range{From: primary.first(), To: primary.end()}, false, true)
	for n := 0; ; n++ {
		row, err := scan.Next(ctx)
		if row == nil || err != nil {
			return n, rowsError(err)
		}
		if _, err := tx(ctx).Delete(ctx, idOf(sql.Row(row))); err != nil {
			return n, rowsError(err)
		}
	}
}

// editor makes the changes of one statement.
type editor struct {
	table *table
}

var _ sql.TableEditor = (*editor)(nil)

func (e *editor) StatementBegin(ctx *sql.Context) {
	// The engine answers an INSERT … ON DUPLICATE KEY UPDATE with the last id
	// of the session, whichever statement set it; MySQL with the one that this
	// statement sets.
	ctx.SetLastQueryInfoInt(sql.LastInsertId, 0)
}

// DiscardChanges rolls the whole transaction back, because NDB cannot take
// back a part of one. An INSERT IGNORE goes on after the row it leaves out,
// which has changed nothing.
func (e *editor) DiscardChanges(ctx *sql.Context, err error) error {
	if _, ok := err.(sql.IgnorableError); ok {
		return nil
	}
	tx(ctx).Rollback()
	return err
}

func (e *editor) StatementComplete(*sql.Context) error { return nil }

func (e *editor) Close(*sql.Context) error { return nil }

func (e *editor) Insert(ctx *sql.Context, row sql.Row) error {
	stored, err := e.checked(ctx, row)
	if err != nil {
		return err
	}
	if err := tx(ctx).Insert(ctx, idOf(row), stored); err != nil {
		return rowsError(err)
	}
	sessionOf(ctx).statement.inserted++
	return nil
}

func (e *editor) Update(ctx *sql.Context, old, row sql.Row) error {
	stored, err := e.checked(ctx, row)
	if err != nil {
		return err
	}
	if _, err := tx(ctx).Update(ctx, idOf(old), idOf(row), stored); err != nil {
		return rowsError(err)
	}
	st := &sessionOf(ctx).statement
	if slices.EqualFunc(old, row, sameValue) {
		st.unchanged++
	} else {
		st.changed++
	}
	return nil
}

func sameValue(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	return a == b
}

func (e *editor) Delete(ctx *sql.Context, row sql.Row) error {
	if _, err := tx(ctx).Delete(ctx, idOf(row)); err != nil {
		return rowsError(err)
	}
	sessionOf(ctx).statement.deleted++
	return nil
}

// checked returns the row as it is stored, or what a column has against it.
func (e *editor) checked(ctx *sql.Context, row sql.Row) (rows.Row, error) {
	stored := make(rows.Row, len(row))
	for i, c := range e.table.schema.Schema {
		if err := checkValue(ctx, c, row[i], sessionOf(ctx).statement.row()); err != nil {
			return nil, err
		}
		stored[i] = row[i]
		if t, ok := row[i].(time.Time); ok {
			stored[i] = t.UTC().Truncate(24 * time.Hour)
		}
	}
	return stored, nil
}

func idOf(row sql.Row) int64 { return row[columnID].(int64) }
