-- The employee table, once in NDB and once in InnoDB, and the table of kept
-- answers. Run it on every SQL node and as often as you like: what exists stays as
-- it is.
--
-- employee and idempotency are one table each, whichever SQL node you ask.
-- employee_innodb exists on each SQL node by itself, with rows of its own: it is
-- there to compare engines.

CREATE DATABASE IF NOT EXISTS ndbtest;
USE ndbtest;

CREATE TABLE IF NOT EXISTS employee (
  id BIGINT NOT NULL PRIMARY KEY,
  first VARCHAR(64) DEFAULT NULL,
  last VARCHAR(64) DEFAULT NULL,
  municipality VARCHAR(64) DEFAULT NULL,
  started DATE DEFAULT NULL,
  ended DATE DEFAULT NULL,
  department INT NOT NULL DEFAULT 1,
  KEY idx_municipality (municipality)
) ENGINE=NDBCLUSTER DEFAULT CHARSET=utf8mb3;

CREATE TABLE IF NOT EXISTS employee_innodb (
  id BIGINT NOT NULL PRIMARY KEY,
  first VARCHAR(64) DEFAULT NULL,
  last VARCHAR(64) DEFAULT NULL,
  municipality VARCHAR(64) DEFAULT NULL,
  started DATE DEFAULT NULL,
  ended DATE DEFAULT NULL,
  department INT NOT NULL DEFAULT 1,
  KEY idx_municipality (municipality)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;

-- The answers of requests with the header Idempotency-Key, each from the same
-- transaction as what its request has written. made and expires are milliseconds
-- of Unix time; gateways delete what has expired. Callers and keys are bytes, so
-- that none equals another one but itself. A gateway works without this table: it
-- then refuses the header.
CREATE TABLE IF NOT EXISTS idempotency (
  caller VARBINARY(64) NOT NULL,
  idempotency_key VARBINARY(255) NOT NULL,
  request VARBINARY(64) NOT NULL,
  made BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  answer VARBINARY(24000) NOT NULL,
  PRIMARY KEY (caller, idempotency_key) USING HASH,
  KEY idx_expires (expires)
) ENGINE=NDBCLUSTER;
