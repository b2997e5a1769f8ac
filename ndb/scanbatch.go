package ndb

import "github.com/ndbgate/ndbgate/ndb/internal/signal"

// scanReceiver gets the rows of one fragment at a time.
type scanReceiver struct {
	batch     scanBatch // what has come; the caller's once it is ready
	next      signal.FragmentPointer
	inFlight  bool // a batch is on its way
	announced bool // its SCAN_TABCONF came, which has told the sizes
	ready     bool // all of it is here, and the caller has not taken it
	batches   int  // that were asked for; the last one's locks are held
	wantRows  int
	wantWords uint32
	gotWords  uint32
}

// scanBatch is some rows of a fragment.
type scanBatch struct {
	rows  int    // that were announced
	words []byte // of all rows; none where nothing was read
	ends  []int  // of each row in words
	keys  []byte // KEYINFO of all rows, where they were asked for
	locks []rowLock
}

// rowLock is what takes over the lock of a row.
type rowLock struct {
	keyEnd             int // in the keys of the batch
	scanInfo, fragment uint32
}

func (b *scanBatch) reset() {
	b.rows, b.words, b.ends, b.keys, b.locks = 0, b.words[:0], b.ends[:0], b.keys[:0], b.locks[:0]
}

// row is the words of row i; nil where nothing was read.
func (b *scanBatch) row(i int) []byte {
	if len(b.ends) == 0 {
		return nil
	}
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.words[start:b.ends[i]:b.ends[i]]
}

// lock is the key and the lock of row i.
func (b *scanBatch) lock(i int) (key []byte, lock rowLock) {
	start := 0
	if i > 0 {
		start = b.locks[i-1].keyEnd
	}
	return b.keys[start:b.locks[i].keyEnd], b.locks[i]
}
