// Package history tells whether what clients were told about one row can be
// true: whether there is an order of their operations, each at one moment
// between its call and its return, in which every answer is right. That is
// linearizability. Reads may promise less: see Reads. Tests hold the check to
// github.com/anishathalye/porcupine, which also draws what is wrong.
//
// A write of unknown outcome, in HTTP 504 outcome_unknown or a connection lost
// after sending, is open to the end: it may happen at any moment after its call,
// or never. An operation that was surely not done is no part of a history.
package history
