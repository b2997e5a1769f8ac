package ndb

import (
	"math"

	"github.com/ndbgate/ndbgate/ndb/internal/mgm"
)

// TransactionLimit is how much one transaction may hold. What goes beyond is
// refused, and with it the whole transaction: writes with code 261, reads with a
// lock with code 234.
type TransactionLimit struct {
	// Operations are the writes and the reads with a lock. Inserts and deletes
	// count once more for each unique index of the table, and so do updates of
	// the columns of one; committed reads do not count.
	Operations int
	// Setting is what the data nodes' configuration calls the limit.
	Setting string
}

// TransactionLimit tells the limit of the configuration that the client got when
// it connected: the smallest of all data nodes. One that was changed since then,
// while data nodes were restarted in turn, is not noticed.
func (c *Client) TransactionLimit() TransactionLimit { return *c.limit.Load() }

func transactionLimit(cluster *mgm.Config) *TransactionLimit {
	limit := &TransactionLimit{Operations: math.MaxInt}
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		if n.Type != mgm.TypeData {
			continue
		}
		limit.lower("MaxNoOfConcurrentOperations", n.DataNode.MaxConcurrentOperations)
		limit.lower("MaxDMLOperationsPerTransaction", n.DataNode.MaxDMLOperationsPerTransaction)
	}
	return limit
}

func (l *TransactionLimit) lower(setting string, value uint32) {
	if int64(value) < int64(l.Operations) {
		l.Operations, l.Setting = int(value), setting
	}
}
