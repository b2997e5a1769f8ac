package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"github.com/ndbgate/ndbgate/store"
)

// failure is what an error of an attempt means.
type failure struct {
	kind      error // of store; nil where the cause says all
	cause     error // without secrets; nil where the kind says all
	elsewhere bool  // surely nothing was done, and another node may do better
	doubtful  bool  // the node should be probed
	down      bool  // the node cannot be connected to
}

// diagnose tells what the error of an attempt means. ctx is that of the call.
func (s *Store) diagnose(ctx context.Context, c *call, a *attempt, err error) failure {
	var connect *connectError
	var server *mysql.MySQLError
	switch {
	case isKind(err):
		return failure{cause: err}
	case errors.Is(err, gorm.ErrRecordNotFound):
		return failure{kind: store.ErrNotFound}
	case context.Cause(a.ctx) == errSilent && !a.isSent():
		return failure{kind: store.ErrUnavailable, cause: errSilent, elsewhere: true, doubtful: true}
	case a.ctx.Err() == nil && errors.As(err, &connect):
		return failure{kind: store.ErrUnavailable, cause: scrub(err), elsewhere: true, down: !isCrowded(err), doubtful: true}
	case errors.As(err, &server):
		return s.refused(c, a, server)
	case s.closing.Err() != nil:
		return c.broken(a, errClosed)
	case ctx.Err() != nil:
		return c.cutOff(a, ctx.Err())
	case isConnectionLoss(err):
		return c.broken(a, err)
	default:
		return failure{cause: err}
	}
}

// isKind tells whether the error was made above the database.
func isKind(err error) bool {
	for _, kind := range []error{store.ErrNotFound, store.ErrConflict, store.ErrPreconditionFailed, store.ErrInvalid, store.ErrBatchTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// cutOff is the failure of an attempt whose context ended.
func (c *call) cutOff(a *attempt, err error) failure {
	// Silence until a deadline speaks against the node; a caller that left does not.
	f := failure{cause: err, doubtful: errors.Is(err, context.DeadlineExceeded)}
	switch {
	case c.write && a.isSent():
		f.kind = store.ErrUnknownOutcome
	case c.write || !a.reached:
		f.kind = store.ErrUnavailable
	}
	return f
}

// broken is the failure of an attempt that lost its connection.
func (c *call) broken(a *attempt, err error) failure {
	if c.write && a.isSent() {
		return failure{kind: store.ErrUnknownOutcome, cause: err, doubtful: true}
	}
	return failure{kind: store.ErrUnavailable, cause: err, elsewhere: true, doubtful: true}
}

// refused is the failure of an attempt that the server answered with an error.
func (s *Store) refused(c *call, a *attempt, err *mysql.MySQLError) failure {
	v, ok := verdictOf(err)
	f := failure{cause: scrub(err)}
	switch {
	case c.tooLarge != nil && isTooLarge(err):
		f.cause = c.tooLarge(f.cause)
		return f
	case !ok:
		return f
	case v.kind == store.ErrUnknownOutcome && (!c.write || !a.isSent()):
		v = otherNode
	case v.kind == store.ErrInvalid:
		f.cause = s.invalid(c, err, v.rule)
	}
	// While the whole cluster is away NDB does not answer, whatever is asked.
	f.kind, f.elsewhere, f.doubtful = v.kind, v.elsewhere, v.elsewhere || v.kind == store.ErrUnknownOutcome
	return f
}

func isConnectionLoss(err error) bool {
	var network net.Error
	return errors.As(err, &network) ||
		errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) ||
		errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, mysql.ErrMalformPkt) ||
		errors.Is(err, mysql.ErrPktSync) || errors.Is(err, mysql.ErrPktSyncMul) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isCrowded tells whether the server lives but has no connection to spare.
func isCrowded(err error) bool {
	n := errorNumber(err)
	return n == 1040 || n == 1203 || n == 1226
}

// errorNumber is the number of a server's error, or 0.
func errorNumber(err error) uint16 {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return server.Number
	}
	return 0
}
