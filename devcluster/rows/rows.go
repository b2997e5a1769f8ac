// Package rows holds the committed rows of one table and the transactions
// that read and change them.
//
// It behaves as a data node does: a transaction reads committed rows and its
// own changes; a changed row, or one that was read for update, stays locked
// until the transaction ends; a lock is waited for in the order of asking and
// for a limited time; a transaction can be taken back only as a whole. The
// package knows no SQL. What it offers is what a table in an NDB Cluster can
// offer, so that one can take its place.
package rows

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/btree"
)

// DefaultLockWait is how long a transaction waits for a row lock: the default
// of NDB's TransactionDeadlockDetectionTimeout.
const DefaultLockWait = 1200 * time.Millisecond

// Row is the values of one row in column order. A stored row never changes;
// neither the giver nor a reader may write to it.
type Row []any

// Index names an order in which rows can be read.
type Index int

const (
	// Primary orders rows by primary key. All its positions have the empty
	// Key.
	Primary Index = iota
	// Secondary orders rows by Config.Key, then by primary key.
	Secondary

	indexes = int(Secondary) + 1
)

// Position is a place in the order of an index.
type Position struct {
	Key string
	ID  int64
}

func (p Position) compare(q Position) int {
	if c := cmp.Compare(p.Key, q.Key); c != 0 {
		return c
	}
	return cmp.Compare(p.ID, q.ID)
}

// FirstOf is the position before all rows with the given key.
func FirstOf(key string) Position {
	return Position{Key: key, ID: math.MinInt64}
}

// AfterAllOf is the position after all rows with the given key, and before
// those with any greater one.
func AfterAllOf(key string) Position {
	return Position{Key: key + "\x00", ID: math.MinInt64}
}

// After is the position just after the row with this key and primary key.
func After(key string, id int64) Position {
	if id == math.MaxInt64 {
		return AfterAllOf(key)
	}
	return Position{Key: key, ID: id + 1}
}

// Range is the rows of an index from From, inclusive, to To, exclusive.
type Range struct {
	From, To Position
}

func (r Range) contains(p Position) bool {
	return r.From.compare(p) <= 0 && p.compare(r.To) < 0
}

// Single returns the primary key of the only row there can be in a range of an
// index; false if there can be more.
func (r Range) Single(index Index) (int64, bool) {
	return r.From.ID, index == Primary && r.To == After("", r.From.ID)
}

// Union returns what the ranges cover together, in ascending order.
func Union(ranges []Range) []Range {
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r Range) bool {
		return r.From.compare(r.To) >= 0
	})
	slices.SortFunc(ranges, func(a, b Range) int { return a.From.compare(b.From) })
	var union []Range
	for _, r := range ranges {
		if n := len(union); n == 0 || union[n-1].To.compare(r.From) < 0 {
			union = append(union, r)
		} else if union[n-1].To.compare(r.To) < 0 {
			union[n-1].To = r.To
		}
	}
	return union
}

// Config describes the rows of a Store.
type Config struct {
	// Key returns the key of a row in the secondary index; any string will do.
	// Keys compare byte by byte.
	Key func(Row) string
	// LockWait is how long to wait for a row lock; zero means DefaultLockWait.
	LockWait time.Duration
	// OnWait, if not nil, is called when a transaction begins to wait for a
	// row lock, by the waiting goroutine and without any lock held.
	OnWait func()
}

// Store is the committed rows of one table. It is safe for concurrent use.
type Store struct {
	cfg Config

	// mu guards all that follows. It is held for one step at a time, never
	// while waiting for a row lock.
	mu        sync.Mutex
	committed [indexes]*btree.BTreeG[entry]
	locks     map[int64]*lock
}

// entry is a row at its position in one index.
type entry struct {
	pos Position
	row Row
}

// NewStore returns an empty store.
func NewStore(cfg Config) *Store {
	if cfg.LockWait == 0 {
		cfg.LockWait = DefaultLockWait
	}
	s := &Store{cfg: cfg, locks: make(map[int64]*lock)}
	less := func(a, b entry) bool { return a.pos.compare(b.pos) < 0 }
	for i := range s.committed {
		s.committed[i] = btree.NewG(32, less)
	}
	return s
}

// Len returns the number of committed rows.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed[Primary].Len()
}

// Begin starts a transaction, which has to be ended with Commit or Rollback.
func (s *Store) Begin() *Tx {
	return &Tx{s: s, own: make(map[int64]version), held: make(map[int64]struct{})}
}

// read returns the committed row, nil if there is none. s.mu must be held.
func (s *Store) read(id int64) Row {
	e, _ := s.committed[Primary].Get(entry{pos: Position{ID: id}})
	return e.row
}

// store makes a version the committed one. s.mu must be held.
func (s *Store) store(id int64, v version) {
	if old := s.read(id); old != nil {
		s.committed[Primary].Delete(entry{pos: Position{ID: id}})
		s.committed[Secondary].Delete(entry{pos: Position{Key: s.cfg.Key(old), ID: id}})
	}
	if v.row == nil {
		return
	}
	for i := range s.committed {
		s.committed[i].ReplaceOrInsert(entry{pos: v.position(Index(i), id), row: v.row})
	}
}
