package loadtest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// dataset is the rows that a run owns: those that stay, from first on, which are
// read and changed, and above them those that inserts leave for deletes. Safe
// for concurrent use.
type dataset struct {
	seed    uint64
	first   int64
	rows    int64
	keys    Keys
	maxLeft int

	nextID atomic.Int64 // of the next insert
	turn   atomic.Int64 // of sequential keys
	token  atomic.Uint64

	mu       sync.Mutex // guards what is below
	left     []int64    // by inserts, the oldest from head on
	head     int
	doubtful []int64 // may be there, or not
}

func newDataset(c *Config) *dataset {
	d := &dataset{seed: c.Seed, first: c.FirstID, rows: c.Rows, keys: c.Keys, maxLeft: int(c.MaxRows)}
	d.nextID.Store(c.FirstID + c.Rows)
	return d
}

// ownedIDs is how many IDs a run owns.
const ownedIDs = 4_000_000_000

// lastID is the greatest ID that a run may ever use.
func (d *dataset) lastID() int64 { return d.first + ownedIDs - 1 }

// Errors that end a cell.
var (
	errNoRows   = errors.New("no rows were left to delete")
	errNoIDs    = errors.New("no ids were left to insert")
	errFullRows = errors.New("as many rows as a run may leave were inserted (--max-rows)")
)

// newIDs is the first of n IDs of rows to insert.
func (d *dataset) newIDs(n int) (int64, error) {
	d.mu.Lock()
	full := len(d.left)-d.head+n > d.maxLeft
	d.mu.Unlock()
	if full {
		return 0, errFullRows
	}
	next := d.nextID.Add(int64(n))
	if next-1 > d.lastID() { // those behind may be another run's
		return 0, errNoIDs
	}
	return next - int64(n), nil
}

// leave says that the rows were inserted.
func (d *dataset) leave(ids ...int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, ids...)
}

// take gives a row to delete, the oldest, which is nobody else's from now on.
func (d *dataset) take() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head == len(d.left) {
		return 0, errNoRows
	}
	id := d.left[d.head]
	d.head++
	if d.head > 4096 && d.head*2 > len(d.left) {
		d.left = append(d.left[:0], d.left[d.head:]...)
		d.head = 0
	}
	return id, nil
}

// takeAll gives all rows that inserts have left, and forgets them.
func (d *dataset) takeAll() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := d.left[d.head:]
	d.left, d.head = nil, 0
	return ids
}

// doubt says that nobody knows whether the rows are there.
func (d *dataset) doubt(ids ...int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doubtful = append(d.doubtful, ids...)
}

// leftRows is how many rows inserts have left.
func (d *dataset) leftRows() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.left) - d.head
}

// takeDoubtful gives the rows of which nobody knows, and forgets them.
func (d *dataset) takeDoubtful() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := d.doubtful
	d.doubtful = nil
	return ids
}

// sampleLeft gives at most n of the rows that inserts have left.
func (d *dataset) sampleLeft(n int, random *rand.Rand) []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.left[d.head:]
	var ids []int64
	for _, i := range random.Perm(len(left))[:min(n, len(left))] {
		ids = append(ids, left[i])
	}
	return ids
}

// chooser chooses rows of those that stay, for one worker.
type chooser struct {
	data   *dataset
	random *rand.Rand
	zipf   *rand.Zipf
}

func newChooser(d *dataset, random *rand.Rand) *chooser {
	c := &chooser{data: d, random: random}
	if d.keys == Zipf {
		// With 1.1 a fifth of the rows get some four fifths of the operations.
		c.zipf = rand.NewZipf(random, 1.1, 1, uint64(d.rows-1))
	}
	return c
}

func (c *chooser) id() int64 {
	switch c.data.keys {
	case Sequential:
		return c.data.first + (c.data.turn.Add(1)-1)%c.data.rows
	case Zipf:
		// Spread over the IDs, so that the hot rows are not neighbours.
		return c.data.first + int64(mix(c.zipf.Uint64())%uint64(c.data.rows))
	default:
		return c.data.first + c.random.Int64N(c.data.rows)
	}
}
