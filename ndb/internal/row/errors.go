package row

import (
	"errors"
	"fmt"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
)

// Reasons of a ValueError.
var (
	ErrType        = errors.New("wrong type of value")
	ErrRange       = errors.New("value out of range")
	ErrTooLong     = errors.New("value too long")
	ErrCharset     = errors.New("text that the character set cannot hold")
	ErrNull        = errors.New("NULL")
	ErrBlob        = errors.New("BLOB, TEXT and JSON columns are not supported")
	ErrUnsupported = errors.New("type of column not supported")
	ErrCorrupt     = errors.New("malformed value")
)

// ErrMalformed is wrapped by errors about attribute words that are not as the
// protocol says.
var ErrMalformed = errors.New("malformed attributes")

// ValueError says which column a value does not fit, or cannot be read as, and
// why. Its Reason is one of the errors above.
type ValueError struct {
	Column string
	Type   dictinfo.Type
	Reason error
	Detail string // may be empty
}

// Error names column, type, reason and detail.
func (e *ValueError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("column %s (%v): %v", e.Column, e.Type, e.Reason)
	}
	return fmt.Sprintf("column %s (%v): %v: %s", e.Column, e.Type, e.Reason, e.Detail)
}

// Unwrap returns the reason.
func (e *ValueError) Unwrap() error { return e.Reason }

func valueError(c *dictinfo.Column, reason error, format string, args ...any) error {
	return &ValueError{Column: c.Name, Type: c.Type, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// typeError says that a Go value is none for the column.
func typeError(c *dictinfo.Column, goType string) error {
	switch {
	case c.Type.IsBlob():
		return valueError(c, ErrBlob, "")
	case !supported(c):
		return valueError(c, ErrUnsupported, "")
	}
	return valueError(c, ErrType, "%s", goType)
}

// Supported returns nil for the columns that this package can read and write,
// else a ValueError with ErrBlob or ErrUnsupported.
func Supported(c *dictinfo.Column) error {
	if c.Type.IsBlob() || !supported(c) {
		return typeError(c, "")
	}
	return nil
}

func supported(c *dictinfo.Column) bool {
	if c.ArrayType > dictinfo.ArrayMediumVar {
		return false
	}
	switch c.Type {
	case dictinfo.TypeDecimalOld, dictinfo.TypeDecimalunsignedOld, dictinfo.TypeDatetimeOld, dictinfo.TypeTimeOld,
		dictinfo.TypeTimestampOld, dictinfo.TypeBlob, dictinfo.TypeText:
		return false
	}
	return c.Type >= dictinfo.TypeTinyint && c.Type <= dictinfo.TypeTimestamp2
}
