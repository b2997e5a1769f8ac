package sqlstore

import (
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// defaultPacketBytes is taken where a server does not tell its max_allowed_packet:
// none that is in use has less.
const defaultPacketBytes = 1 << 20

// batchLimits are what a SQL node said of its limits at some time.
type batchLimits struct {
	learnt        time.Duration // on the clock of the node
	packetBytes   int64         // max_allowed_packet
	operations    int           // of one transaction in NDB; 0: not known, or another engine
	setting       string        // of the data nodes, that says so
	uniqueIndexes int           // of the table, beside the primary key
}

// rows is how many items of a batch one transaction may hold; 0: not known.
func (l *batchLimits) rows(b *batch) int {
	return l.operations / (b.operationsPerRow + l.uniqueIndexes)
}

// stepBytes is how much a statement, and its values, may take.
func (l *batchLimits) stepBytes() int64 { return l.packetBytes / 2 }

// limitsOfBatches asks the server where it was not asked lately. What it does not
// tell is not known.
func (n *node) limitsOfBatches(db *gorm.DB) (batchLimits, error) {
	if known := n.batches.Load(); known != nil && n.clock()-known.learnt < limitsAge {
		return *known, nil
	}
	l := batchLimits{learnt: n.clock(), packetBytes: defaultPacketBytes}
	var packet int64
	if err := askFor(db, &packet, "SELECT @@max_allowed_packet"); err != nil {
		return l, err
	}
	if packet > 0 {
		l.packetBytes = packet
	}
	if n.packetBytes > 0 {
		l.packetBytes = min(l.packetBytes, n.packetBytes)
	}
	if err := n.askTransactionLimit(db, &l); err != nil {
		return l, err
	}
	n.batches.Store(&l)
	return l, nil
}

const (
	engineQuery = "SELECT `engine` FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	indexQuery  = "SELECT COUNT(DISTINCT `index_name`) FROM information_schema.statistics" +
		" WHERE table_schema = DATABASE() AND table_name = ? AND `non_unique` = 0 AND `index_name` <> 'PRIMARY'"
	// The smallest of all data nodes, with its name. The values are text.
	operationsQuery = "SELECT p.param_name AS setting, MIN(CAST(v.config_value AS UNSIGNED)) AS operations" +
		" FROM ndbinfo.config_values v JOIN ndbinfo.config_params p ON p.param_number = v.config_param" +
		" WHERE p.param_name IN ('MaxNoOfConcurrentOperations', 'MaxDMLOperationsPerTransaction')" +
		" GROUP BY p.param_name ORDER BY operations LIMIT 1"
)

// askTransactionLimit finds out what one transaction of NDB may hold: writes and
// reads with a lock count, and each unique index once more.
func (n *node) askTransactionLimit(db *gorm.DB, l *batchLimits) error {
	var engine string
	if err := askFor(db, &engine, engineQuery, n.table); err != nil || engine != "ndbcluster" {
		return err
	}
	var unique int
	if err := askFor(db, &unique, indexQuery, n.table); err != nil {
		return err
	}
	var limit struct {
		Setting    string
		Operations int64
	}
	if err := askFor(db, &limit, operationsQuery); err != nil {
		return err
	}
	l.uniqueIndexes, l.setting, l.operations = unique, limit.Setting, int(limit.Operations)
	return nil
}

// askFor leaves the answer as it is where the server refuses the question.
func askFor(db *gorm.DB, answer any, query string, args ...any) error {
	err := db.Raw(query, args...).Scan(answer).Error
	if errorNumber(err) != 0 {
		return nil
	}
	return err
}

// isTooLarge tells whether a server refuses a transaction for what it holds, by
// an error of NDB.
func isTooLarge(err *mysql.MySQLError) bool {
	switch codeOfEngine(err) {
	case 233, 234, 261, 1217:
		return true
	default:
		return false
	}
}

// verdictOfError is the verdict on the server's error in err, if there is one.
func verdictOfError(err error) (v verdict, ok bool) {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return verdict{}, false
	}
	return verdictOf(server)
}
