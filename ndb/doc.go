// Package ndb is an NDB API client in pure Go: it speaks the wire protocol of
// MySQL NDB Cluster straight to the data nodes, without libndbclient, without
// cgo and without a mysqld.
//
// A [Client] is one or several API nodes of a cluster. It is made once, and
// shared by all goroutines:
//
//	client, err := ndb.Connect(ctx, ndb.Config{Connectstring: "mgm1:1186,mgm2:1186"})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	employees, err := client.Table(ctx, "ndbtest", "employee")
//	if err != nil {
//		return err
//	}
//	id, err := employees.Column("id")
//	if err != nil {
//		return err
//	}
//	all, err := employees.Select()
//	if err != nil {
//		return err
//	}
//	var row ndb.Row
//	err = client.Read(ctx, employees.NewValues().Int64(id, 42), all, &row)
//
// What goes in is [Values], what comes out is a [Row], whose columns a
// [Projection] has chosen; all three are made to be used again. The package has
// no mapping to structs.
//
// Rows are found by primary key or unique index, one at a time in one round
// trip ([Client.Read], [Client.Insert], [Client.Update], [Client.Write],
// [Client.Delete]), many at a time with an outcome each ([Client.NewBatch]), or
// together in a transaction ([Client.Begin]); by ordered index or by a walk over
// the table with [Client.Scan], filtered by the data nodes; or not at all with
// [Client.Count] and [Client.Exists].
//
// # Errors
//
// Those of the cluster are an [*Error] with NDB's code, a [Status] and a
// [Classification]. [SurelyNotDone] and [MayRetry] answer what matters: a commit
// whose answer did not come may have been done, and only reading the row tells.
// Calls end by the deadline of their context, or where that has none after
// Config.RequestTimeout; a [Batch] has the context that it was made with.
//
// An acknowledged commit is in the memory of all replicas. [Client.WaitDurable]
// waits until it is on disk, [Client.WaitAllDurable] for the commits of others.
//
// # What it does not do
//
// No SQL, no changes of the schema, no BLOB, TEXT or JSON columns (the others of
// such a table can be read), no events, no TLS, no arbitration. DESIGN.md tells
// how it works, PROTOCOL.md what it speaks; package ndbtest is a cluster to test
// against, in one process.
package ndb
