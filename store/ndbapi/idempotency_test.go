package ndbapi_test

import (
	"testing"

	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/storetest"
)

// answerTable is the table as deploy/schema.sql has it.
const answerTable = `CREATE TABLE ndbtest.idempotency (
	caller VARBINARY(64) NOT NULL,
	idempotency_key VARBINARY(255) NOT NULL,
	request VARBINARY(64) NOT NULL,
	made BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	answer VARBINARY(24000) NOT NULL,
	PRIMARY KEY (caller, idempotency_key) USING HASH,
	KEY idx_expires (expires)
) ENGINE=NDBCLUSTER`

func TestIdempotency(t *testing.T) {
	c := startCluster(t)
	c.MustCreateTable(answerTable)
	storetest.RunIdempotency(t, func(t *testing.T) []storetest.IdempotentStore {
		return []storetest.IdempotentStore{openOn(t, c), openOn(t, c)}
	})
}

func TestIdempotency_RealCluster(t *testing.T) {
	connectstring := realConnectstring(t)
	storetest.RunIdempotency(t, func(t *testing.T) []storetest.IdempotentStore {
		return []storetest.IdempotentStore{open(t, ndbapi.Config{Connectstring: connectstring}), open(t, ndbapi.Config{Connectstring: connectstring})}
	})
}
