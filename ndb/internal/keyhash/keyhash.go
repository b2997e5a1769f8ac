// Package keyhash computes the hash by which the data nodes spread rows over
// fragments. They compute it themselves: a client needs it only to ask the node
// that has the row, and may ask any other where it is not known.
//
// The hash is MD5's block function with a padding of NDB's own, over the
// columns of the distribution key. Columns of characters count by the weights
// of their collation.
package keyhash

import (
	"bytes"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
)

// Hasher computes the hashes of the keys of one table. It is read only once
// built, and safe for concurrent use.
type Hasher struct {
	columns []keyColumn // the key's, in the order of KEYINFO
	plain   bool        // all of KEYINFO counts as it is
	ok      bool
}

type keyColumn struct {
	column     *dictinfo.Column
	distribute bool
	normalise  bool
	collation  uint16
	weight     weightForm
}

// weightForm is how the weights of a collation go into the hash.
type weightForm struct {
	sizeBytes  int // of one weight, big endian
	totalBytes int // filled up with weights of spaces, the last one cut off
}

// New returns the hasher of table t, which must be a user table or a unique
// index.
func New(t *dictinfo.Table) *Hasher {
	h := &Hasher{plain: true, ok: true}
	found := false
	for _, c := range t.KeyColumns() {
		k := keyColumn{column: c, distribute: c.DistributionKey}
		if c.Type.HasCharset() && c.Charset != row.CollationBinary {
			k.normalise, k.collation = true, c.Charset
			var known bool
			k.weight, known = weightFormOf(c)
			h.ok = h.ok && (known || !k.distribute)
		}
		h.plain = h.plain && k.distribute && !k.normalise
		found = found || k.distribute
		h.columns = append(h.columns, k)
	}
	h.ok = h.ok && found
	return h
}

// weightFormOf returns how the weights of the column's collation are written,
// where that is known. All of these were compared with the fragments that a
// cluster of 9.7.2 chose.
func weightFormOf(c *dictinfo.Column) (weightForm, bool) {
	form := weightForm{totalBytes: int(c.Length)}
	switch c.Charset {
	case row.CollationLatin1SwedishCI, row.CollationASCIIGeneralCI, row.CollationLatin1Bin, row.CollationASCIIBin:
		form.sizeBytes = 1
	case row.CollationUTF8MB3GeneralCI, row.CollationUTF8MB3Bin, row.CollationUTF8MB4GeneralCI:
		form.sizeBytes = 2
	case row.CollationUTF8MB4Bin:
		form.sizeBytes = 3
	}
	return form, form.sizeBytes > 0
}

// Hash returns the hash of the key in keyInfo, of which the fragment follows. It
// is not ok where a column's collation is not known well enough, and for bytes
// that are no key.
func (h *Hasher) Hash(keyInfo []byte) (hash uint32, ok bool) {
	if !h.ok {
		return 0, false
	}
	if h.plain {
		return Sum(keyInfo)[fragmentWord], true
	}
	d := digest{state: initial}
	for i := range h.columns {
		k := &h.columns[i]
		value, rest, err := row.NextKeyValue(keyInfo, k.column)
		if err != nil || k.distribute && !k.write(&d, value) {
			return 0, false
		}
		keyInfo = rest
	}
	if len(keyInfo) > 0 {
		return 0, false
	}
	return d.sum()[fragmentWord], true
}

// HashOf is Hash where no more than the distribution key is known. value returns
// the value of one of its columns, with its length bytes, or nil where there is
// none.
func (h *Hasher) HashOf(value func(*dictinfo.Column) []byte) (hash uint32, ok bool) {
	if !h.ok {
		return 0, false
	}
	d := digest{state: initial}
	for i := range h.columns {
		k := &h.columns[i]
		if !k.distribute {
			continue
		}
		v := value(k.column)
		if v == nil || row.CheckValue(k.column, v) != nil || !k.write(&d, v) {
			return 0, false
		}
	}
	return d.sum()[fragmentWord], true
}

// write writes a value with its length bytes. It is false where the weights of its
// text are not known.
func (k *keyColumn) write(d *digest, value []byte) bool {
	if !k.normalise {
		d.write(value)
	} else if !k.writeWeights(d, row.Content(k.column, value)) {
		return false
	}
	d.pad()
	return true
}

// fragmentWord is the word of the hash that chooses the fragment.
const fragmentWord = 1

// writeWeights appends the weights of text, and of spaces behind it.
func (k *keyColumn) writeWeights(d *digest, text []byte) bool {
	size, left := k.weight.sizeBytes, k.weight.totalBytes
	text = bytes.TrimRight(text, " ") // CHAR has more of them than there is room for weights
	for ; len(text) > 0; left -= size {
		weight, n, ok := row.NextWeight(k.collation, text)
		if !ok || left < size {
			return false
		}
		d.writeBigEndian(weight, size)
		text = text[n:]
	}
	for ; left >= size; left -= size {
		d.writeBigEndian(' ', size)
	}
	d.writeBigEndian(0, left) // the upper bytes of one more space
	return true
}
