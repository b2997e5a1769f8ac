package store

// Counters is what a backend has counted since it was opened.
type Counters struct {
	// Retries are the times that a call which surely was not done was made
	// once more below the caller, by the same or another server.
	Retries uint64
	// UnknownOutcomes are the writes that ended with ErrUnknownOutcome.
	UnknownOutcomes uint64
}

// Counting is a backend that counts. Backends need not implement it.
type Counting interface {
	// Counters may be called at any time; its numbers never fall.
	Counters() Counters
}
