package ndb

import "github.com/ndbgate/ndbgate/ndb/internal/row"

// ValueError says which column a value does not fit, or cannot be read as, and
// why. Values.Err has one, and so has every error of an operation that takes bad
// values; errors.Is finds the reason in it.
type ValueError = row.ValueError

// Reasons of a ValueError that a value can be to blame for.
var (
	// ErrTooLong says that text or bytes are longer than their column.
	ErrTooLong = row.ErrTooLong
	// ErrCharset says that the column's character set lacks a character.
	ErrCharset = row.ErrCharset
	// ErrRange says that a number, a date or a time is none that the column can
	// hold.
	ErrRange = row.ErrRange
	// ErrNull says that NULL was meant for a NOT NULL column, or was read as a
	// value.
	ErrNull = row.ErrNull
)
