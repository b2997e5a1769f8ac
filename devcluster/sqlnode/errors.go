package sqlnode

import (
	"errors"
	"strconv"

	"github.com/dolthub/vitess/go/mysql"
	goerrors "gopkg.in/src-d/go-errors.v1"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/devcluster/rows"
)

// MySQL error codes, by their names in its manual.
const (
	erDupKey                = 1022 // ER_DUP_KEY
	erBadNull               = 1048 // ER_BAD_NULL_ERROR
	erDupEntry              = 1062 // ER_DUP_ENTRY
	erCheckNotImplemented   = 1178 // ER_CHECK_NOT_IMPLEMENTED
	erLockWaitTimeout       = 1205 // ER_LOCK_WAIT_TIMEOUT
	erDataOutOfRange        = 1264 // ER_WARN_DATA_OUT_OF_RANGE
	erTruncatedWrongValue   = 1292 // ER_TRUNCATED_WRONG_VALUE
	erSPDoesNotExist        = 1305 // ER_SP_DOES_NOT_EXIST
	erQueryInterrupted      = 1317 // ER_QUERY_INTERRUPTED
	erNoDefaultForField     = 1364 // ER_NO_DEFAULT_FOR_FIELD
	erTruncatedWrongForType = 1366 // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
	erDataTooLong           = 1406 // ER_DATA_TOO_LONG
	erImpossibleConversion  = 3988 // ER_IMPOSSIBLE_STRING_CONVERSION
)

// sqlStates is the SQLSTATE of each code that does not have HY000.
var sqlStates = map[int]string{
	erDupKey:              "23000",
	erBadNull:             "23000",
	erDupEntry:            "23000",
	erCheckNotImplemented: "42000",
	erDataOutOfRange:      "22003",
	erTruncatedWrongValue: "22007",
	erSPDoesNotExist:      "42000",
	erQueryInterrupted:    "70100",
	erDataTooLong:         "22001",
}

// mysqlError is an error that reaches the client with this code and text.
func mysqlError(code int, format string, args ...any) *mysql.SQLError {
	return mysql.NewSQLError(code, sqlStates[code], format, args...)
}

// rowsError turns an error of a transaction into what the engine needs, which
// for a duplicate key is its own kind, or into what the client gets.
func rowsError(err error) error {
	var duplicate *rows.DuplicateError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &duplicate):
		key := strconv.FormatInt(duplicate.ID, 10)
		return sql.NewUniqueKeyErr(key, true, copyRow(duplicate.Existing))
	case errors.Is(err, rows.ErrLockWait):
		return mysqlError(erLockWaitTimeout, "Lock wait timeout exceeded; try restarting transaction")
	default:
		return mysqlError(erQueryInterrupted, "Query execution was interrupted")
	}
}

// statementError turns an error of the engine into what MySQL would say of the
// same statement, where the engine says it in its own words.
func statementError(ctx *sql.Context, err error) error {
	st := &sessionOf(ctx).statement
	var insert sql.WrappedInsertError
	if !errors.As(err, &insert) {
		return keyError(st, err)
	}
	switch {
	case sql.ErrPrimaryKeyViolation.Is(insert.Cause):
		return keyError(st, insert.Cause)
	case sql.ErrInsertIntoNonNullableDefaultNullColumn.Is(insert.Cause):
		return mysqlError(erNoDefaultForField, "%v", insert.Cause)
	}
	schema := employeeSchema().Schema
	if len(insert.OffendingRow) != len(schema) {
		return err
	}
	for i, c := range schema {
		if bad := checkValue(ctx, c, insert.OffendingRow[i], st.row()); bad != nil {
			return bad
		}
	}
	return err
}

// keyError is MySQL's error for a duplicate key, or err if it is about
// something else.
func keyError(st *statement, err error) error {
	kind, ok := err.(*goerrors.Error)
	if !ok || !sql.ErrPrimaryKeyViolation.Is(err) {
		return err
	}
	if st.batch {
		// NDB has sent the rows together and does not know which one it was.
		return mysqlError(erDupKey, "Can't write; duplicate key in table '%s'", tableName)
	}
	return mysqlError(erDupEntry, "Duplicate entry '%s' for key '%s.PRIMARY'", kind.Cause(), tableName)
}
