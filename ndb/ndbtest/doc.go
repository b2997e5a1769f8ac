// Package ndbtest is an NDB cluster inside this process: a management server
// and data nodes that speak the real protocol, over loopback or an in-memory
// network. It is for tests of NDB API clients, and for programs that want a
// cluster without an installation.
//
//	c := ndbtest.Run(t)
//	c.MustCreateTable("CREATE TABLE d.t (id BIGINT PRIMARY KEY, name VARCHAR(64))")
//	// connect a client to c.Connectstring()
//
// Rows live in memory, once, whatever the number of replicas. Transactions,
// row locks and errors are those of data nodes. Faults come on demand: nodes
// that die, links that are cut or stall, requests that are refused, signals
// that are late, lost or doubled; see fault.go and control.go.
//
// Real data nodes trust their API nodes, and stop or drop them for certain
// mistakes. Here such a signal is a Violation: it fails the test, and the
// connection that brought it is cut.
//
// GAPS.md lists what the cluster does not imitate.
package ndbtest
