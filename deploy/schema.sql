-- The employee table, once in NDB and once in InnoDB. Run it on every SQL node
-- and as often as you like: what exists stays as it is.
--
-- employee is one table, whichever SQL node you ask. employee_innodb exists on
-- each SQL node by itself, with rows of its own: it is there to compare engines.

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
