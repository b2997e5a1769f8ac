// Package e2e tests the gateway as its users have it: the built program, real
// HTTP, a real cluster. It has only tests, which run where TEST_MYSQL_DSN
// names the SQL nodes; make cluster-test sets that and the rest.
package e2e
