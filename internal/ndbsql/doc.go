// Package ndbsql holds the tests that compare what package ndb does on a real
// cluster with what SQL shows of it. They need TEST_NDB_CONNECTSTRING and
// TEST_MYSQL_DSN, and are skipped without.
package ndbsql
