// Package chaos tests what clients are told while everything under the gateways
// fails and returns. Clients on both roads create, write, patch, delete and read
// a few rows over two gateway processes and a real cluster, while data nodes,
// mysqlds, the management server and the gateways are killed and started, and
// links between them are cut, stand still or are open at one end alone.
// Afterwards package history looks for an order in which all answers are right,
// row by row. make chaos runs it; the tests that need no cluster run everywhere.
//
// Not among the faults are the links between gateways and data nodes: their
// addresses come from the cluster's configuration, and no setting of a gateway
// leads them elsewhere. Data nodes that hang for a moment stand in for them.
package chaos
