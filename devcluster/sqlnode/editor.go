package sqlnode

import (
	"io"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
)

func (t *table) Inserter(*sql.Context) sql.RowInserter { return &editor{table: t} }
func (t *table) Updater(*sql.Context) sql.RowUpdater   { return &editor{table: t} }
func (t *table) Deleter(*sql.Context) sql.RowDeleter   { return &editor{table: t} }
func (t *table) Replacer(*sql.Context) sql.RowReplacer { return &editor{table: t} }

// Truncate deletes all rows, in the transaction: the engine also comes here
// for a DELETE without WHERE.
func (t *table) Truncate(ctx *sql.Context) (int, error) {
	all := &partition{table: t, ranges: []sql.MySQLRange{nil}}
	rows := all.read(tx(ctx), true)
	for n := 0; ; n++ {
		row, err := rows.Next(ctx)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if err := tx(ctx).remove(ctx, t, row); err != nil {
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
	tx(ctx).rollback()
	return err
}

func (e *editor) StatementComplete(*sql.Context) error { return nil }

func (e *editor) Close(*sql.Context) error { return nil }

func (e *editor) Insert(ctx *sql.Context, row sql.Row) error {
	row = row.Copy()
	for i, c := range e.table.schema.Schema {
		row[i] = fitted(ctx, c, row[i])
	}
	if err := e.check(ctx, nil, row); err != nil {
		return err
	}
	if err := tx(ctx).insert(ctx, e.table, row); err != nil {
		return rowsError(err)
	}
	sessionOf(ctx).statement.inserted++
	return nil
}

func (e *editor) Update(ctx *sql.Context, old, row sql.Row) error {
	if err := e.check(ctx, old, row); err != nil {
		return err
	}
	if err := tx(ctx).update(ctx, e.table, old, row); err != nil {
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
	return stored(a) == stored(b)
}

func (e *editor) Delete(ctx *sql.Context, row sql.Row) error {
	if err := tx(ctx).remove(ctx, e.table, row); err != nil {
		return rowsError(err)
	}
	sessionOf(ctx).statement.deleted++
	return nil
}

// check tells what a column has against the row. What a column had before, if
// there was an old row, it may keep.
func (e *editor) check(ctx *sql.Context, old, row sql.Row) error {
	for i, c := range e.table.schema.Schema {
		if old != nil && sameValue(old[i], row[i]) {
			continue
		}
		if err := checkValue(ctx, c, row[i], sessionOf(ctx).statement.row()); err != nil {
			return err
		}
	}
	return nil
}
