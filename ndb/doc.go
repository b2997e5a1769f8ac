// Package ndb is an NDB API client in pure Go: it speaks the wire protocol of
// MySQL NDB Cluster straight to the data nodes, without libndbclient and
// without cgo.
package ndb
