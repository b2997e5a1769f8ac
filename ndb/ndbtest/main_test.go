package ndbtest_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const employeeTable = `CREATE TABLE ndbtest.employee (
  id BIGINT NOT NULL PRIMARY KEY,
  first VARCHAR(64) DEFAULT NULL,
  last VARCHAR(64) DEFAULT NULL,
  municipality VARCHAR(64) DEFAULT NULL,
  started DATE DEFAULT NULL,
  ended DATE DEFAULT NULL,
  department INT NOT NULL DEFAULT 1,
  KEY idx_municipality (municipality)
) ENGINE=NDBCLUSTER DEFAULT CHARSET=utf8mb3`
