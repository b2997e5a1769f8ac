package sqlstore

import (
	"regexp"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/internal/columnrule"
)

// verdict is what an error number of MySQL means.
type verdict struct {
	kind      error
	elsewhere bool
	rule      string // with ErrInvalid: what the named column broke
}

// Numbers that the code asks for by name.
const (
	errRowGone       = 1032 // the row went away under the statement
	errNoColumn      = 1054
	errNoTable       = 1146
	errLockWait      = 1205
	errUnknownStmt   = 1243
	errNoDefault     = 1364 // for a column that the statement does not name
	errNeedReprepare = 1615
	errCharset       = 3988 // text that its column's character set lacks
)

var (
	unavailable = verdict{kind: store.ErrUnavailable}
	otherNode   = verdict{kind: store.ErrUnavailable, elsewhere: true}
	conflict    = verdict{kind: store.ErrConflict}
	unknown     = verdict{kind: store.ErrUnknownOutcome}
)

// verdicts lists what is not permanent, by the numbers of MySQL's Server Error
// Message Reference. 1030, 1180, 1296 and 1297 carry a code of the engine: see
// engineVerdict.
var verdicts = map[uint16]verdict{
	1022: conflict, 1062: conflict, 1169: conflict, 1586: conflict,

	// A lost race for a lock, or the statement was stopped: rolled back.
	errRowGone: unavailable, errLockWait: unavailable, 1206: unavailable, 1213: unavailable,
	1317: unavailable, 1412: unavailable, 3024: unavailable,
	errUnknownStmt: unavailable, errNeedReprepare: unavailable,

	// This SQL node has no more to give, or is going away.
	1040: otherNode, 1203: otherNode, 1226: otherNode, 1461: otherNode,
	1053: otherNode, 1927: otherNode, 3032: otherNode, 3169: otherNode, 4031: otherNode,
	1158: otherNode, 1159: otherNode, 1160: otherNode, 1161: otherNode,
	// It does not let us in.
	1044: otherNode, 1045: otherNode, 1049: otherNode, 1129: otherNode, 1130: otherNode,
	1142: otherNode, 1143: otherNode, 1227: otherNode, 1698: otherNode, 1862: otherNode, 3118: otherNode,
	1021: otherNode, 1037: otherNode, 1038: otherNode, 1041: otherNode,
	// It has not joined the cluster yet: no such table, or only for reading.
	1036: otherNode, errNoTable: otherNode, 1290: otherNode, 1836: otherNode,
	// Its table is not the one that the gateway knows: a column is unknown, or
	// one that the gateway does not know has no default.
	errNoColumn: otherNode, errNoDefault: otherNode,
	1114: unavailable, // the table is full

	1048:       {kind: store.ErrInvalid, rule: columnrule.NotNull},
	1264:       {kind: store.ErrInvalid, rule: columnrule.Range},
	1265:       {kind: store.ErrInvalid, rule: columnrule.Range},
	1292:       {kind: store.ErrInvalid, rule: columnrule.StorableDate},
	1366:       {kind: store.ErrInvalid, rule: columnrule.Charset},
	1406:       {kind: store.ErrInvalid, rule: columnrule.Max},
	3854:       {kind: store.ErrInvalid, rule: columnrule.Charset},
	errCharset: {kind: store.ErrInvalid, rule: columnrule.Charset},
}

// engineCode finds the code in "Got error 4009 'Cluster Failure' from NDB".
var engineCode = regexp.MustCompile(`error (\d+)`)

// engineVerdicts lists codes of mysqld below 200, else of NDB. Those from 4000
// the NDB API inside mysqld raises by itself, which knows what it sent and not
// what became of it; the others are refusals by the data nodes, which then have
// aborted the transaction.
var engineVerdicts = map[int]verdict{
	121: conflict, 630: conflict, // the row exists
	146: unavailable, 149: unavailable, // lock wait timeout, deadlock
	266: unavailable, 274: unavailable, // the same, of NDB
	157: otherNode, // mysqld has no connection to the data nodes

	// A data node fails or shuts down.
	270: unavailable, 280: unavailable, 286: unavailable,
	4002: unavailable, 4035: unavailable, // nothing could be sent
	4007: unknown, 4008: unknown, 4009: unknown, 4010: unknown, 4012: unknown, 4013: unknown,
	4023: unknown, 4024: unknown, 4025: unknown, 4027: unknown, 4028: unknown, 4029: unknown,
	4030: unknown, 4031: unknown, 4033: unknown, 4034: unknown,
	4115: unknown, // surely done, but without the answer that it asked for

	// No space for more rows, for index entries, or on disk.
	623: unavailable, 624: unavailable, 625: unavailable, 633: unavailable, 640: unavailable,
	826: unavailable, 827: unavailable, 889: unavailable,
	902: unavailable, 903: unavailable, 904: unavailable, 905: unavailable,
	1601: unavailable, 1602: unavailable, 1603: unavailable, 1604: unavailable, 1605: unavailable, 1606: unavailable,
}

// Numbers of errors that carry a code of the engine.
const (
	errOfEngine          = 1030
	errOfCommit          = 1180
	errPermanentOfEngine = 1296
	errTemporaryOfEngine = 1297
)

// codeOfEngine is the code of the engine that an error carries, or 0.
func codeOfEngine(e *mysql.MySQLError) int {
	switch e.Number {
	case errOfEngine, errOfCommit, errPermanentOfEngine, errTemporaryOfEngine:
	default:
		return 0
	}
	m := engineCode.FindStringSubmatch(e.Message)
	if m == nil {
		return 0
	}
	code, _ := strconv.Atoi(m[1]) // too great a number is no code
	return code
}

// engineVerdict reads the errors that carry a code of the engine. Whether a code
// that is not listed is temporary decides mysqld, by NDB's own classification.
func engineVerdict(e *mysql.MySQLError) (v verdict, ok bool) {
	// Of a connection lost at a commit it is not known when.
	if v, ok := engineVerdicts[codeOfEngine(e)]; ok && !(e.Number == errOfCommit && v.elsewhere) {
		return v, true
	}
	switch e.Number {
	case errTemporaryOfEngine:
		return unavailable, true
	case errOfCommit:
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
