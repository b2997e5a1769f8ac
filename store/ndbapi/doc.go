// Package ndbapi is the native road: employees in an NDB Cluster through package
// ndb, without a SQL node.
//
//	api ─► Store.Get, Create, …  ─► Session (of a pool) ─► ndb.Client ═► data nodes
//	         employees.go, list.go   session.go, change.go, query.go
//	                                 condition.go, ranges.go, plan.go, collect.go: how queries come to rows
//	                                 shape.go, mapper.go, mapping.go, convert.go: rows ↔ structs
//	                                 retry.go: what is done again
//
// # Sessions
//
// A Session is the right to run one transaction at a time. A Store has
// Config.MaxTransactions of them; who finds none free waits in turn. Sessions know
// nothing of employees: they take any struct with GORM's tags, as ClusterJ takes
// any class with its annotations. The tags are read once for a type, and checked
// against the table's definition in the cluster: at first use, and whenever that
// has changed. An employee table that does not fit makes the road unavailable, and
// the reason says what is wrong; one of answers, only what keeps answers.
//
// # Round trips
//
// Each of these is one transaction in one round trip: Get, Create, Delete, Save
// and Patch, also where Patch compares dates, which data nodes do by a condition
// of the update, or returns the row. A precondition on the stored row's values is
// a function of Go, so it takes two: a read that locks the row, then the write
// with the commit. A patch whose dates the condition refuses is looked at once
// more in this way, because only models.EmployeePatch.Merge knows all there is to
// know of dates. The first transactions of a connection pay one more each, for a
// record of their coordinator.
//
// A batch of all or nothing is one transaction in a session: 512 rows for each
// round trip, and one for the commit. A batch of single writes has 128 transactions
// in flight at a time and takes no session; four of them run at once, beside the
// sessions.
//
// CreateOnce inserts the employee and its answer together, in one round trip. Where
// the key has an answer that is refused, and a read tells what it is. Batches with a
// key insert their answer first, in a round trip of its own, so that twins meet
// before they have locked any row. So does a create that was refused or had to wait
// for a lock: then it is known which of the two rows was in the way.
//
// # Queries
//
// The filter of a query is made such that no value is beyond its column
// (condition.go), for data nodes check nothing. What it says of the first column of
// an index, or of the primary key, becomes ranges of that index (ranges.go); the
// rest is tested by the data nodes. plan.go chooses the way: a key, ranges of values,
// an index in the wanted order, the table. Rows that come in the wanted order are
// read up to the limit; of others, the first ones are kept in a heap (collect.go),
// compared as the data nodes would. Memory is bounded by the limit in any case.
//
// # Failures
//
// What package ndb says was surely not done, and may succeed, is done again a few
// times; see retry.go. A write whose outcome is unknown ends with
// store.ErrUnknownOutcome and never is. Data nodes check neither text nor dates,
// so values are checked here as a SQL node would: see checks.go.
package ndbapi
