package sqlnode

import (
	"context"
	"errors"

	"github.com/dolthub/vitess/go/mysql"
	goerrors "gopkg.in/src-d/go-errors.v1"

	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// MySQL error codes, by their names in its manual.
const (
	erDupKey                = 1022 // ER_DUP_KEY
	erBadNull               = 1048 // ER_BAD_NULL_ERROR
	erTableExists           = 1050 // ER_TABLE_EXISTS_ERROR
	erDupEntry              = 1062 // ER_DUP_ENTRY
	erCheckNotImplemented   = 1178 // ER_CHECK_NOT_IMPLEMENTED
	erLockWaitTimeout       = 1205 // ER_LOCK_WAIT_TIMEOUT
	erDataOutOfRange        = 1264 // ER_WARN_DATA_OUT_OF_RANGE
	erTruncatedWrongValue   = 1292 // ER_TRUNCATED_WRONG_VALUE
	erGetErrMsg             = 1296 // ER_GET_ERRMSG
	erSPDoesNotExist        = 1305 // ER_SP_DOES_NOT_EXIST
	erQueryInterrupted      = 1317 // ER_QUERY_INTERRUPTED
	erNoDefaultForField     = 1364 // ER_NO_DEFAULT_FOR_FIELD
	erTruncatedWrongForType = 1366 // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
	erDataTooLong           = 1406 // ER_DATA_TOO_LONG
	erCannotConvert         = 3854 // ER_CANNOT_CONVERT_STRING
	erImpossibleConversion  = 3988 // ER_IMPOSSIBLE_STRING_CONVERSION
)

// sqlStates is the SQLSTATE of each code that does not have HY000.
var sqlStates = map[int]string{
	erDupKey:              "23000",
	erBadNull:             "23000",
	erTableExists:         "42S01",
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

// notSupported is what MySQL says of what NDB cannot do.
func notSupported(what string) *mysql.SQLError {
	return mysqlError(erCheckNotImplemented, "The storage engine for the table doesn't support %s", what)
}

// clusterErrors is the text of the cluster's errors that a client may get.
var clusterErrors = map[int]string{
	723:  "No such table existed",
	893:  "Constraint violation e.g. duplicate value in unique index",
	1226: "Table is being dropped",
	4009: "Cluster Failure",
}

// rowsError turns an error of a transaction into what the engine needs, which
// for a duplicate key is its own kind, or into what the client gets.
func rowsError(err error) error {
	var duplicate *duplicateError
	var code *ndbtest.CodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &duplicate):
		return sql.NewUniqueKeyErr(duplicate.entry(), true, duplicate.existing)
	case errors.Is(err, ndbtest.ErrNoNode):
		return mysqlError(erGetErrMsg, "Got error 157 'Could not connect to storage engine' from NDBCLUSTER")
	case errors.As(err, &code) && code.Code == codeLockTimeout:
		return mysqlError(erLockWaitTimeout, "Lock wait timeout exceeded; try restarting transaction")
	case errors.As(err, &code):
		text := clusterErrors[code.Code]
		if text == "" {
			text = "Unknown error code"
		}
		return mysqlError(erGetErrMsg, "Got error %d '%s' from NDBCLUSTER", code.Code, text)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return mysqlError(erQueryInterrupted, "Query execution was interrupted")
	default:
		return err
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
	case len(insert.OffendingRow) != len(st.destination):
		return err
	}
	for i, c := range st.destination {
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
		return mysqlError(erDupKey, "Can't write; duplicate key in table '%s'", st.table)
	}
	return mysqlError(erDupEntry, "Duplicate entry '%s' for key '%s.PRIMARY'", kind.Cause(), st.table)
}
