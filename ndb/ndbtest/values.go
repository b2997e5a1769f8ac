package ndbtest

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// This file is the values of rows on their way in and out.

func appendPadded(dst, value []byte) []byte { return word.AppendPadded(dst, value) }

// splitKey returns the values of a key, by the order of KEYINFO.
func (t *table) splitKey(keyInfo []byte) (values [][]byte, ok bool) {
	for _, c := range t.key {
		value, rest, err := row.NextKeyValue(keyInfo, c)
		if err != nil {
			return nil, false
		}
		values = append(values, bytes.Clone(value))
		keyInfo = rest
	}
	return values, len(keyInfo) == 0
}

// newValues returns the values that a row has after ATTRINFO was written to its
// old version, or where that is nil, inserted.
func (op *rowOp) newValues(old *version, attrInfo []byte) ([][]byte, *opError) {
	columns := op.table.desc.Columns
	values := make([][]byte, len(columns))
	given := make([]bool, len(columns))
	if old != nil {
		copy(values, old.values)
	} else {
		for i := range columns {
			values[i] = columns[i].Default
		}
	}
	for len(attrInfo) > 0 {
		h, value, rest, err := row.NextAttr(attrInfo)
		if err != nil {
			return nil, failure(codeBadValue)
		}
		attrInfo = rest
		if h.ID() == row.AttrAnyValue {
			continue
		}
		if int(h.ID()) >= len(columns) {
			return nil, failure(codeUnknownWrite)
		}
		c := &columns[h.ID()]
		switch {
		case c.Key && op.kind == signal.OpUpdate:
			return nil, failure(codeKeyUpdated)
		case c.Key && value == nil:
			return nil, failure(codeKeyMissing)
		case row.CheckValue(c, value) != nil:
			return nil, failure(codeBadValue)
		}
		given[h.ID()] = true
		if c.Key && old != nil {
			continue // a write finds the row by it, and leaves it as it is
		}
		values[h.ID()] = bytes.Clone(value)
	}
	if old != nil {
		return values, nil
	}
	return values, op.checkInsert(values, given)
}

// checkInsert finds out what an insert leaves out that it needs.
func (op *rowOp) checkInsert(values [][]byte, given []bool) *opError {
	columns := op.table.desc.Columns
	var key []byte
	for i := range columns {
		c := &columns[i]
		if c.Key && !given[i] || values[i] == nil && !c.Nullable {
			return failure(codeKeyMissing)
		}
		if c.Key {
			key = appendPadded(key, values[i])
		}
	}
	if normal, _ := op.table.normalise(key); normal != op.row.key {
		if op.link != nil {
			op.link.violates(signal.GSNTCKeyReq, "the key columns of an insert are those of its KEYINFO", effectIgnored, "table %s", op.table.desc.Name)
		}
		return failure(codeBadValue)
	}
	return nil
}

// appendRead appends what a read list asks for of a version of r.
func (r *rowEntry) appendRead(dst []byte, v *version, list []byte) ([]byte, *opError) {
	columns := r.table.desc.Columns
	for len(list) > 0 {
		item, rest, err := row.NextReadItem(list)
		if err != nil {
			return nil, failure(codeUnknownRead)
		}
		list = rest
		switch {
		case item.Packed:
			for id := len(columns); id < 8*len(item.Mask); id++ {
				if item.Mask.Has(uint16(id)) {
					return nil, failure(codeUnknownRead)
				}
			}
			values := v.values
			if len(values) < len(columns) {
				values = slices.Concat(values, make([][]byte, len(columns)-len(values)))
			}
			dst = row.AppendPacked(dst, columns, values, item.Mask)
		case int(item.Attr) < len(columns):
			dst = row.AppendAttr(dst, item.Attr, v.value(item.Attr))
		default:
			value, ok := r.pseudoColumn(item.Attr, v)
			if !ok {
				return nil, failure(codeUnknownRead)
			}
			dst = row.AppendAttr(dst, item.Attr, value)
		}
	}
	return dst, nil
}

// pseudoColumn returns what the row answers for an attribute that is no column.
// Sizes of memory are zero.
func (r *rowEntry) pseudoColumn(attr uint16, v *version) ([]byte, bool) {
	f := r.fragment
	word32 := func(n uint32) ([]byte, bool) { return binary.LittleEndian.AppendUint32(nil, n), true }
	word64 := func(n uint64) ([]byte, bool) { return binary.LittleEndian.AppendUint64(nil, n), true }
	switch attr {
	case row.AttrFragment:
		return word32(uint32(f.number))
	case row.AttrRowCount:
		return word64(uint64(f.live))
	case row.AttrCommitCount:
		return word64(f.commits)
	case row.AttrRangeNo:
		return word32(r.rangeNumber)
	case row.AttrRowAuthor, row.AttrRowSize:
		return word32(0)
	case row.AttrFixedMemory, row.AttrVarMemory, row.AttrOpID:
		return word64(0)
	case row.AttrRowID:
		return word64(r.seq)
	case row.AttrRowGCI:
		return word64(v.gci >> 32)
	case row.AttrRowGCI64:
		return word64(v.gci)
	}
	return nil, false
}
