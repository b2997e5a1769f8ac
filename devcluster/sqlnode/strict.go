package sqlnode

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// checkValue refuses a value that a column cannot hold, as mysqld does in
// strict mode. Row is the number of the row in its statement.
func checkValue(ctx *sql.Context, c *sql.Column, value any, row int) error {
	if value == nil {
		if c.Nullable {
			return nil
		}
		return mysqlError(erBadNull, "Column '%s' cannot be null", c.Name)
	}
	switch t := c.Type.(type) {
	case sql.StringType:
		return checkText(c, t, value, row)
	case sql.NumberType:
		return checkInteger(ctx, c, value, row)
	case sql.DatetimeType:
		return checkDate(ctx, c, value, row)
	default:
		panic(fmt.Sprintf("column %s has type %s, which has no check", c.Name, c.Type))
	}
}

// checkText refuses what the character set of the column does not have, and what
// is longer than the column.
func checkText(c *sql.Column, t sql.StringType, value any, row int) error {
	s, ok := value.(string)
	if b, isBytes := value.([]byte); isBytes {
		s, ok = string(b), true
	}
	switch {
	case !ok:
		return nil // a number or a date: plain ASCII, and short
	case types.IsBinaryType(t) && int64(len(s)) > t.Length():
		return mysqlError(erDataTooLong, "Data too long for column '%s' at row %d", c.Name, row)
	case types.IsBinaryType(t):
		return nil
	}
	var chars int64
	for i, r := range s {
		if chars == t.Length() {
			return mysqlError(erDataTooLong, "Data too long for column '%s' at row %d", c.Name, row)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || !hasRune(t.CharacterSet(), r) {
			return mysqlError(erTruncatedWrongForType,
				"Incorrect string value: '%s' for column '%s' at row %d", printable(s[i:]), c.Name, row)
		}
		chars++
	}
	return nil
}

// printable renders the first six bytes of s as MySQL does in its errors.
func printable(s string) string {
	const limit = 6
	var b strings.Builder
	for i := range len(s) {
		if i == limit {
			b.WriteString("...")
			break
		}
		if c := s[i]; ' ' <= c && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02X`, c)
		}
	}
	return b.String()
}

func checkInteger(ctx *sql.Context, c *sql.Column, value any, row int) error {
	if s, ok := value.(string); ok {
		if _, err := strconv.ParseInt(s, 10, 64); errors.Is(err, strconv.ErrRange) {
			return mysqlError(erDataOutOfRange, "Out of range value for column '%s' at row %d", c.Name, row)
		}
	}
	_, inRange, err := c.Type.Convert(ctx, value)
	switch {
	case err != nil || value == "":
		return mysqlError(erTruncatedWrongForType,
			"Incorrect integer value: '%v' for column '%s' at row %d", value, c.Name, row)
	case inRange != sql.InRange:
		return mysqlError(erDataOutOfRange, "Out of range value for column '%s' at row %d", c.Name, row)
	default:
		return nil
	}
}

func checkDate(ctx *sql.Context, c *sql.Column, value any, row int) error {
	date, _, err := c.Type.Convert(ctx, value)
	if err != nil || isZeroDate(date.(time.Time)) && isStrict(ctx) {
		if _, ok := value.(time.Time); ok {
			value = stored(value)
		}
		return mysqlError(erTruncatedWrongValue,
			"Incorrect date value: '%v' for column '%s' at row %d", value, c.Name, row)
	}
	return nil
}

// fitted is the value that is stored for one that the column cannot hold, where
// the mode allows that: characters that the character set lacks are question marks.
// What else does not fit is refused in any mode.
func fitted(ctx *sql.Context, c *sql.Column, value any) any {
	t, isText := c.Type.(sql.StringType)
	s, ok := value.(string)
	if !ok || !isText || isStrict(ctx) {
		return value
	}
	return strings.Map(func(r rune) rune {
		if !hasRune(t.CharacterSet(), r) {
			return '?'
		}
		return r
	}, s)
}

// isStrict is whether characters that do not fit and zero dates are errors.
func isStrict(ctx *sql.Context) bool {
	mode := sql.LoadSqlMode(ctx)
	return mode.ModeEnabled("STRICT_TRANS_TABLES") || mode.ModeEnabled("STRICT_ALL_TABLES")
}
