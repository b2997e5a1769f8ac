package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"

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

// verdict is what an error number of MySQL means.
type verdict struct {
	kind      error
	elsewhere bool
	rule      string // with ErrInvalid: what the named column broke
}

// Numbers that the code asks for by name.
const (
	errRowGone       = 1032 // the row went away under the statement
	errUnknownStmt   = 1243
	errNeedReprepare = 1615
	errCharset       = 3988 // text that its column's character set lacks
)

var (
	unavailable = verdict{kind: store.ErrUnavailable}
	otherNode   = verdict{kind: store.ErrUnavailable, elsewhere: true}
	conflict    = verdict{kind: store.ErrConflict}
	unknown     = verdict{kind: store.ErrUnknownOutcome}
)

// verdicts lists what is not permanent. 1030, 1180, 1296 and 1297 carry a code
// of the engine: see engineVerdict.
var verdicts = map[uint16]verdict{
	1022: conflict, 1062: conflict, 1169: conflict, 1586: conflict,

	// A lost race for a lock, or the statement was stopped: rolled back.
	errRowGone: unavailable, 1205: unavailable, 1206: unavailable, 1213: unavailable,
	1317: unavailable, 1412: unavailable, 3024: unavailable,
	errUnknownStmt: unavailable, errNeedReprepare: unavailable,

	// This SQL node has no more to give, or is going away.
	1040: otherNode, 1203: otherNode, 1226: otherNode, 1461: otherNode,
	1053: otherNode, 1927: otherNode, 3032: otherNode, 3169: otherNode, 4031: otherNode,
	1158: otherNode, 1159: otherNode, 1160: otherNode, 1161: otherNode,
	// It does not let us in.
	1044: otherNode, 1045: otherNode, 1049: otherNode, 1129: otherNode, 1130: otherNode,
	1142: otherNode, 1143: otherNode, 1227: otherNode, 1698: otherNode, 1862: otherNode, 3118: otherNode,
	// It has not joined the cluster yet: no such table, or only for reading.
	1036: otherNode, 1146: otherNode, 1290: otherNode, 1836: otherNode,

	1048:       {kind: store.ErrInvalid, rule: "notnull"},
	1264:       {kind: store.ErrInvalid, rule: "range"},
	1265:       {kind: store.ErrInvalid, rule: "range"},
	1292:       {kind: store.ErrInvalid, rule: "storabledate"},
	1366:       {kind: store.ErrInvalid, rule: "charset"},
	1406:       {kind: store.ErrInvalid, rule: "max"},
	3854:       {kind: store.ErrInvalid, rule: "charset"},
	errCharset: {kind: store.ErrInvalid, rule: "charset"},
}

// engineCode finds the code in "Got error 4009 'Cluster Failure' from NDB".
var engineCode = regexp.MustCompile(`error (\d+)`)

// engineVerdict reads the errors that carry a code of the engine. Whether a
// failure is temporary decides mysqld, by NDB's own classification.
func engineVerdict(e *mysql.MySQLError) (v verdict, ok bool) {
	const temporary, permanent, inEngine, inCommit = 1297, 1296, 1030, 1180
	switch e.Number {
	case temporary, permanent, inEngine, inCommit:
	default:
		return verdict{}, false
	}
	code := 0
	if m := engineCode.FindStringSubmatch(e.Message); m != nil {
		code, _ = strconv.Atoi(m[1])
	}
	switch code {
	case 4008, 4009, 4012: // of NDB: no answer to what was sent
		return unknown, true
	case 157: // of mysqld: it has no connection to the data nodes
		return otherNode, true
	case 146, 149: // of mysqld: lock wait timeout, deadlock
		return unavailable, true
	case 121, 630: // of mysqld, of NDB: row exists
		return conflict, true
	}
	switch e.Number {
	case temporary:
		return unavailable, true
	case inCommit:
		return unknown, true
	default:
		return verdict{}, false
	}
}

func verdictOf(e *mysql.MySQLError) (v verdict, ok bool) {
	if v, ok := engineVerdict(e); ok {
		return v, true
	}
	v, ok = verdicts[e.Number]
	return v, ok
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
	case ctx.Err() == nil && errors.As(err, &connect):
		return failure{kind: store.ErrUnavailable, cause: scrub(err), elsewhere: true, down: !isCrowded(err)}
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
	for _, kind := range []error{store.ErrNotFound, store.ErrPreconditionFailed, store.ErrInvalid} {
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
	case c.write && a.sent:
		f.kind = store.ErrUnknownOutcome
	case c.write || !a.reached:
		f.kind = store.ErrUnavailable
	}
	return f
}

// broken is the failure of an attempt that lost its connection.
func (c *call) broken(a *attempt, err error) failure {
	if c.write && a.sent {
		return failure{kind: store.ErrUnknownOutcome, cause: err, doubtful: true}
	}
	return failure{kind: store.ErrUnavailable, cause: err, elsewhere: true, doubtful: true}
}

// refused is the failure of an attempt that the server answered with an error.
func (s *Store) refused(c *call, a *attempt, err *mysql.MySQLError) failure {
	v, ok := verdictOf(err)
	f := failure{cause: scrub(err)}
	switch {
	case !ok:
		return f
	case v.kind == store.ErrUnknownOutcome && (!c.write || !a.sent):
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
