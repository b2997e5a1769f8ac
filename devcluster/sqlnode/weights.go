package sqlnode

import (
	"github.com/dolthub/go-mysql-server/sql"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// Weights is the option with which a cluster compares text as the engine does:
// it knows the collations of MySQL by their tables.
func Weights() ndbtest.Option {
	return ndbtest.Weights(func(collation uint16) func(r rune) uint32 {
		weight := sql.CollationID(collation).Sorter()
		if weight == nil {
			return nil
		}
		// A weight is signed; turning its sign makes it order as a number without.
		return func(r rune) uint32 { return uint32(weight(r)) ^ 1<<31 }
	})
}
