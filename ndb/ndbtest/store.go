package ndbtest

import (
	"bytes"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/keyhash"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
)

// This file is the rows. They are kept once: replicas never differ here. All of
// it is guarded by Cluster.mu.
//
// A row has at most two versions: the committed one, and that of the one
// transaction that holds its exclusive lock and has changed it. Within the batch
// that has changed it the transaction's reads see what it saw before.

// table is a table or a unique index, which is a table of its own: its key are
// the columns of the index, its rows lead to those of the base table.
type table struct {
	desc    *dictinfo.Table // never changed; ALTER replaces it
	hashMap *dictinfo.HashMap
	hasher  *keyhash.Hasher
	weigh   weigher
	key     []*dictinfo.Column
	dropped bool

	rows      map[string]*rowEntry // by normalised key
	fragments []*fragment
	lastSeq   uint64

	base    *table          // of a unique index
	columns []uint16        // of a unique index: the base table's column of each of its key
	unique  []*table        // indexes of this table
	ordered []*orderedIndex // indexes of this table
}

// fragment is the part of a table whose keys hash to it.
type fragment struct {
	number   int
	replicas []signal.NodeID // by rank; the first live one is the primary
	rows     []*rowEntry     // in the order of seq
	gone     int             // of rows, those that are not in the table any more
	live     int             // of rows, those that are committed
	commits  uint64
}

// rowEntry is a row, or a key that somebody has locked.
type rowEntry struct {
	table     *table
	fragment  *fragment
	seq       uint64 // of its creation: the order of table scans
	key       string // normalised
	keyInfo   []byte
	committed *version
	changed   bool     // by the holder of the exclusive lock
	pending   *version // what that has made of it; nil for a deleted row
	batch     uint64   // of the transaction, in which that has changed it last
	before    *version // what it saw before that batch; nil for none
	ghost     bool     // the transaction has deleted it and read it with a lock in one batch: it cannot be inserted any more
	lock      rowLock
	gone      bool // not in the table any more

	rangeNumber uint32 // while a scan reads it
}

// version is the values of a row, which never change, and their place in the
// ordered indexes.
type version struct {
	values [][]byte // by attribute id, with length bytes; nil for NULL; columns added later are missing
	gci    uint64
}

// value returns the value of a column. Columns that were added after the row
// was written are NULL.
func (v *version) value(id uint16) []byte {
	if int(id) >= len(v.values) {
		return nil
	}
	return v.values[id]
}

func newTable(desc *dictinfo.Table, hashMap *dictinfo.HashMap, weigh weigher) *table {
	t := &table{desc: desc, hashMap: hashMap, weigh: weigh, rows: map[string]*rowEntry{}}
	t.setDescription(desc)
	for i, replicas := range desc.Fragments {
		t.fragments = append(t.fragments, &fragment{number: i, replicas: replicas})
	}
	return t
}

func (t *table) setDescription(desc *dictinfo.Table) {
	t.desc, t.key, t.hasher = desc, desc.KeyColumns(), keyhash.New(desc)
}

// fragmentOf returns the fragment of a key: where the hash of its collation is
// not known, that of its bytes chooses.
func (t *table) fragmentOf(keyInfo []byte) *fragment {
	hash, ok := t.hasher.Hash(keyInfo)
	if !ok {
		hash = keyhash.Sum(keyInfo)[1]
	}
	return t.fragments[t.hashMap.Fragment(hash)]
}

// normalise returns what equal keys have in common: the weights of their text,
// where these are known, and the bytes of the rest. Bytes that are no key are
// not ok.
func (t *table) normalise(keyInfo []byte) (_ string, ok bool) {
	if len(t.key) == 1 && t.key[0].Fixed() && !t.key[0].Type.HasCharset() {
		return string(keyInfo), len(keyInfo) == (t.key[0].SizeBytes()+3)&^3
	}
	var key []byte
	for _, c := range t.key {
		value, rest, err := row.NextKeyValue(keyInfo, c)
		if err != nil {
			return "", false
		}
		key = t.appendNormal(key, c, value)
		keyInfo = rest
	}
	return string(key), len(keyInfo) == 0
}

// appendNormal appends the normalised value, and its length where that varies.
func (t *table) appendNormal(dst []byte, c *dictinfo.Column, value []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0)
	if c.Type.HasCharset() && c.Charset != row.CollationBinary {
		dst = t.weigh.appendWeights(dst, c, row.Content(c, value))
	} else {
		dst = append(dst, row.Content(c, value)...)
	}
	n := len(dst) - start - 2
	dst[start], dst[start+1] = byte(n), byte(n>>8)
	return dst
}

// entry returns the row with that key, or makes a place for it.
func (t *table) entry(key string, keyInfo []byte) *rowEntry {
	if r := t.rows[key]; r != nil {
		return r
	}
	t.lastSeq++
	r := &rowEntry{table: t, fragment: t.fragmentOf(keyInfo), seq: t.lastSeq, key: key, keyInfo: bytes.Clone(keyInfo)}
	t.rows[key] = r
	r.fragment.rows = append(r.fragment.rows, r)
	return r
}

// dropIfUnused takes the row out of the table when nothing is left of it.
func (r *rowEntry) dropIfUnused() {
	if r.committed != nil || r.changed || r.lock.inUse() || r.gone {
		return
	}
	r.gone = true
	delete(r.table.rows, r.key)
	f := r.fragment
	f.gone++
	if f.gone > 32 && f.gone > len(f.rows)/2 {
		f.rows = slices.DeleteFunc(f.rows, func(r *rowEntry) bool { return r.gone })
		f.gone = 0
	}
}

// visible is the version that a transaction sees: its own, or the committed
// one.
func (r *rowEntry) visible(t *txn) *version {
	if r.changed && r.lock.exclusive.same(t) {
		return r.pending
	}
	return r.committed
}

// visibleToReads is the version that reads of a transaction see, and lookups in a
// unique index: what its own batch has written is not there yet.
func (r *rowEntry) visibleToReads(t *txn) *version {
	if r.changed && r.lock.exclusive == t && r.batch == t.batch {
		return r.before
	}
	return r.visible(t)
}

// change makes v, or the absence of the row, what the transaction has made of
// it. The transaction holds the exclusive lock.
func (r *rowEntry) change(t *txn, v *version) {
	if !r.changed || r.batch != t.batch {
		r.batch, r.before = t.batch, r.visible(t)
	}
	if !r.changed {
		t.changes = append(t.changes, r)
	}
	r.unindexPending()
	r.changed, r.pending = true, v
	if v != nil {
		for _, index := range r.table.ordered {
			index.add(r, v)
		}
	}
}

// commit makes the pending version the committed one.
func (r *rowEntry) commit(gci uint64) {
	old := r.committed
	if old != nil && old != r.pending {
		for _, index := range r.table.ordered {
			index.remove(r, old)
		}
	}
	r.setCommitted(r.pending)
	r.pending, r.before, r.changed, r.ghost = nil, nil, false, false
	if r.committed != nil {
		r.committed.gci = gci
	}
	r.fragment.commits++
}

// setCommitted keeps count of the rows.
func (r *rowEntry) setCommitted(v *version) {
	if r.committed != nil {
		r.fragment.live--
	}
	if v != nil {
		r.fragment.live++
	}
	r.committed = v
}

// rollback forgets the pending version.
func (r *rowEntry) rollback() {
	r.unindexPending()
	r.pending, r.before, r.changed, r.ghost = nil, nil, false, false
}

func (r *rowEntry) unindexPending() {
	if !r.changed || r.pending == nil {
		return
	}
	for _, index := range r.table.ordered {
		index.remove(r, r.pending)
	}
}

// restore puts an old version, or its absence, back in the place of the row's
// committed one. Nobody has locked the row.
func (r *rowEntry) restore(old *version) {
	current := r.table.entry(r.key, r.keyInfo)
	for _, index := range r.table.ordered {
		if current.committed != nil {
			index.remove(current, current.committed)
		}
		if old != nil {
			index.add(current, old)
		}
	}
	current.setCommitted(old)
	current.dropIfUnused()
}
