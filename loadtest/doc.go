// Package loadtest measures the roads to the rows, end to end: a sweep of
// operations, roads and numbers of threads, each cell for a while and several
// times, in an order that spreads slow changes of the machine over all of them.
//
// A run has a data set of its own, which it makes, checks before and after, and
// removes. The same seed gives the same rows and the same choice of keys.
//
// Latencies are those of operations that began in the measured time; throughput
// counts those that ended in it. Operations that failed are counted apart, by
// kind. In a closed loop each thread waits for its answer before it goes on. In
// an open loop operations have a schedule, and latency counts from the scheduled
// time, so that a target which stalls cannot hide the operations that would have
// come meanwhile.
package loadtest
